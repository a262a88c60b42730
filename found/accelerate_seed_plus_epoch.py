"""The second epoch of one seed has the order of the first epoch of the next seed, with `use_seedable_sampler`.

SeedableRandomSampler adds the seed and the number of the epoch. Runs of neighbouring seeds, which are to differ, share all their orders
but one. A Trainer has the same sampler. Seeds that lie further apart than a run has epochs avoid it.

Clause: C3.4
Promised: nothing; the docstring of SeedableRandomSampler says that it relies on seed and iteration, not how, nor that two seeds differ
Upstream: not found (searched 2026-12-01: "accelerate SeedableRandomSampler seed + epoch same order different seed initial_seed",
"huggingface/accelerate use_seedable_sampler shuffle correlated between seeds, epoch added to seed overlap")
"""

import accelerate
import torch
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch.utils.data import DataLoader, TensorDataset


def epochs(seed: int) -> list[list[int]]:
    """Return the orders of the first two epochs."""
    set_seed(seed)
    accelerator = accelerate.Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True))
    loader = accelerator.prepare(DataLoader(TensorDataset(torch.arange(20)), shuffle=True))
    return [[int(sample) for (sample,) in loader] for _ in range(2)]


(_, second), (first, _) = epochs(7), epochs(8)
print(f"accelerate {accelerate.__version__}, epoch 1 of seed 7: {second}")
print(f"expected another order in epoch 0 of seed 8, got {'the same' if first == second else first}")
raise SystemExit(first != second)
