"""MapDataset.mix rounds weights to hundredths of the smallest one, so a source falls behind its share without end.

The weights become integers, `int(100 * weight / smallest)`, so a share is off by up to a hundredth of the smallest weight: here
0.334 : 0.333 : 0.333 is served as 1 : 1 : 1. A selection map of one's own, for MapDataset.select_from_datasets, avoids it.

Clause: C1.1
Promised: "Returns a dataset that mixes input datasets with the given weights."
(https://google-grain.readthedocs.io/en/latest/grain.dataset.html)
Upstream: not found (searched 2026-12-01: "google/grain mix weights rounded to integer proportions _float_to_int_proportions inaccurate",
"grain MapDataset.mix actual mixture ratio differs from given weights precision")
"""

import sys
from collections import Counter
from importlib.metadata import version

import grain

WEIGHTS = [0.334, 0.333, 0.333]
N = 100_000

samples = grain.MapDataset.mix([grain.MapDataset.source([i]).repeat() for i in range(len(WEIGHTS))], WEIGHTS)
counts = Counter(samples[i] for i in range(N))
behind = max(abs(counts[i] - weight * N) for i, weight in enumerate(WEIGHTS))
print(f"grain {version('grain')}: {N} samples by {WEIGHTS}: expected each source within a few samples of its share, got {dict(counts)}")
sys.exit(behind < 10)
