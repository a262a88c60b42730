"""Of the seed of a DistributedSampler the low 32 bits alone decide the order (torch 2.13.0).

Clause: C3.4, keys never meet. Promised: `torch.Generator.manual_seed` takes seeds up to 0xffff_ffff_ffff_ffff
(https://docs.pytorch.org/docs/2.13/generated/torch.Generator.html); the generator of the CPU keeps 32 bits of them and says nothing. Seeds
that are hashes of 64 bits meet after some 77,000 of them. Upstream: https://github.com/pytorch/pytorch/issues/87509, closed, has the
documentation "say that any 32-bit integer is a valid seed"; the page still says 64.
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
