"""What the machine gives loops in Python that read the same windows and do nothing else.

No bound: a loader in another language, or one that reads several windows at once, may be sooner.
"""

import os
import threading
import time
from collections.abc import Sequence

import numpy as np

from ..doors.caches import forget, warm
from .data import WIDTH, Data
from .dropping import fetched

THREADS = 16
"""Threads of the cold reads, and of the warm ones beside them."""
LEAST = 4
"""Windows that are read at least, by whatever is slow."""


def copies(rows: int, seq_len: int, seconds: float) -> float:
    """Return how many samples a second are copied in memory: int64 inputs and targets of `rows` rows at a time."""
    there = np.ones((2, rows, seq_len), np.int64)
    here = np.ones_like(there)
    count, begun = 0, time.perf_counter()
    while (passed := time.perf_counter() - begun) < seconds:
        np.copyto(here, there)
        count += rows
    return count / passed


def reads(data: Data, threads: int, cold: bool, seconds: float) -> float:
    """Return how many windows a second are read in a random order, each once, by `pread` of so many threads."""
    (forget if cold else warm)([data.shard])
    firsts = _firsts(data)
    descriptor = os.open(data.shard, os.O_RDONLY)
    if cold:
        # Nothing but the windows is read.
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    begun = time.perf_counter()

    def read(mine: Sequence[int]) -> None:
        room = bytearray(data.window_bytes)
        for first in mine:
            if time.perf_counter() - begun > seconds:
                return
            os.preadv(descriptor, [room], first)
            done.append(first)

    done: list[int] = []
    pool = [threading.Thread(target=read, args=(firsts[number::threads],)) for number in range(threads)]
    for each in pool:
        each.start()
    for each in pool:
        each.join()
    passed = time.perf_counter() - begun
    os.close(descriptor)
    return len(done) / passed


def mapped(data: Data, seconds: float) -> tuple[float, int]:
    """Return how many windows a second numpy copies out of a mapped file that is in no cache, and how many were copied.

    The file is mapped as numpy maps it, with the readahead that the system has. It ends before a quarter of the file was read, for soon
    after all of it is in memory, and nothing is cold any more.
    """
    forget([data.shard])
    tokens = np.memmap(data.shard, np.uint32, "r")
    row = np.empty(data.settings.seq_len + 1, np.int64)
    before, count, begun = fetched(), 0, time.perf_counter()
    for first in _firsts(data):
        row[:] = tokens[first // WIDTH : first // WIDTH + len(row)]
        count += 1
        if count >= LEAST and (time.perf_counter() - begun > seconds or fetched() - before > data.shard.stat().st_size // 4):
            break
    return count / (time.perf_counter() - begun), count


def _firsts(data: Data) -> list[int]:
    """Return the first byte of every window, in a random order."""
    order = np.random.default_rng().permutation(data.windows("L"))
    found: list[int] = (order * data.settings.seq_len * WIDTH).tolist()
    return found
