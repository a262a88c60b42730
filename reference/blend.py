"""Which source serves a position of a phase: two rules over integer weights, periodic, resolved in constant time (A4; C1.1, C1.2)."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import gcd
from typing import Any

import numpy as np

from ..errors import PlanError, RangeError

EARLIEST_DEADLINE = "earliest-deadline"
FURTHEST_BEHIND = "furthest-behind"
RULES = (EARLIEST_DEADLINE, FURTHEST_BEHIND)


class Blend:
    """The sequence of sources for integer weights, as a table of one period (or less, where only `length` positions are asked for).

    `blend(q)` is the source (number in `weights`) and the number of its draws before; `blend.position(source, draw)` the way back.
    """

    def __init__(self, weights: Sequence[int], rule: str = EARLIEST_DEADLINE, length: int | None = None) -> None:
        """Build the table for weights that are non-negative integers, not all 0, in the order of the plan's sources.

        Raises PlanError for other weights and for an unknown rule.
        """
        if rule not in RULES:
            raise PlanError(f"expected a blend rule of {' or '.join(RULES)}, found {rule!r}")
        if not any(weights) or any(weight < 0 for weight in weights):
            raise PlanError(f"expected non-negative weights of which one is positive, found {list(weights)}")
        divisor = gcd(*weights)
        self.rule = rule
        self.weights = [weight // divisor for weight in weights]
        self.period = sum(self.weights)
        self._length = length
        entries = self.period if length is None else min(self.period, length)
        active = [i for i, weight in enumerate(self.weights) if weight]
        sequence = (_earliest_deadline if rule == EARLIEST_DEADLINE else _furthest_behind)([self.weights[i] for i in active], entries)
        self._source = np.array(active, np.int32)[sequence]
        # Positions in the period, source by source, ascending; a stable sort keeps them so.
        order = np.argsort(self._source, kind="stable").astype(np.int32)
        drawn = np.bincount(self._source, minlength=len(self.weights))
        self._first = np.concatenate([[0], np.cumsum(drawn)])
        self._order = order
        self._count = np.empty(entries, np.int32)
        self._count[order] = np.arange(entries) - self._first[self._source[order]]

    def __call__(self, q: int) -> tuple[int, int]:
        """Return (source, draw) of local position q: draw is how often that source was drawn before; raises RangeError outside."""
        if q < 0 or (self._length is not None and q >= self._length):
            raise RangeError(f"expected a local position from 0 to {'any' if self._length is None else self._length - 1}, found {q}")
        cycle, r = divmod(q, self.period)
        source = int(self._source[r])
        return source, cycle * self.weights[source] + int(self._count[r])

    def position(self, source: int, draw: int) -> int:
        """Return the local position q with blend(q) == (source, draw); raises RangeError where there is none."""
        if draw >= 0 and 0 <= source < len(self.weights) and self.weights[source]:
            cycle, k = divmod(draw, self.weights[source])
            if k < self._first[source + 1] - self._first[source]:
                q = cycle * self.period + int(self._order[self._first[source] + k])
                if self._length is None or q < self._length:
                    return q
        raise RangeError(f"draw {draw} of source {source} is not served in this phase")

    def positions(self, source: int) -> "np.ndarray[Any, np.dtype[np.int32]]":
        """Return the local positions of the source's draws within the first period, ascending: int32 [draws]."""
        return self._order[self._first[source] : self._first[source + 1]]

    def counts(self, q: int) -> list[int]:
        """Return how often each source was drawn in the first q positions."""
        cycles, r = divmod(q, self.period)
        partial = np.bincount(self._source[:r], minlength=len(self.weights))
        return [cycles * weight + int(partial[i]) for i, weight in enumerate(self.weights)]

    def counts_by_class(self, classes: int) -> "np.ndarray[Any, np.dtype[np.int64]]":
        """Return how often each source is drawn at the positions of one period that are equal modulo `classes`: int64 [classes,
        sources].
        """
        counts = np.zeros((classes, len(self.weights)), np.int64)
        np.add.at(counts, (np.arange(len(self._source)) % classes, self._source), 1)
        return counts

    @cached_property
    def worst_deviation(self) -> Fraction:
        """Largest distance of any source from its share at any prefix, in samples."""
        return max(max(-low, high) for low, high in self.deviations)

    @cached_property
    def deviations(self) -> list[tuple[Fraction, Fraction]]:
        """Per source the smallest and the largest of count - share over all prefixes, the empty one included, in samples."""
        t = np.arange(1, len(self._source) + 1, dtype=np.int64)
        found = []
        for i, weight in enumerate(self.weights):
            # In units of 1 / period, exact: both products stay under 2^44.
            behind = np.cumsum(self._source == i, dtype=np.int64) * self.period - weight * t
            found.append((Fraction(min(0, int(behind.min())), self.period), Fraction(max(0, int(behind.max())), self.period)))
        return found


def _earliest_deadline(weights: list[int], entries: int) -> "np.ndarray[Any, np.dtype[np.int32]]":
    """Serve, among the sources whose next draw has been released, the one due first; of equals the earlier one."""
    total, slack = sum(weights), max(1, 2 * len(weights) - 2)

    def release(i: int, draw: int) -> int:
        return -(-total * (1 + slack * draw) // (slack * weights[i]))

    def deadline(i: int, draw: int) -> int:
        return total * (slack * draw + slack - 1) // (slack * weights[i])

    sequence = np.zeros(entries, np.int32)
    if len(weights) == 1:
        return sequence
    draws = [0] * len(weights)
    waiting = [(release(i, 0), i) for i in range(len(weights))]
    heapify(waiting)
    eligible: list[tuple[int, int]] = []
    for q in range(entries):
        while waiting and waiting[0][0] <= q + 1:
            _, i = heappop(waiting)
            heappush(eligible, (deadline(i, draws[i]), i))
        _, i = heappop(eligible)
        sequence[q] = i
        draws[i] += 1
        heappush(waiting, (release(i, draws[i]), i))
    return sequence


def _furthest_behind(weights: list[int], entries: int) -> "np.ndarray[Any, np.dtype[np.int32]]":
    """Serve the source whose count is furthest below its share; of equals the earlier one."""
    step = np.array(weights, np.int64)
    behind = np.zeros(len(weights), np.int64)
    total = sum(weights)
    sequence = np.zeros(entries, np.int32)
    for q in range(entries):
        behind += step
        # argmax gives the first of equal ones.
        sequence[q] = i = int(behind.argmax())
        behind[i] -= total
    return sequence
