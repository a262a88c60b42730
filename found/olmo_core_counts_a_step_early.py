"""A state that is saved while a step is trained counts that step as trained.

A batch is counted before it is yielded, while the docstring of the loader has it processed in the body of the loop. Saving after the step
alone, as the trainer does, avoids it.

Clause: C4.2
Promised: "The total number of batches processed so far in the current epoch."
(https://olmo-core.readthedocs.io/en/latest/data/data_loader.html)
Upstream: not found (searched 2026-12-01: "allenai/OLMo-core data loader batches_processed counted before yield checkpoint state_dict skips
batch")
"""

import tempfile
from importlib.metadata import version

import numpy as np
from olmo_core.data import NumpyDataLoaderBase, NumpyDataLoaderConfig, NumpyFSLDatasetConfig, TokenizerConfig

TOKENIZER = TokenizerConfig(vocab_size=1000, eos_token_id=999, pad_token_id=999)


def opened(folder: str) -> NumpyDataLoaderBase:
    """Return a loader of 30 sequences."""
    dataset = NumpyFSLDatasetConfig(paths=[f"{folder}/data.npy"], tokenizer=TOKENIZER, sequence_length=4, work_dir=folder).build()
    return NumpyDataLoaderConfig(global_batch_size=4, seed=1, work_dir=folder).build(dataset)


with tempfile.TemporaryDirectory() as folder:
    np.arange(120, dtype=np.uint16).tofile(f"{folder}/data.npy")
    loader = opened(folder)
    loader.reshuffle(1)
    in_training = next(iter(loader))["input_ids"].tolist()
    resumed = opened(folder)
    resumed.load_state_dict(loader.state_dict())
    resumed.reshuffle(1)
    after = next(iter(resumed))["input_ids"].tolist()
print(f"ai2-olmo-core {version('ai2-olmo-core')}: expected the step that was not finished again, {in_training}")
print(f"got {after}")
raise SystemExit(0 if after != in_training else 1)
