"""What of an epoch makes no whole batch is left out of it, so the order of samples depends on the batch size.

The order of an epoch is cut to whole batches, and the next epoch begins with another order. A number of instances that the batch divides
avoids it.

Clause: C1.3, C3.2
Promised: nothing; `total_size` is "The total number of instances that the dataset will produce over the course of an epoch", whatever it is
Upstream: not found (searched 2026-12-01: "allenai/OLMo-core data order depends on batch size, remainder of epoch dropped, seed + epoch
global indices shuffle")
"""

import tempfile
from importlib.metadata import version

import numpy as np
from olmo_core.data import NumpyDataLoaderConfig, NumpyFSLDatasetConfig, TokenizerConfig

TOKENIZER = TokenizerConfig(vocab_size=1000, eos_token_id=999, pad_token_id=999)


def two_epochs(sequences: int) -> list[int]:
    """Return the numbers of the sequences in two epochs of batches of so many, of 10 sequences of four tokens."""
    with tempfile.TemporaryDirectory() as folder:
        np.arange(40, dtype=np.uint16).tofile(f"{folder}/data.npy")
        dataset = NumpyFSLDatasetConfig(paths=[f"{folder}/data.npy"], tokenizer=TOKENIZER, sequence_length=4, work_dir=folder).build()
        loader = NumpyDataLoaderConfig(global_batch_size=4 * sequences, seed=1, work_dir=folder).build(dataset)
        served = []
        for epoch in (1, 2):
            loader.reshuffle(epoch)
            served += [int(first) // 4 for batch in loader for first in batch["input_ids"][:, 0]]
            loader.reset()
        return served


one, four = two_epochs(1), two_epochs(4)
print(f"ai2-olmo-core {version('ai2-olmo-core')}: expected batches of 1 and of 4 to serve the same, all of 10 sequences first")
print(f"got {one[:16]}\nand {four}")
raise SystemExit(0 if len(set(four[:10])) < 10 and one[:16] != four else 1)
