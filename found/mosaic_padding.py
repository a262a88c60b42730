"""An epoch that the ranks do not divide is filled with samples of the same epoch.

The partition repeats samples until all ranks have as many, so an epoch holds samples twice on some numbers of GPUs, as comments of the
source and the pull request below explain. An `epoch_size` that every number of ranks divides avoids it.

Clause: C2.5, C3.2
Promised: "samples are in the same order regardless of the number of GPUs, nodes, or CPU workers"
(https://github.com/mosaicml/streaming/blob/main/README.md)
Upstream: https://github.com/mosaicml/streaming/pull/706
"""

from importlib.metadata import version

from _torchvision import stand_in

stand_in()
from streaming.base.partition import get_partitions  # noqa: E402


def main():
    epochs = {
        ranks: get_partitions(
            "relaxed", num_samples=9, num_canonical_nodes=1, num_physical_nodes=1, ranks_per_node=ranks, workers_per_rank=1, batch_size=1
        )
        for ranks in (1, 4)
    }
    alone, shared = (epochs[ranks].transpose(3, 2, 0, 1, 4).flatten().tolist() for ranks in (1, 4))
    print("mosaicml-streaming", version("mosaicml-streaming"))
    print("expected on 4 ranks, as on 1:", alone)
    print("got:                         ", shared)
    return 0 if len(shared) != len(set(shared)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
