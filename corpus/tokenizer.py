"""Tokenizer files: told apart by their content, and opened as something that encodes text."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import FivepointError, InputError
from ..reference.guess import seems
from ..reference.manifest import Tokenizer

# looked for in this order: the first are ends of documents, the later ones ends of sequences
EOD_NAMES = ("<|endoftext|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "<eos>", "</s>", "<EOT>")


class Encoder(Protocol):
    """What every kind of tokenizer offers here; `vocab_size` is the largest id, added tokens included, plus 1."""

    vocab_size: int

    def encode(self, texts: list[str]) -> list[np.ndarray[Any, Any]]:
        """Return the token ids of each text, uint32."""

    def decode(self, ids: list[int]) -> str:
        """Return the text of token ids, for reading: what is no text is replaced or left out."""

    def token_id(self, token: str) -> int | None:
        """Return the id of a token, None where there is no such token."""

    def tokens(self) -> Iterable[str]:
        """Return every token as its library writes it."""


@dataclass(frozen=True)
class TokenizerFile:
    """The bytes of a tokenizer's file, so that every process opens the same; `ranks` belong to a tiktoken description."""

    name: str
    data: bytes
    ranks: bytes = b""
    encoding: str | None = None

    @classmethod
    def read(cls, path: Path, encoding: str | None = None) -> "TokenizerFile":
        """Read the file at `path`, and what it points to; `encoding` names one of tiktoken's. Raises InputError."""
        data = _read(path)
        value = _json(data)
        ranks = _read(path.parent / str(value["ranks"])) if "pat_str" in value and "ranks" in value else b""
        return cls(path.name, data, ranks, encoding)

    @property
    def identity(self) -> Tokenizer:
        """Name and SHA-256 as a manifest holds them."""
        return Tokenizer(self.name, hashlib.sha256(self.data).hexdigest())

    def open(self) -> Encoder:
        """Return the tokenizer; raises InputError where the file is none, or malformed."""
        try:
            encoder = self._open()
        except FivepointError as reason:
            raise InputError(f"tokenizer {self.name}: {reason}") from reason
        except ModuleNotFoundError as reason:
            raise InputError(f"tokenizer {self.name} needs the package {reason.name}: pip install 'fivepoint[prepare]'") from reason
        except Exception as reason:  # each library raises its own kinds
            raise InputError(
                f"expected a tokenizer in {self.name} (tokenizers JSON, tiktoken ranks or description, tekken, or a "
                f"sentencepiece model), found {_found(self.data, reason)}; give one of these"
            ) from reason
        if not encoder.vocab_size:
            raise InputError(f"expected a tokenizer in {self.name}, found no token; give another file")
        return encoder

    def _open(self) -> Encoder:
        value = _json(self.data)
        kind = "tokenizers JSON" if "model" in value else "a description" if "pat_str" in value else "tekken" if "config" in value else ""
        if self.encoding and kind:
            raise InputError(f"expected --encoding beside a file of ranks, found {kind}, which needs none; leave --encoding out")
        if "model" in value:
            from .hugging_face import HuggingFace

            return HuggingFace(self.data)
        if "pat_str" in value or "config" in value or self.encoding or self.name.endswith(".tiktoken"):
            from .tiktoken_file import Tiktoken

            if "pat_str" in value:
                return Tiktoken.from_description(value, self.ranks)
            return Tiktoken.from_tekken(value) if "config" in value else Tiktoken.from_ranks(self.data, self.encoding)
        from .sentencepiece_file import SentencePiece

        return SentencePiece(self.data)


def find_eod(encoder: Encoder, wanted: str | None, name: str) -> tuple[str, int]:
    """Return the token that ends a document and its id: `wanted`, or the first of EOD_NAMES that the tokenizer has.

    Raises InputError where it has none.
    """
    for token in EOD_NAMES if wanted is None else (wanted,):
        found = encoder.token_id(token)
        if found is not None:
            return token, found
    expected = "a token that ends documents" if wanted is None else f"the token {wanted!r}"
    raise InputError(f"expected {expected} in tokenizer {name}, found none; name one with --eod, or give --no-eod")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as reason:
        raise InputError(f"cannot read the tokenizer {path}: {reason.strerror or reason}; give its file") from reason


def _found(data: bytes, reason: Exception) -> str:
    """Say what a file is that no library takes."""
    kind = seems(data)
    if kind and kind != "JSON":
        return f"what seems to be {kind}"
    # sentencepiece names the line of its own source; what it means is that it cannot read the file.
    text = " ".join(str(reason).split()) or type(reason).__name__
    return "something else" if text.startswith("INTERNAL:") else f"something else: {text}"


def _json(data: bytes) -> dict[str, Any]:
    """Return the JSON object in `data`, an empty one where it holds anything else."""
    if data.lstrip()[:1] != b"{":
        return {}
    try:
        value = json.loads(data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
