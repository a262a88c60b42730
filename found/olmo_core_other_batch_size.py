"""ai2-olmo-core 3.0.0: a state that goes on with another batch size serves samples again.

Clause C4.3: a state resumes on any batch size with the same sequence of samples. `NumpyFSLDataLoader.load_state_dict` goes on "based on
batch size" ("Account for change in batch size / sequence length", https://github.com/allenai/OLMo-core, src/olmo_core/data/data_loader.py)
at the last whole batch of the new size, while the `global_batch_size` setter refuses such a change. Not found upstream.
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
