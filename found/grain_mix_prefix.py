"""Grain 0.2.18: in a mixture of many sources, a source is several samples away from its share.

Clause C1.1. "Returns a dataset that mixes input datasets with the given weights" (docstring of MapDataset.mix,
https://google-grain.readthedocs.io/en/latest/grain.dataset.html). Sources are peeled off one after the other, and each rounds what the ones
before it left, so the error grows with their number; a bound is not promised. Not found upstream.
"""

import sys
from importlib.metadata import version

import grain

SOURCES, N = 40, 4000

samples = grain.MapDataset.mix([grain.MapDataset.source([i]).repeat() for i in range(SOURCES)], [1 + i % 7 for i in range(SOURCES)])
total = sum(1 + i % 7 for i in range(SOURCES))
counts, worst = [0] * SOURCES, 0.0
for taken in range(1, N + 1):
    counts[samples[taken - 1]] += 1
    worst = max(worst, *(abs(count - taken * (1 + i % 7) / total) for i, count in enumerate(counts)))
print(
    f"grain {version('grain')}: {SOURCES} sources: expected each within a sample of its share at every prefix, got {worst:.1f} samples away"
)
sys.exit(worst < 2)
