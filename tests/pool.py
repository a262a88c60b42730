"""A pool of small corpora of serial numbers that differ in size, dtype, shards and documents."""

import random
from pathlib import Path
from typing import Any

from corpora import Serial, write_corpus
from plans import make_plan, phase

# the number of tokens of each corpus: below, at and just past whole windows of several lengths
SIZES = [2, 5, 9, 10, 13, 17, 18, 25, 26, 33, 34, 41, 50, 57, 65, 66, 81, 97]


def make_pool(folder: Path) -> list[Path]:
    """Write the pool, and return the folders of its corpora; their ids have the highest bit of the dtype set."""
    serial = {"uint16": Serial(1 << 15), "uint32": Serial(1 << 31)}
    folders = []
    for number, size in enumerate(SIZES):
        dtype = "uint32" if number % 2 else "uint16"
        documents = serial[dtype].documents(document_lengths(size, random.Random(number)))
        shard_bytes = [40, 1 << 20, 90][number % 3]
        folders.append(write_corpus(folder / f"corpus-{number:02}", documents, dtype=dtype, shard_bytes=shard_bytes))
    return folders


def document_lengths(tokens: int, choose: random.Random) -> list[int]:
    """Return lengths that sum to `tokens`: none, one, and up to a dozen tokens."""
    lengths = []
    while tokens:
        lengths.append(min(tokens, choose.choice([0, 1, 1, 2, 3, 4, 5, 8, 12])))
        tokens -= lengths[-1]
    return lengths


def varied_plan(pool: list[Path]) -> dict[str, Any]:
    """Return a run of 90 positions: sources of 3, 8 and 10 windows, a change of mixture at 30, two skips."""
    sources = {"a": [pool[4]], "b": [pool[9]], "union": [pool[7], pool[5]]}
    phases = [phase(30, {"a": 1, "union": 2}, 4), phase(60, {"a": 1, "b": 2, "union": 3}, 4, "furthest-behind")]
    return make_plan(sources, phases, skips=[[10, 3], [40, 2]])
