"""ai2-olmo-core 3.0.0: threads of an iterator that was not exhausted run for ever.

Clause C5.3: threads of a loader end when it is closed. A run that ends inside an epoch leaves the iterator of a `NumpyFSLDataLoader`
(https://olmo-core.readthedocs.io/en/latest/data/data_loader.html) as it is, and has nothing to close; `threaded_generator` puts into
a full queue that nobody reads, in a thread that holds its dataset. Not found upstream.
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
