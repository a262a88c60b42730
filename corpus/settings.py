"""What a person asks of `prepare`, checked, with every fraction exact."""

import hashlib
import os
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..errors import OptionError
from .cut import PIECE
from .documents import Reading
from .write import SHARD_BYTES

HOLDOUT = "-holdout"
_DECIMAL = re.compile(r"\d*\.?\d+|\d+\.")


@dataclass(frozen=True)
class Settings:
    """How documents are read, kept and written; `workers` decides nothing about the output."""

    reading: Reading = field(default_factory=Reading)
    globs: tuple[str, ...] = ()
    min_unique_lines: Fraction = Fraction(0)
    holdout: Fraction = Fraction(0)
    seed: int = 0
    shard_bytes: int = SHARD_BYTES
    workers: int = 1

    def __post_init__(self) -> None:
        """Raise OptionError for a setting outside its range."""
        if self.reading.invalid_utf8 not in {"refuse", "replace", "skip"}:
            raise OptionError(f"expected --invalid-utf8 refuse, replace or skip, found {self.reading.invalid_utf8}; choose one")
        if self.min_unique_lines > 1:
            raise OptionError(
                f"expected --min-unique-lines from 0 to 1, found {float(self.min_unique_lines):g}; give a share of lines, such as 0.3"
            )
        if self.holdout >= 1:
            raise OptionError(
                f"expected --holdout from 0 to below 1, found {float(self.holdout):g}; give a share of documents, such as 0.01"
            )
        for name, value, least in (("seed", self.seed, 0), ("shard-bytes", self.shard_bytes, 1), ("workers", self.workers, 1)):
            if not least <= value < 1 << 64:
                raise OptionError(f"expected --{name} of at least {least} and below 2^64, found {value}; correct it")

    def to_json(self) -> dict[str, Any]:
        """Return what decides the output, fractions as text, for the report."""
        return {
            "text_field": self.reading.text_field,
            "invalid_utf8": self.reading.invalid_utf8,
            "globs": list(self.globs),
            "min_unique_lines": str(self.min_unique_lines),
            "holdout": str(self.holdout),
            "seed": self.seed,
            "shard_bytes": self.shard_bytes,
            "piece": PIECE,
        }

    def holds_out(self, digest: bytes) -> bool:
        """Whether the document with this content digest is held out: equal documents fall on the same side."""
        return chosen(self.seed.to_bytes(8, "little") + digest, self.holdout)


def chosen(key: bytes, share: Fraction) -> bool:
    """Whether `key` is among the given share of all keys, by its hash."""
    drawn = int.from_bytes(hashlib.sha256(key).digest()[:8], "little")
    return drawn * share.denominator < share.numerator << 64


def decimal(text: str, option: str) -> Fraction:
    """Return the decimal number `text` exactly; raises OptionError, naming the option, for anything else."""
    if not _DECIMAL.fullmatch(text):
        raise OptionError(f"expected a decimal number such as 0.01 for {option}, found {text!r}; correct it")
    return Fraction(text)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
