"""Decide about each tokenized document: into the corpus, into its holdout, or dropped with the reason."""

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..reference.files import NewFile, written
from .documents import Part
from .encode import Encoded
from .lines import LineCounter
from .origins import Origins
from .settings import Settings
from .write import DROPPED, CorpusWriter

EMPTY = "empty"
REPETITIVE = "too few different lines"
_CHUNK = 1 << 20  # tokens copied at a time


@dataclass
class Tally:
    """What became of the documents of one source. `pieces`: of documents longer than a piece; `inexact` of their cuts
    lie at no joint."""

    documents: int = 0
    kept: int = 0
    held_out: int = 0
    replaced: int = 0
    characters: int = 0
    long_documents: int = 0
    pieces: int = 0
    inexact: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """Return the figures for a report."""
        return {**vars(self), "dropped": dict(sorted(self.dropped.items()))}


class SortOut:
    """Takes parts in order, and writes what is kept through `train` and `holdout`; what is dropped is listed."""

    def __init__(self, settings: Settings, eod_id: int | None, train: CorpusWriter, holdout: CorpusWriter | None) -> None:
        self.tally = Tally()
        self.dropped = NewFile(train.folder / DROPPED)
        self._settings, self._train, self._holdout = settings, train, holdout
        self._origins = {writer.name: Origins(writer.folder) for writer in (train, holdout) if writer is not None}
        self._eod = np.array([] if eod_id is None else [eod_id], dtype=np.uint32)
        self._long: _LongDocument | None = None

    def take(self, part: Part, encoded: Encoded) -> None:
        """Take the next part of the source."""
        self.tally.characters += len(part.text)
        if self._long is None and part.last:
            self._decide(part, _Whole(encoded.tokens), encoded.digest, encoded.lines)
            return
        if self._long is None:
            self._long = _LongDocument(self._train.folder, self._settings)
        self._long.add(part.text, encoded.tokens)
        self.tally.pieces += 1
        self.tally.inexact += not part.exact
        if part.last:
            self.tally.long_documents += 1
            self._decide(part, self._long, self._long.digest(), self._long.lines())
            self._long.close()
            self._long = None

    def discard(self) -> None:
        """Let go of what a document that did not end, or unfinished lists, hold on disk."""
        if self._long is not None:
            self._long.close()
        self.dropped.discard()
        for origins in self._origins.values():
            origins.discard()

    def finish(self, writers: list[CorpusWriter]) -> None:
        """Write the list of what was dropped, and where the documents of the corpora of `writers` came from."""
        self.dropped.finish()
        for writer in writers:
            self._origins[writer.name].finish()

    def _decide(self, part: Part, tokens: "_Whole | _LongDocument", digest: bytes, lines: tuple[int, int]) -> None:
        self.tally.documents += 1
        self.tally.replaced += part.replaced
        least = self._settings.min_unique_lines
        if part.problem:
            self._drop(part, part.problem)
        elif not tokens.size:
            self._drop(part, EMPTY)
        elif lines[0] * least.denominator < least.numerator * lines[1]:
            self._drop(part, REPETITIVE, different_lines=lines[0], lines=lines[1])
        else:
            held_out = self._holdout is not None and self._settings.holds_out(digest)
            writer = self._holdout if held_out and self._holdout is not None else self._train
            self.tally.held_out += held_out
            self.tally.kept += not held_out
            writer.add_parts(chain(tokens.parts(), [self._eod]), tokens.size + self._eod.size)
            self._origins[writer.name].add(part.document)

    def _drop(self, part: Part, reason: str, **figures: int) -> None:
        self.tally.dropped[reason] += 1
        line = json.dumps({"document": part.document, "reason": reason, **figures}, ensure_ascii=False)
        self.dropped.write(line.encode() + b"\n")


class _Whole:
    """The tokens of a document that was one part."""

    def __init__(self, tokens: np.ndarray[Any, Any]) -> None:
        self._tokens, self.size = tokens, tokens.size

    def parts(self) -> Iterator[np.ndarray[Any, Any]]:
        yield self._tokens


class _LongDocument:
    """A document whose tokens wait on disk, in a file without a name, until all of it is known."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.size = 0
        self._folder = folder
        with written(folder):
            # Where the file system gives a file a name all the same, a killed process leaves one that the next run clears.
            self._file: BinaryIO = tempfile.TemporaryFile(prefix=f".{DROPPED}.", suffix=".tmp", dir=folder)  # noqa: SIM115 closed in close
        self._dtype: np.dtype[Any] = np.dtype(np.uint32)
        self._digest = hashlib.sha256()
        self._lines = LineCounter() if settings.min_unique_lines else None

    def add(self, text: str, tokens: np.ndarray[Any, Any]) -> None:
        self._dtype = tokens.dtype
        self.size += tokens.size
        self._digest.update(tokens.astype("<u4").data)
        if self._lines is not None:
            self._lines.add(text)
        with written(self._folder):
            self._file.write(tokens.data)

    def digest(self) -> bytes:
        return self._digest.digest()

    def lines(self) -> tuple[int, int]:
        return self._lines.result() if self._lines is not None else (0, 0)

    def parts(self) -> Iterator[np.ndarray[Any, Any]]:
        with written(self._folder):
            self._file.seek(0)
        while data := self._file.read(_CHUNK * self._dtype.itemsize):
            yield np.frombuffer(data, dtype=self._dtype)

    def close(self) -> None:
        self._file.close()
