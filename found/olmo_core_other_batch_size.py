"""A state that goes on with another batch size serves samples again.

`NumpyFSLDataLoader.load_state_dict` goes on at the last whole batch of the new size. Loading the state with the old size, and setting
`global_batch_size` afterwards, avoids it: the setter refuses a change that would repeat or lose data.

Clause: C4.3
Promised: nothing; that a change of the batch size is accounted for is said in a comment of the source alone
Upstream: not found (searched 2026-12-01: "allenai/OLMo-core NumpyFSLDataLoader resume with different global batch size duplicates
instances")
"""

import tempfile
from importlib.metadata import version
from itertools import islice

import numpy as np
from olmo_core.data import NumpyDataLoaderBase, NumpyDataLoaderConfig, NumpyFSLDatasetConfig, TokenizerConfig

TOKENIZER = TokenizerConfig(vocab_size=1000, eos_token_id=999, pad_token_id=999)


def opened(folder: str, sequences: int) -> NumpyDataLoaderBase:
    """Return a loader of batches of so many sequences of four tokens."""
    dataset = NumpyFSLDatasetConfig(paths=[f"{folder}/data.npy"], tokenizer=TOKENIZER, sequence_length=4, work_dir=folder).build()
    return NumpyDataLoaderConfig(global_batch_size=4 * sequences, seed=1, work_dir=folder).build(dataset)


with tempfile.TemporaryDirectory() as folder:
    np.arange(120, dtype=np.uint16).tofile(f"{folder}/data.npy")
    first = opened(folder, 4)
    first.reshuffle(1)
    before = [sequence.tolist() for batch in islice(first, 1) for sequence in batch["input_ids"]]
    second = opened(folder, 3)
    second.load_state_dict(first.state_dict())
    second.reshuffle(1)
    after = [sequence.tolist() for batch in islice(second, 1) for sequence in batch["input_ids"]]
again = [sequence for sequence in after if sequence in before]
print(f"ai2-olmo-core {version('ai2-olmo-core')}: expected none of the 4 sequences before the restart in the batch of 3 after it")
print(f"got {again}")
raise SystemExit(0 if again else 1)
