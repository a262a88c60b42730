"""Threads of an iterator that was not exhausted run for ever.

A run that ends inside an epoch leaves the iterator of a `NumpyFSLDataLoader` as it is, and has nothing to close; `threaded_generator` puts
into a full queue that nobody reads, in a thread that holds its dataset. Reading every epoch to its end, or a process for each run, avoids
it. https://github.com/allenai/OLMo-core/pull/721, which is open, mends it.

Clause: C5.3
Promised: nothing; no docstring of the data loaders says when their threads end
Upstream: https://github.com/allenai/OLMo-core/issues/703
"""

import gc
import tempfile
import threading
import time
from importlib.metadata import version

import numpy as np
from olmo_core.data import NumpyDataLoaderConfig, NumpyFSLDatasetConfig, TokenizerConfig

TOKENIZER = TokenizerConfig(vocab_size=1000, eos_token_id=999, pad_token_id=999)

with tempfile.TemporaryDirectory() as folder:
    np.arange(400, dtype=np.uint16).tofile(f"{folder}/data.npy")
    before = threading.active_count()
    for _ in range(5):
        dataset = NumpyFSLDatasetConfig(paths=[f"{folder}/data.npy"], tokenizer=TOKENIZER, sequence_length=4, work_dir=folder).build()
        loader = NumpyDataLoaderConfig(global_batch_size=4, seed=1, work_dir=folder).build(dataset)
        loader.reshuffle(1)
        batches = iter(loader)
        next(batches)
        batches.close()
        loader.reset()
        del dataset, loader, batches
        gc.collect()
    time.sleep(2)
left = threading.active_count() - before
print(f"ai2-olmo-core {version('ai2-olmo-core')}: expected no thread of 5 loaders that are gone, got {left}")
raise SystemExit(0 if left else 1)
