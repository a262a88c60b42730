"""Samples that a phase passes over, and what that does to its local positions (A5; C1.10)."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


class Skips:
    """The skips of one phase: before serving position `at`, `count` samples are taken and not served.

    Local positions q number the samples taken in the phase, served or passed over, from 0.
    """

    def __init__(self, start: int, pairs: Sequence[tuple[int, int]]) -> None:
        """Hold the pairs (at, count), `at` strictly ascending, of the phase that begins at position `start`."""
        self._start = start
        self._at = [at for at, _ in pairs]
        self._passed = [0, *accumulate(count for _, count in pairs)]
        # Where each run of passed-over samples begins, as local positions.
        self._first = [at - start + passed for at, passed in zip(self._at, self._passed[:-1], strict=True)]

    @property
    def total(self) -> int:
        """Samples passed over in the phase."""
        return self._passed[-1]

    def passed_over(self) -> list[tuple[int, int]]:
        """Return the runs of local positions that are passed over, each as (first, one past the last)."""
        return [(first, first + end - begin) for first, begin, end in zip(self._first, self._passed[:-1], self._passed[1:], strict=True)]

    def local(self, position: int) -> int:
        """Return q of the sample served at `position`."""
        return position - self._start + self._passed[bisect_right(self._at, position)]

    def served(self, q: int) -> int | None:
        """Return the position that serves local position q, None where it is passed over."""
        before = bisect_right(self._first, q)
        if before and q < self._first[before - 1] + self._passed[before] - self._passed[before - 1]:
            return None
        return self._start + q - self._passed[before]
