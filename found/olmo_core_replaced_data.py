"""A state goes on with other data, where name and size are the same.

A state with another fingerprint raises an error, but a fingerprint is made of names of files and their sizes, not of what is in them. A
name of its own for each version of a file avoids it.

Clause: C3.6, C4.7
Promised: "Used to compare the contents of a dataset." (https://olmo-core.readthedocs.io/en/latest/data/numpy_dataset.html)
Upstream: not found (searched 2026-12-01: "allenai/OLMo-core dataset fingerprint file content changed same size not detected")
"""

import tempfile
from importlib.metadata import version

import numpy as np
from olmo_core.data import NumpyDataLoaderBase, NumpyDataLoaderConfig, NumpyFSLDatasetConfig, TokenizerConfig

TOKENIZER = TokenizerConfig(vocab_size=1000, eos_token_id=999, pad_token_id=999)


def opened(folder: str, first: int) -> NumpyDataLoaderBase:
    """Return a loader of 120 tokens, from `first` on."""
    np.arange(first, first + 120, dtype=np.uint16).tofile(f"{folder}/data.npy")
    dataset = NumpyFSLDatasetConfig(paths=[f"{folder}/data.npy"], tokenizer=TOKENIZER, sequence_length=4, work_dir=folder).build()
    return NumpyDataLoaderConfig(global_batch_size=4, seed=1, work_dir=folder).build(dataset)


with tempfile.TemporaryDirectory() as folder:
    loader = opened(folder, 0)
    loader.reshuffle(1)
    next(iter(loader))
    state = loader.state_dict()
    loader = opened(folder, 500)
    print(f"ai2-olmo-core {version('ai2-olmo-core')}: expected an error, for tokens 0 to 119 became tokens 500 to 619")
    try:
        loader.load_state_dict(state)
    except RuntimeError as reason:
        print(f"got {reason}")
        raise SystemExit(1) from reason
    loader.reshuffle(1)
    print(f"got a batch of {next(iter(loader))['input_ids'].tolist()}")
raise SystemExit(0)
