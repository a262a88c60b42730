"""A state of torchdata.nodes without workers cannot be loaded with workers, nor the other way round (torchdata 0.11.0).

Clause: C4.3, elastic. Promised: "first-class support for mid-epoch checkpointing"
(https://pytorch.org/data/0.11/what_is_torchdata_nodes.html); that the number of threads of a ParallelMapper is a part of the state is said
nowhere. Upstream: not found as a report.
"""

import sys

from torchdata import __version__
from torchdata.nodes import IterableWrapper, Loader, ParallelMapper


def resumed(before: int, after: int) -> str:
    """Return what comes after four of ten items, saved with `before` workers and loaded with `after`."""
    first, second = (Loader(ParallelMapper(IterableWrapper(range(10)), int, num_workers=workers)) for workers in (before, after))
    items = iter(first)
    for _ in range(4):
        next(items)
    second.load_state_dict(first.state_dict())
    try:
        return str(list(second))
    except Exception as reason:
        return f"{type(reason).__name__}: {reason}"


expected, shown = str([4, 5, 6, 7, 8, 9]), False
print(f"torchdata {__version__}: expected {expected}")
for before, after in ((0, 2), (2, 0), (3, 1), (1, 3)):
    got = resumed(before, after)
    shown |= got != expected
    print(f"saved with {before} workers, loaded with {after}: {got}")
sys.exit(not shown)
