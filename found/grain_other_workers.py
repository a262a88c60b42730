"""Grain 0.2.18: a state of an iterator with `mp_prefetch` does not resume with another number of workers.

Clause C4.3. The docstring of IterDataset.mp_prefetch speaks of "elasticity in the number of prefetch workers", and warns of many-to-one and
stateful transformations alone (https://google-grain.readthedocs.io/en/latest/grain.dataset.html); there is none of them here. What comes
is a KeyError, or samples again and samples passed over. The ElasticIterator resumes with any number. Not found upstream.
"""

import sys
from importlib.metadata import version

import grain


def iterator(workers: int) -> grain.DatasetIterator:
    """Return an iterator over the numbers from 0 on."""
    return iter(grain.MapDataset.range(100).to_iter_dataset().mp_prefetch(grain.multiprocessing.MultiprocessingOptions(workers)))


def resumed(first: int, then: int) -> str:
    """Take ten numbers with `first` workers, and say what comes next with `then`."""
    before, after = iterator(first), iterator(then)
    try:
        taken = [next(before) for _ in range(10)]
        assert taken == list(range(10))
        after.set_state(before.get_state())
        return str([int(next(after)) for _ in range(6)])
    except Exception as reason:
        return repr(reason)
    finally:
        before.close()
        after.close()


if __name__ == "__main__":
    found = {f"{first} -> {then} workers": resumed(first, then) for first, then in ((2, 2), (0, 2), (2, 0), (2, 4), (4, 2))}
    for change, got in found.items():
        print(f"grain {version('grain')}: {change}: expected {list(range(10, 16))}, got {got}")
    sys.exit(set(found.values()) == {str(list(range(10, 16)))})
