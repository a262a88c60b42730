"""The second epoch of one seed comes in the order of the first epoch of the next seed.

`_build_global_indices` adds seed and epoch. Runs with neighbouring seeds share all orders but one. Seeds that lie further apart than a run
has epochs avoid it.

Clause: C3.4
Promised: nothing; `seed` is "The seed to use for shuffling / sampling data", and of orders of two seeds no docstring speaks
Upstream: not found (searched 2026-12-01: "allenai/OLMo-core data order depends on batch size, remainder of epoch dropped, seed + epoch
global indices shuffle")
"""

import tempfile
from importlib.metadata import version

import numpy as np
from olmo_core.data import NumpyDataLoaderConfig, NumpyFSLDatasetConfig, TokenizerConfig

TOKENIZER = TokenizerConfig(vocab_size=1000, eos_token_id=999, pad_token_id=999)


def order(seed: int, epoch: int) -> list[int]:
    """Return the first tokens of the 30 sequences of an epoch."""
    with tempfile.TemporaryDirectory() as folder:
        np.arange(120, dtype=np.uint16).tofile(f"{folder}/data.npy")
        dataset = NumpyFSLDatasetConfig(paths=[f"{folder}/data.npy"], tokenizer=TOKENIZER, sequence_length=4, work_dir=folder).build()
        loader = NumpyDataLoaderConfig(global_batch_size=4, seed=seed, work_dir=folder).build(dataset)
        loader.reshuffle(epoch)
        return [int(batch["input_ids"][0, 0]) for batch in loader]


same = order(7, epoch=2) == order(8, epoch=1)
print(f"ai2-olmo-core {version('ai2-olmo-core')}: expected epoch 2 of seed 7 in another order than epoch 1 of seed 8")
print(f"got {'the same order' if same else 'another order'}")
raise SystemExit(0 if same else 1)
