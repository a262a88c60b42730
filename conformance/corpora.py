"""Corpora that identify themselves: every token is its own serial number over all sources."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

from ..corpus.write import CorpusWriter
from ..reference.manifest import Tokenizer

TOKENIZER = Tokenizer("serial numbers", "0" * 64)


@dataclass(frozen=True)
class CorpusSpec:
    """One corpus as a case describes it: the lengths of its documents, and how its serial numbers are stored.

    `first` is its first serial number; None goes on after the corpus before. `eod` is the number of a token of the corpus whose id is
    declared the end-of-document id: it lies inside a document, and no document ends in it, so a loader that looks for it is found out.
    """

    name: str
    documents: tuple[int, ...]
    dtype: str = "uint32"
    shard_tokens: int = 1 << 24
    first: int | None = None
    eod: int | None = None

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return sum(self.documents)


def windows(n: int, seq_len: int, documents: int = 1) -> tuple[int, ...]:
    """Return the lengths of about equal documents that hold `n` windows of `seq_len`, and a tail shorter than a window."""
    total = n * seq_len + 1 + min(seq_len - 1, 2)
    return tuple(total // documents + (i < total % documents) for i in range(documents))


@dataclass(frozen=True)
class Place:
    """Where a token lies: its corpus, its number there, and its document."""

    corpus: str
    token: int
    document: int


class Identity:
    """Tells the place of every serial number of a set of corpora."""

    def __init__(self, specs: Sequence[CorpusSpec]) -> None:
        """Number the corpora one after the other, each from its `first` where it has one."""
        self.specs = {spec.name: spec for spec in specs}
        self.first: dict[str, int] = {}
        serial = 0
        for spec in specs:
            self.first[spec.name] = serial = serial if spec.first is None else spec.first
            serial += spec.tokens
        self._order = sorted(specs, key=lambda spec: self.first[spec.name])
        self._starts = [self.first[spec.name] for spec in self._order]
        self._documents = {spec.name: [0, *accumulate(spec.documents)] for spec in specs}

    def place(self, serial: int) -> Place | None:
        """Return the place of a serial number, None for a number that no corpus holds."""
        index = bisect_right(self._starts, serial) - 1
        if index < 0 or serial - self._starts[index] >= self._order[index].tokens:
            return None
        name = self._order[index].name
        token = serial - self._starts[index]
        return Place(name, token, self.document(name, token))

    def document(self, corpus: str, token: int) -> int:
        """Return the number of the document that holds a token; documents of length 0 hold none."""
        return bisect_right(self._documents[corpus], token) - 1

    def starts(self, corpus: str) -> list[int]:
        """Return the first token of each document."""
        return self._documents[corpus][:-1]

    def write(self, root: Path) -> None:
        """Write every corpus into a folder of its name below `root`, in fivepoint's format."""
        for spec in self.specs.values():
            width = 2 if spec.dtype == "uint16" else 4
            eod = None if spec.eod is None else self.first[spec.name] + spec.eod
            writer = CorpusWriter(
                root / spec.name, spec.name, 1 << 8 * width, TOKENIZER, eod_id=eod, dtype=spec.dtype, shard_bytes=spec.shard_tokens * width
            )
            with writer:
                for start, length in zip(self.starts(spec.name), spec.documents, strict=True):
                    first = self.first[spec.name] + start
                    writer.add(np.arange(first, first + length, dtype=np.int64))
                writer.finish()
