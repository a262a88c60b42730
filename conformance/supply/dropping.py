"""Whether files that were dropped from memory are gone from it: what is read of them is cold where a disk had to give it."""

import ctypes
import mmap
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..doors import procfs
from ..doors.caches import forget

KEPT = 0.1
"""Share of the pages, at the most, that may be in memory when all were dropped: the system keeps a few that are in use."""
PROBE = 1 << 20
"""Bytes that are read to see whether a disk gives them."""


def stays(path: Path) -> str:
    """Return why a file that was dropped from memory is not cold, "" where it is."""
    forget([path])
    if resident([path]) > KEPT:
        return "its pages stay in memory"
    before = fetched()
    with path.open("rb", buffering=0) as file:
        file.read(PROBE)
    return "" if fetched() > before else "no bytes are counted that a disk gives"


def resident(files: Iterable[Path]) -> float:
    """Return the share of the pages of files that is in memory; 0 where the system does not say it."""
    ask, found, pages = ctypes.CDLL(None).mincore, 0, 0
    for path in files:
        # A file that is empty cannot be mapped, and one of a loader may be gone.
        with suppress(OSError, ValueError):
            mapped = np.memmap(path, np.uint8, "r")
            held = np.zeros(-(-len(mapped) // mmap.PAGESIZE), np.uint8)
            ask(ctypes.c_void_p(mapped.ctypes.data), ctypes.c_size_t(len(mapped)), ctypes.c_void_p(held.ctypes.data))
            found, pages = found + int((held & 1).sum()), pages + len(held)
    return found / pages if pages else 0.0


def fetched() -> int:
    """Return the bytes that this process has had fetched from a disk."""
    return procfs.bytes_read([os.getpid()])["read_bytes"]
