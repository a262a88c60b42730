"""Prove that no document is in two corpora: by the digest of its tokens, and where digests meet, by the tokens."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CorpusError
from ..reference.manifest import Manifest
from .encode import content_digest

Progress = Callable[[int], None]  # bytes read since the last call
Tokens = np.ndarray[Any, Any]


def shared_documents(first: Path, second: Path, progress: Progress = lambda _: None) -> Iterator[tuple[int, int]]:
    """Yield (document of `first`, document of `second`), numbers from 0, for documents of the same tokens.

    A document's own end-of-document id at its end does not count, nor do documents of no token. Memory: 16 bytes a
    document of `first`. Raises CorpusError for corpora of different tokenizers, whose tokens say nothing about each other.
    """
    one, two = Manifest.load(first), Manifest.load(second)
    if one.tokenizer != two.tokenizer:
        raise CorpusError(
            f"expected corpora of one tokenizer, found {one.tokenizer.name} ({one.tokenizer.sha256[:12]}) in {first} "
            f"and {two.tokenizer.name} ({two.tokenizer.sha256[:12]}) in {second}; prepare both with the same"
        )
    keys, numbers = _sorted_keys(first, one, progress)
    for number, tokens in _documents(second, two, progress):
        key = _key(tokens)
        at = int(np.searchsorted(keys, key))
        while at < keys.size and keys[at] == key:
            if np.array_equal(_document(first, one, int(numbers[at])), tokens):
                yield int(numbers[at]), number
            at += 1


def _key(tokens: Tokens) -> np.uint64:
    return np.uint64(int.from_bytes(content_digest(tokens)[:8], "little"))


def _sorted_keys(folder: Path, manifest: Manifest, progress: Progress) -> tuple[Tokens, Tokens]:
    """Return the first 8 bytes of every document's digest, ascending, and the number of each document."""
    keys = np.empty(manifest.documents, dtype=np.uint64)
    numbers = np.empty(manifest.documents, dtype=np.int64)
    count = 0
    for number, tokens in _documents(folder, manifest, progress):
        keys[count], numbers[count] = _key(tokens), number
        count += 1
    order = np.argsort(keys[:count], kind="stable")
    return keys[:count][order], numbers[:count][order]


def _documents(folder: Path, manifest: Manifest, progress: Progress) -> Iterator[tuple[int, Tokens]]:
    """Yield (number, tokens without its end-of-document id) of each document that has tokens."""
    number = 0
    for shard in manifest.shards:
        starts = np.load(folder / shard.index_file, allow_pickle=False)
        ends = np.append(starts[1:], shard.tokens)
        tokens = np.memmap(folder / shard.file, dtype=manifest.token_dtype, mode="r")
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            content = _without_eod(tokens[start:end], manifest)
            progress((end - start) * manifest.token_dtype.itemsize)
            if content.size:
                yield number, content
            number += 1


def _document(folder: Path, manifest: Manifest, number: int) -> Tokens:
    """Return the tokens of document `number` without its end-of-document id."""
    before = 0
    for shard in manifest.shards:
        if number < before + shard.documents:
            starts = np.load(folder / shard.index_file, mmap_mode="r", allow_pickle=False)
            start = int(starts[number - before])
            end = int(starts[number - before + 1]) if number - before + 1 < shard.documents else shard.tokens
            tokens = np.memmap(folder / shard.file, dtype=manifest.token_dtype, mode="r")
            return _without_eod(tokens[start:end], manifest)
        before += shard.documents
    raise IndexError(number)


def _without_eod(tokens: Tokens, manifest: Manifest) -> Tokens:
    has_eod = manifest.eod_id is not None and tokens.size and int(tokens[-1]) == manifest.eod_id
    return np.asarray(tokens[:-1] if has_eod else tokens)
