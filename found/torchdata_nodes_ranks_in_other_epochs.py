"""In a mixture of torchdata.nodes two ranks train on the same sample in one step, before its source was passed through.

MultiNodeWeightedSampler draws the sources of every rank by a seed of its own, so with CYCLE_FOREVER one rank passes through its share while
others have not, and goes on in the next epoch's order, where the shares of a DistributedSampler are others. Rank 0 of 1, with one seed, in
the place of `rank` and `world_size` has all ranks draw alike, and avoids it.

Clause: C1.3, C2.1
Promised: "each process can pass a DistributedSampler instance as a DataLoader sampler, and load a subset of the original dataset that is
exclusive to it." (https://docs.pytorch.org/docs/2.13/data.html)
Upstream: not found (searched 2026-12-01: "torchdata.nodes MultiNodeWeightedSampler ranks duplicate samples different epochs
DistributedSampler CYCLE_FOREVER")
"""

import sys
from collections import Counter
from collections.abc import Iterator

from torch.utils.data import DistributedSampler
from torchdata import __version__
from torchdata.nodes import Batcher, Loader, Mapper, MultiNodeWeightedSampler, SamplerWrapper, StopCriteria

SIZES, RANKS, SEED = {"a": 30, "b": 20}, 4, 7


def rank(number: int) -> Iterator[list[tuple[str, int]]]:
    """Return the batches of a rank: two samples each, by source and index."""
    sources = {
        name: Mapper(
            SamplerWrapper(DistributedSampler(range(size), RANKS, number, seed=SEED, drop_last=True)),  # type: ignore[arg-type]
            lambda index, name=name: (name, index),
        )
        for name, size in SIZES.items()
    }
    mixed = MultiNodeWeightedSampler(sources, {"a": 0.6, "b": 0.4}, StopCriteria.CYCLE_FOREVER, number, RANKS, SEED)
    return iter(Loader(Batcher(mixed, 2)))


drawn: Counter[str] = Counter()
found: list[str] = []
for step, batches in enumerate(zip(*map(rank, range(RANKS)), strict=True)):
    samples = [sample for batch in batches for sample in batch]
    drawn.update(name for name, _ in samples)
    if all(drawn[name] > size for name, size in SIZES.items()):
        break
    twice = [(name, index) for (name, index), count in Counter(samples).items() if count > 1 and drawn[name] <= SIZES[name]]
    found += [f"step {step} holds {index} of {name} twice, after {drawn[name]} of {SIZES[name]} samples" for name, index in twice]
print(f"torchdata {__version__}: expected no sample twice in a step while its source is in its first epoch")
print("got", "; ".join(found) or "none")
sys.exit(not found)
