"""An iterator over MapDataset.mix goes on from a state with other weights, repeating some samples and passing over others.

The state is the position in the mixture, and the sources' cursors follow from it and from the weights, so new weights move all cursors
without a word, where a state of another past should be refused. IterDataset.mix of a mapping of datasets keeps a state for each of them.

Clause: C1.8, C4.7
Promised: nothing; that "it is possible to recover from a checkpoint with different components and/or weights" is said of IterDataset.mix
alone
Upstream: not found (searched 2026-12-01: "grain change mixture weights after checkpoint restore repeats samples MapDataset.mix",
"google/grain set_state different weights components recover from checkpoint mix iterator")
"""

import sys
from importlib.metadata import version

import grain


def samples(weights: list[float]) -> grain.DatasetIterator:
    """Return an iterator over two sources, whose elements are (source, number)."""
    parts = [grain.MapDataset.source([(source, number) for number in range(10_000)]) for source in (0, 1)]
    return iter(grain.MapDataset.mix(parts, weights).to_iter_dataset())


before = samples([0.5, 0.5])
seen = {next(before) for _ in range(2000)}
after = samples([0.2, 0.8])
after.set_state(before.get_state())
served = [next(after) for _ in range(1000)]
repeated = sum(sample in seen for sample in served)
skipped = min(number for source, number in served if source == 1) - 1000
print(
    f"grain {version('grain')}: 1:1, then 1:4: expected every source to go on, got {repeated} of 1000 samples again, {skipped} passed over"
)
sys.exit(not repeated and not skipped)
