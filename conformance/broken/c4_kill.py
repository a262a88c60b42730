"""Loaders that leave or find the wrong files, or pay for the past with time (C4.9, C4.10; C3.1 where ranks open together)."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..driver import Layout, MicroBatch, Settings
from .honest import Honest

SHORT = 10_000
"""Positions of a run that is long enough to keep its order in a file."""


class TrustsItsOwnFile(Honest):
    """Keeps its place in its folder after every step, and goes on there, whatever state it is given."""

    clause, fault, also = "C4.9", None, ()

    def commit(self, applied: bool = True) -> None:
        """Count, and write down where."""
        super().commit(applied)
        (self.workdir / "place").write_text(json.dumps(self.state()))

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on at the place that was written down last."""
        kept = self.workdir / "place"
        super().restore([json.loads(kept.read_text())] if kept.exists() else states)


class KeepsItsOrder(Honest):
    """Keeps the order of a long run in a file, and reads it from there; the honest way to make it is `make`."""

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Find the order, or make it."""
        super().build(corpus, workdir, settings, layout, states)
        self.order: Any = range(settings.length)
        if SHORT < settings.length <= 10 * SHORT:
            self.order = self.find(workdir / f"order-{self.plan.plan_hash}", settings.length)

    def find(self, path: Path, length: int) -> Any:
        """Return the order in the file at `path`, which is made where there is none."""
        raise NotImplementedError

    @staticmethod
    def fill(path: Path, length: int) -> None:
        """Fill a file that is as long as it will be, the last positions first, in a quarter of a second or more."""
        order = np.memmap(path, np.int64, "w+", shape=length)
        for begin in reversed(range(0, length, 1000)):
            order[begin : begin + 1000] = range(begin, min(begin + 1000, length))
            time.sleep(0.0025)

    def served(self, position: int) -> int:
        """Return what the order has at `position`."""
        return int(self.order[position])


class LeavesHalfACache(KeepsItsOrder):
    """Makes the file under its own name, and takes what a kill left of it for whole."""

    clause, fault, also = "C4.9", 53, ("C3.1",)

    def find(self, path: Path, length: int) -> Any:
        """Make the file in place."""
        if not path.exists():
            self.fill(path, length)
        return np.memmap(path, np.int64, "r")


class DoesNotWaitForTheFirstRank(KeepsItsOrder):
    """Has the first rank make the file, whole or not at all, and goes on in another order on ranks that do not find it yet."""

    clause, fault, also = "C3.1", 56, ()

    def find(self, path: Path, length: int) -> Any:
        """Make the file on the first rank; take it where it is, and the order backwards where it is not."""
        if self.layout.rank == 0 and not path.exists():
            self.fill(path.with_suffix(".tmp"), length)
            path.with_suffix(".tmp").rename(path)
        return np.memmap(path, np.int64, "r") if path.exists() else range(length - 1, -1, -1)


class ReadsAllThatWasServed(Honest):
    """Goes on by reading, and throwing away, every batch up to its place."""

    clause, fault, also = "C4.10", 12, ()

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Serve the past once more, to nobody."""
        super().restore(states)
        place, self.consumed = self.consumed, 0
        while self.consumed < place:
            self.passed_over()
            self.consumed += self.layout.batch_size
        self.consumed = place

    def passed_over(self) -> list[MicroBatch]:
        """Return what the step at `consumed` holds."""
        return [self.batch(positions) for positions in self.positions() if max(positions) < self.plan.length]


class ReadsTheEpochAgain(ReadsAllThatWasServed):
    """Goes on by reading, and throwing away, every batch of its epoch up to its place."""

    clause, fault, also = "C4.10", 12, ()

    def passed_over(self) -> list[MicroBatch]:
        """Return the step at `consumed`, where it is of the epoch that is going on."""
        n = self.plan.sources[0].window_count(self.settings.seq_len)
        return super().passed_over() if self.consumed // n == self.place // n else []

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Serve the epoch once more, to nobody."""
        self.place = int(states[0]["consumed"])
        super().restore(states)


class OverAfterAKill(Honest):
    """Says that a long run is over where the lock of a process that was killed still lies in its folder."""

    clause, fault, also = "C4.9", None, ()

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and lock."""
        self.lock = workdir / f"lock{layout.rank}"
        self.stale = self.lock.exists() and bool(states) and settings.length > SHORT
        self.lock.write_text("locked")
        super().build(corpus, workdir, settings, layout, states)

    def over(self) -> bool:
        """Return whether nothing is left, or somebody else seems to be at work."""
        return self.stale or super().over()

    def close(self) -> None:
        """Unlock."""
        self.lock.unlink(missing_ok=True)


class EmptyWhereManyOpen(Honest):
    """Finds a long run over where it shares it with other ranks."""

    clause, fault, also = "C3.1", None, ()

    def over(self) -> bool:
        """Return whether nothing is left, or there are others."""
        return (self.settings.length > SHORT and self.layout.dp_size > 1) or super().over()
