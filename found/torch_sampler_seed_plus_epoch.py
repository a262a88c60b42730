"""DistributedSampler adds its epoch to its seed: the second epoch of one seed is the first epoch of the next (torch 2.13.0).

Clause: C3.4, keys never meet. Promised: `seed` is the "random seed used to shuffle the sampler", and `set_epoch` has "a different random
ordering for each epoch" (https://docs.pytorch.org/docs/2.13/data.html). Two runs that are to differ by their seed alone share all epochs
but one. Upstream: not found as a report.
"""

import sys

import torch
from torch.utils.data import DistributedSampler


def order(seed: int, epoch: int) -> list[int]:
    """Return the order of a hundred samples on one rank."""
    sampler = DistributedSampler(range(100), num_replicas=1, rank=0, seed=seed)  # type: ignore[arg-type,var-annotated]
    sampler.set_epoch(epoch)
    return list(sampler)


second, first = order(seed=7, epoch=1), order(seed=8, epoch=0)
print(f"torch {torch.__version__}: expected other orders for seed 7, epoch 1 and for seed 8, epoch 0")
print(f"got {second[:6]} ... and {first[:6]} ...: {'the same' if second == first else 'others'}")
sys.exit(second != first)
