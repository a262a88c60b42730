"""The second epoch of `shuffle(seed=7)` has the order of the first epoch of `shuffle(seed=8)`.

Seed and number of the epoch are added, so runs whose seeds differ by one share all epochs but one. A seed that is set by `ds.seed(seed)`
is hashed first, and is spared.

Clause: C3.4
Promised: nothing; the docstring of MapDataset.shuffle says that "the seed is combined with epoch number", not how, nor that seeds differ
Upstream: not found (searched 2026-12-01: "google/grain MapDataset.shuffle seed plus epoch same order next seed", "grain shuffle reseed each
epoch seed combined with epoch number index_shuffle correlated seeds")
"""

import sys
from importlib.metadata import version

import grain

N = 1000


def epoch(seed: int, number: int) -> list[int]:
    """Return the order of one epoch."""
    samples = grain.MapDataset.range(N).shuffle(seed=seed).repeat()
    return [samples[number * N + i] for i in range(N)]


equal = sum(a == b for a, b in zip(epoch(7, 1), epoch(8, 0), strict=True))
print(f"grain {version('grain')}: epoch 1 of seed 7 and epoch 0 of seed 8: expected about 1 of {N} samples in the same place, got {equal}")
sys.exit(equal < N)
