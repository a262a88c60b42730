"""A run that goes on with other weights passes over samples of one source and repeats those of the other.

Of the data a checkpoint holds the number of consumed samples; the blend is drawn anew for the new weights, and the run goes on at that
number in it. A blend over what is left of each source avoids it. https://github.com/NVIDIA/Megatron-LM/pull/725, which is open, would keep
the number for each source.

Clause: C1.8, C4.7
Promised: nothing; the page of the datasets describes one blend of fixed weights, and no docstring speaks of another in the middle of a run
Upstream: https://github.com/NVIDIA/Megatron-LM/issues/457
"""

import sys
from importlib.metadata import version

import numpy as np
from megatron.core.datasets.helpers import build_blending_indices

SIZE, CONSUMED, MORE = 20_000, 10_000, 4_000


def blend(weights: list[float]) -> list[tuple[int, int]]:
    """Return (source, sample of it) for each sample of a BlendedDataset."""
    source, sample = np.zeros(SIZE, np.int16), np.zeros(SIZE, np.int64)
    build_blending_indices(source, sample, np.array(weights), len(weights), SIZE, False)
    return list(zip(source.tolist(), sample.tolist(), strict=True))


seen = blend([0.5, 0.5])[:CONSUMED]
served = blend([0.2, 0.8])[CONSUMED : CONSUMED + MORE]
repeated = len(set(seen) & set(served))
skipped = min(sample for source, sample in served if source == 1) - CONSUMED // 2
print(f"megatron-core {version('megatron-core')}: 1:1 for {CONSUMED} samples, then 1:4: expected every source to go on")
print(f"got {repeated} of the next {MORE} samples again, {skipped} samples passed over")
sys.exit(not repeated and not skipped)
