"""Reading a corpus: open it against the plan, then read any run of its tokens and the documents they lie in (F1; C3.6, D0.4, D0.5)."""

import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CorpusError, RangeError
from .boundaries import documents_at
from .index import starts_in
from .manifest import MANIFEST, Manifest

Array = np.ndarray[Any, np.dtype[Any]]

INDEXES_HELD = 64
"""Document indexes of shards that a reader keeps in memory: 8 bytes a document, some megabytes for a shard of 256 MiB."""


class CorpusReader:
    """An open corpus. Files are opened for each read and none is held; nothing is kept but the manifest and the indexes of some shards."""

    def __init__(self, folder: str | Path, manifest_hash: str | None = None) -> None:
        """Read the manifest and compare it, and the sizes of all files, with what is expected.

        `manifest_hash` is the plan's; None accepts any. Raises CorpusError where the corpus is missing, another, or not whole.
        """
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise CorpusError(f"expected a corpus at {self.folder}, found no folder there; prepare it, or correct the path")
        self.manifest = Manifest.load(self.folder)
        if manifest_hash not in (None, self.manifest.manifest_hash):
            raise CorpusError(
                f"{self.folder / MANIFEST}: expected the corpus with manifest hash {manifest_hash}, found {self.manifest.manifest_hash}; "
                "the plan was made for other data: restore it, or plan anew with this corpus as a new source"
            )
        self.index_headers: list[int] = []
        """Bytes of each shard's index before its first number"""
        for shard in self.manifest.shards:
            _expect_size(self.folder / shard.file, shard.bytes)
            self.index_headers.append(_expect_index(self.folder / shard.index_file, shard.documents))
        self._first_token = [0, *accumulate(shard.tokens for shard in self.manifest.shards)]
        self._first_document = [0, *accumulate(shard.documents for shard in self.manifest.shards)]
        # Read, not mapped: a mapped file that is cut short under the reader would end the process.
        self._starts = lru_cache(maxsize=INDEXES_HELD)(self._load_index)

    def tokens(self, first: int, length: int) -> Array:
        """Return tokens `first` to `first + length` of the corpus, int64 [length].

        Raises RangeError outside the corpus, CorpusError where a file is short or holds an id outside the vocabulary.
        """
        return self._gather(first, length, self._shard_tokens)

    def documents(self, first: int, length: int) -> Array:
        """Return, for each of the tokens `first` to `first + length`, the number of its document in the corpus, int64 [length]."""
        return self._gather(first, length, self._shard_documents)

    def document(self, number: int) -> tuple[int, int]:
        """Return (first token, length) of a document; raises RangeError outside the corpus."""
        if not 0 <= number < self.manifest.documents:
            raise RangeError(f"expected a document from 0 to {self.manifest.documents - 1} of {self.folder}, found {number}")
        shard = int(np.searchsorted(self._first_document, number, side="right")) - 1
        starts, k = self._starts(shard), number - self._first_document[shard]
        end = int(starts[k + 1]) if k + 1 < len(starts) else self.manifest.shards[shard].tokens
        return self._first_token[shard] + int(starts[k]), end - int(starts[k])

    def pieces(self, first: int, length: int) -> Iterator[tuple[int, int, int]]:
        """Yield (number of the shard, first token within it, count) of each shard that holds tokens `first` to `first + length`."""
        shard = int(np.searchsorted(self._first_token, first, side="right")) - 1
        while length:
            begin = first - self._first_token[shard]
            count = min(length, self.manifest.shards[shard].tokens - begin)
            yield shard, begin, count
            first, length, shard = first + count, length - count, shard + 1

    def _gather(self, first: int, length: int, read: Callable[[int, int, int], Array]) -> Array:
        if not 0 <= first <= first + length <= self.manifest.tokens:
            raise RangeError(f"expected tokens from 0 to {self.manifest.tokens} of {self.folder}, found {first} to {first + length}")
        pieces = [read(*piece) for piece in self.pieces(first, length)]
        return np.concatenate(pieces).astype(np.int64) if pieces else np.empty(0, np.int64)

    def _shard_tokens(self, number: int, begin: int, count: int) -> Array:
        path, dtype = self.folder / self.manifest.shards[number].file, self.manifest.token_dtype
        try:
            with open(path, "rb", buffering=0) as file:
                if hasattr(os, "posix_fadvise"):
                    # Windows lie anywhere: what the system would read ahead is of no use (C5.5).
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                data = os.pread(file.fileno(), count * dtype.itemsize, begin * dtype.itemsize)
            found = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)
        except OSError as reason:
            raise CorpusError(
                f"cannot read {count} tokens at byte {begin * dtype.itemsize} of {path}: {reason.strerror or reason}"
            ) from reason
        if len(found) < count:
            raise CorpusError(
                f"{path}: expected {count} tokens at byte {begin * dtype.itemsize}, found {len(found)}; the file changed since it "
                "was opened, restore it"
            )
        if int(found.max()) >= self.manifest.vocab_size:
            at = int(np.argmax(found >= self.manifest.vocab_size))
            raise CorpusError(
                f"{path}: expected ids below the vocabulary's size {self.manifest.vocab_size}, found {found[at]} at byte "
                f"{(begin + at) * dtype.itemsize}; "
                "run `fivepoint verify` and restore the corpus"
            )
        return found

    def _shard_documents(self, number: int, begin: int, count: int) -> Array:
        return documents_at(self._starts(number), np.arange(begin, begin + count)) + self._first_document[number]

    def _load_index(self, number: int) -> Array:
        shard = self.manifest.shards[number]
        path = self.folder / shard.index_file
        try:
            starts = starts_in(path.read_bytes())
        except (OSError, ValueError) as reason:
            raise CorpusError(f"{path} is not a document index: {reason}; restore it from a copy") from reason
        if starts.size != shard.documents or starts[0] != 0 or starts[-1] > shard.tokens or (starts[1:] < starts[:-1]).any():
            raise CorpusError(
                f"{path}: expected {shard.documents} document starts that ascend from 0 to at most {shard.tokens}, found {starts.size} "
                "that are no such row; run `fivepoint verify` and restore it"
            )
        return starts


def _expect_size(path: Path, size: int | None) -> None:
    try:
        found = path.stat().st_size
    except OSError as reason:
        raise CorpusError(f"cannot open {path}: {reason.strerror or reason}; restore it, or run `fivepoint verify`") from reason
    if size is not None and found != size:
        raise CorpusError(
            f"{path}: expected {size} bytes, found {found}; the file is {'cut short' if found < size else 'longer than it was'}, "
            "restore it from a copy"
        )


def _expect_index(path: Path, documents: int) -> int:
    """Return the bytes of an index file before its first number; raises CorpusError for a file of another form or size (F1)."""
    _expect_size(path, None)
    try:
        with open(path, "rb") as file:
            start = file.read(10)
    except OSError as reason:
        raise CorpusError(f"cannot read {path}: {reason.strerror or reason}; restore it from a copy") from reason
    if start[:8] != b"\x93NUMPY\x01\x00" or len(start) < 10:
        raise CorpusError(f"{path}: expected a document index in NPY 1.0, found {start[:8]!r}; restore it from a copy")
    header = 10 + int.from_bytes(start[8:], "little")
    _expect_size(path, header + 8 * documents)
    return header
