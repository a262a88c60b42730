"""Of the seed of a DistributedSampler the low 32 bits alone decide the order.

The seed goes to a generator of the CPU, which keeps 32 bits of it and says nothing. Seeds that are hashes of 64 bits meet after some
77,000 of them. Seeds below 2 ** 32 avoid it.

Clause: C3.4
Promised: nothing; Generator.manual_seed takes 64 bits and adds that "Any 32-bit integer is a valid seed", not that it ignores the others
Upstream: not found (searched 2026-12-01: "pytorch torch.Generator manual_seed 64 bit seed only low 32 bits used CPU mt19937")
"""

import sys

import torch
from torch.utils.data import DistributedSampler


def order(seed: int) -> list[int]:
    """Return the order of a hundred samples on one rank."""
    return list(DistributedSampler(range(100), num_replicas=1, rank=0, seed=seed))  # type: ignore[arg-type]


one, other = order(11), order(11 + (1 << 32))
print(f"torch {torch.__version__}: expected other orders for seeds 11 and {11 + (1 << 32)}")
print(f"got {one[:6]} ... and {other[:6]} ...: {'the same' if one == other else 'others'}")
sys.exit(one != other)
