"""Read every byte of a corpus and say, in a sentence each, where it is not what its manifest says."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ..errors import CorpusError
from ..reference.canonical import read_json
from ..reference.index import starts_in
from ..reference.manifest import MANIFEST, Manifest, Shard

Progress = Callable[[int], None]  # bytes read since the last call
_CHUNK = 1 << 22
_ZEROS = 4096  # a stretch of this many zero bytes that no manifest explains was never written


def corpora_in(folder: Path) -> list[Path]:
    """Return `folder` where it is a corpus, else the corpora right below it; raises CorpusError where there is none."""
    if (folder / MANIFEST).exists():
        return [folder]
    try:
        # glob() passes over folders that may not be read, and they would pass for verified.
        below = sorted(path for path in folder.iterdir() if not path.name.startswith(".") and (path / MANIFEST).exists())
    except OSError as reason:
        raise CorpusError(f"cannot read {reason.filename}: {reason.strerror}; correct the path or the rights") from reason
    if not below:
        raise CorpusError(f"expected a corpus with {MANIFEST} in {folder}, found none; give the folder of a finished corpus")
    return below


def problems(folder: Path, progress: Progress = lambda _: None) -> Iterator[str]:
    """Yield a sentence for each thing wrong with the corpus in `folder`, after reading all of it."""
    try:
        _check_names(folder)
        manifest = Manifest.load(folder)
    except CorpusError as reason:
        yield str(reason)
        return
    owners = {shard.sha256: shard.file for shard in manifest.shards}
    for shard in manifest.shards:
        for path in (folder / shard.file, folder / shard.index_file):
            try:
                if not path.is_file():
                    yield f"{path} is missing; restore it from a copy"
                elif path.name == shard.file:
                    yield from _tokens(path, shard, manifest, owners, progress)
                else:
                    yield from _index(path, shard)
            except OSError as reason:
                yield f"{path} cannot be read: {reason.strerror or reason}; restore it from a copy"
    known = {name for shard in manifest.shards for name in (shard.file, shard.index_file)}
    for path in sorted(folder.iterdir()):
        if path.name.endswith((".bin", ".idx.npy")) and not path.name.startswith(".") and path.name not in known:
            yield f"{path} is in the folder but not in the manifest; take it out, or restore the manifest that names it"


def _check_names(folder: Path) -> None:
    """Raise CorpusError where the manifest names a shard by a path."""
    value = read_json(folder / MANIFEST, CorpusError, "manifest")
    shards = value.get("shards") if isinstance(value, dict) else None
    for shard in shards if isinstance(shards, list) else ():
        name = shard.get("file") if isinstance(shard, dict) else None
        if isinstance(name, str) and ("/" in name or "\\" in name or name == ".."):
            raise CorpusError(f"{folder / MANIFEST} points outside its folder, to {name!r}; restore it from a copy")


def _tokens(path: Path, shard: Shard, manifest: Manifest, owners: dict[str, str], progress: Progress) -> Iterator[str]:
    """Yield what is wrong with a token file."""
    found = _Content(manifest)
    with open(path, "rb") as file:
        while data := file.read(_CHUNK):
            found.add(data)
            progress(len(data))
    digest = found.sha256.hexdigest()
    if digest == shard.sha256:
        yield from found.wrong_tokens(path)
    elif digest in owners:
        yield f"{path} holds the bytes of {owners[digest]}: shards were swapped; give each file its own content back"
    elif found.bytes < shard.bytes:
        yield f"{path} is cut short: expected {shard.bytes} bytes, found {found.bytes}; restore it from a copy"
    elif found.bytes > shard.bytes:
        yield f"{path} has grown: expected {shard.bytes} bytes, found {found.bytes}; restore it from a copy"
    elif found.zeros:
        yield f"{path} is filled with zeros from byte {found.zeros[0]} to {found.zeros[1]}; restore it from a copy"
    else:
        yield f"{path} holds other bytes: expected SHA-256 {shard.sha256}, found {digest}; restore it from a copy"


class _Content:
    """What is learnt about a token file while it streams by."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self.sha256 = hashlib.sha256()
        self.bytes = 0
        self.zeros: tuple[int, int] | None = None  # the first stretch of zero blocks: its first byte, and where it ends
        self._wrong: tuple[int, int] | None = None  # the first token outside the vocabulary: its number, its value

    def add(self, data: bytes) -> None:
        dtype = self._manifest.token_dtype
        tokens = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype=dtype)
        if self._wrong is None and tokens.size and int(tokens.max()) >= self._manifest.vocab_size:
            at = int(np.argmax(tokens >= self._manifest.vocab_size))
            self._wrong = self.bytes // dtype.itemsize + at, int(tokens[at])
        self._find_zeros(data)
        self.sha256.update(data)
        self.bytes += len(data)

    def wrong_tokens(self, path: Path) -> Iterator[str]:
        """Yield a sentence where a token lies outside the vocabulary."""
        if self._wrong is not None:
            yield (
                f"{path} holds token {self._wrong[1]} at number {self._wrong[0]}: expected tokens below vocab_size "
                f"{self._manifest.vocab_size}; prepare it again with the tokenizer of its manifest"
            )

    def _find_zeros(self, data: bytes) -> None:
        full = np.frombuffer(data, dtype=np.uint8)
        whole = full[: full.size // _ZEROS * _ZEROS].reshape(-1, _ZEROS)
        blocks = [(at * _ZEROS, _ZEROS) for at in np.flatnonzero(~whole.any(axis=1)).tolist()]
        rest = full[whole.size :]
        if rest.size and not rest.any():
            blocks.append((whole.size, rest.size))
        for at, size in blocks:
            start = self.bytes + at
            if self.zeros is None:
                self.zeros = start, start + size
            elif self.zeros[1] == start:
                self.zeros = self.zeros[0], start + size


def _index(path: Path, shard: Shard) -> Iterator[str]:
    """Yield what is wrong with a document index."""
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    try:
        starts = starts_in(data)
    except ValueError as reason:
        yield f"{path} is no index of one row of int64 ({reason}); restore it from a copy"
        return
    if starts.size != shard.documents:
        yield f"{path} has {starts.size} documents: expected {shard.documents}; restore it from a copy"
    elif starts[0] != 0:
        yield f"{path} begins at token {starts[0]}: expected 0; restore it from a copy"
    elif (starts[1:] < starts[:-1]).any():
        at = int(np.argmax(starts[1:] < starts[:-1])) + 1
        yield f"{path} does not ascend: document {at} starts at {starts[at]}, before the one before it; restore it from a copy"
    elif starts[-1] > shard.tokens:
        yield f"{path} reaches past its shard: expected at most {shard.tokens}, found {starts[-1]}; restore it from a copy"
    elif digest != shard.index_sha256:
        yield f"{path} holds other bytes: expected SHA-256 {shard.index_sha256}, found {digest}; restore it from a copy"
