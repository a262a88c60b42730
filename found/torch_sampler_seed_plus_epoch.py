"""The second epoch of one seed of a DistributedSampler is the first epoch of the next.

The sampler adds its epoch to its seed. Two runs that are to differ by their seed alone share all epochs but one. Seeds that lie further
apart than a run has epochs avoid it.

Clause: C3.4
Promised: nothing; `seed` is the "random seed used to shuffle the sampler", and of orders of two seeds the page does not speak
Upstream: not found (searched 2026-12-01: "pytorch DistributedSampler g.manual_seed(self.seed + self.epoch) different seeds share orders
across epochs")
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
