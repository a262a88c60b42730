"""The index of a dataset stays open and mapped when the dataset is gone.

A cache of the last eight look-ups belongs to the class of the index reader, not to a reader (`lru_cache` on `__getitem__`), and holds the
readers that were asked: up to eight files, and their memory, outlive their datasets. `_IndexReader.__getitem__.cache_clear()` frees them.
Of a loader with the same code it is reported in https://github.com/mindspore-ai/hyper-parallel/issues/156.

Clause: C5.3
Promised: nothing; no docstring of the indexed dataset says when its files are closed
Upstream: not found (searched 2026-12-01: "Megatron-LM IndexedDataset _IndexReader lru_cache keeps reference mmap file handle not closed
memory leak", "lru_cache on __getitem__ indexed_dataset leaks file descriptors too many open files Megatron")
"""

import gc
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder


def held(folder: str) -> int:
    """Return how many open files of this process lie in a folder."""
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return sum(os.readlink(link).startswith(folder) for link in links if Path(link).exists())


with tempfile.TemporaryDirectory() as folder:
    for number in range(4):
        builder = IndexedDatasetBuilder(f"{folder}/{number}.bin", np.int32)
        builder.add_document(torch.arange(100), [100])
        builder.finalize(f"{folder}/{number}.idx")
        dataset = IndexedDataset(f"{folder}/{number}")
        assert len(dataset.get(0)) == 100
        del dataset
    gc.collect()
    left = held(folder)
print(f"megatron-core {version('megatron-core')}: four datasets opened, read and deleted: expected no open file, got {left}")
sys.exit(not left)
