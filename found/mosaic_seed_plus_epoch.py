"""Epoch 1 of a seed comes in the order of epoch 0 of the next seed.

The shuffles add the two. Runs with neighbouring seeds, meant to be independent, read the same orders one epoch apart. Seeds that lie
further apart than a run has epochs avoid it.

Clause: C3.4
Promised: nothing; the docstring of get_shuffle says that the epoch "is added to the seed", of orders of two seeds no page speaks
Upstream: not found (searched 2026-12-01: "mosaicml/streaming shuffle_seed plus epoch same shuffle order next seed")
"""

from importlib.metadata import version

import numpy as np
from _torchvision import stand_in

stand_in()
from streaming.base.shuffle import get_shuffle  # noqa: E402


def main():
    shards = np.array([1000])
    later = get_shuffle("py1e", shards, num_canonical_nodes=1, seed=7, epoch=1, block_size=1 << 18)
    other = get_shuffle("py1e", shards, num_canonical_nodes=1, seed=8, epoch=0, block_size=1 << 18)
    same = int((later == other).sum())
    print("mosaicml-streaming", version("mosaicml-streaming"))
    print("expected: epoch 1 of seed 7 and epoch 0 of seed 8 in different orders")
    print(f"got: {same} of 1000 samples in the same place")
    return 0 if same == 1000 else 1


if __name__ == "__main__":
    raise SystemExit(main())
