"""A state of a StatefulDataLoader without workers cannot be loaded with workers, nor the other way round (torchdata 0.11.0).

Clause: C4.3, elastic. Promised: "handles aggregation and distribution of state across multiprocess workers"
(https://pytorch.org/data/0.11/torchdata.stateful_dataloader.html); that their number is a part of the state is said nowhere, and it
decides nothing for a map-style dataset. Upstream: not found as a report; users write it down, such as
https://github.com/NVIDIA-BioNeMo/bionemo-recipes/pull/1212.
"""

import sys

from torchdata import __version__
from torchdata.stateful_dataloader import StatefulDataLoader


def resumed(before: int, after: int) -> str:
    """Return what comes after four of ten samples, saved with `before` workers and loaded with `after`."""
    first, second = (StatefulDataLoader(range(10), batch_size=1, num_workers=workers) for workers in (before, after))
    batches = iter(first)
    for _ in range(4):
        next(batches)
    second.load_state_dict(first.state_dict())
    try:
        return str([int(batch) for batch in second])
    except Exception as reason:
        return f"{type(reason).__name__}: {reason}"


expected, shown = str([4, 5, 6, 7, 8, 9]), False
print(f"torchdata {__version__}: expected {expected}")
for before, after in ((0, 2), (2, 0), (3, 1), (1, 3)):
    got = resumed(before, after)
    shown |= got != expected
    print(f"saved with {before} workers, loaded with {after}: {got}")
sys.exit(not shown)
