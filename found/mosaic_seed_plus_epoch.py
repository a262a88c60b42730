"""mosaicml-streaming 0.13.0: epoch 1 of a seed comes in the order of epoch 0 of the next seed. Clause C3.4.

"epoch (int): Current epoch, which is added to the seed to get a different deterministic shuffle each epoch" (docstring of
`get_shuffle_py1e`; https://docs.mosaicml.com/projects/streaming/en/stable/dataset_configuration/shuffling.html). Two runs with
neighbouring seeds, meant to be independent, read the same orders one epoch apart. Not found upstream.
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
