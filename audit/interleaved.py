"""Measures several ways of doing one thing in turn, so that whatever else the machine does meets them all alike."""

import time
from collections.abc import Callable, Mapping
from statistics import median

Way = Callable[[], object]


def seconds(ways: Mapping[str, Way], rounds: int, warm_up: int = 1) -> dict[str, list[float]]:
    """Return the seconds of each way in each round; `warm_up` rounds before are not counted."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(-warm_up, rounds):
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            if number >= 0:
                found[name].append(time.perf_counter() - begun)
    return found


def ratio(found: Mapping[str, list[float]], ours: str, other: str) -> tuple[float, float]:
    """Return (median over the rounds of how many times faster `ours` is, half the spread between the quartiles of these ratios)."""
    ratios = sorted(theirs / own for own, theirs in zip(found[ours], found[other], strict=True))
    quarter = len(ratios) // 4
    return median(ratios), (ratios[-1 - quarter] - ratios[quarter]) / 2
