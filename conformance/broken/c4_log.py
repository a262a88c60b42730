"""Loaders whose log tells another run, and loaders that let a commit be forgotten (C4.11, C4.12)."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...reference.plan import Plan
from ..driver import PROMISES, Layout, MicroBatch, Refusal, Settings
from ..drivers.line_log import LineLog
from ..drivers.reference import plan_for
from .honest import Honest


class Logging(Honest):
    """The honest loader with a run log."""

    promises = frozenset(PROMISES)

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and open the log on the first rank."""
        super().build(corpus, workdir, settings, layout, states)
        self.run_log = self.open_log(workdir / "run.log") if layout.rank == 0 else None
        if self.run_log:
            self.run_log.write({"event": "opened", "step": self.steps, "consumed": self.consumed})

    def open_log(self, path: Path) -> LineLog:
        """Return the log, whose torn last line is cut off."""
        return LineLog(path)

    def commit(self, applied: bool = True) -> None:
        """Count, and write down what was served."""
        first = self.consumed
        super().commit(applied)
        if self.run_log:
            self.run_log.write(self.record(first, applied))

    def record(self, first: int, applied: bool) -> dict[str, Any]:
        """Return the record of the step that began at `first`."""
        size = self.layout.batch_size
        return {
            "step": self.steps,
            "consumed": self.consumed,
            "batch_size": size,
            "samples": dict(Counter(self.logged_plan().resolve(position).source for position in range(first, first + size))),
            "applied": applied,
        }

    def logged_plan(self) -> Plan:
        """Return the plan by which the log is written."""
        return self.plan

    def log(self) -> list[dict[str, Any]]:
        """Return the records."""
        if not self.run_log:
            raise Refusal("keeps the run log on the first rank")
        return self.run_log.records()

    def close(self) -> None:
        """Close the log too."""
        super().close()
        if self.run_log:
            self.run_log.close()


class LogsThePlanWithoutSkips(Logging):
    """Writes down what was planned for the step's number, as if nothing had been passed over."""

    clause, fault, also = "C4.11", 15, ()

    def logged_plan(self) -> Plan:
        """Return the plan without its skips."""
        return plan_for(self.corpus, replace(self.settings, skips=[]))


class LogsWhatIsReadAhead(Logging):
    """Writes a step down when it is asked for: one that was never committed stands in the log, and its commit does not."""

    clause, fault, also = "C4.11", None, ()

    def next(self) -> list[MicroBatch] | None:
        """Serve, and write down the step that follows the last committed one."""
        step = super().next()
        if step is not None and self.run_log:
            self.steps, self.consumed = self.steps + 1, self.consumed + self.layout.batch_size
            self.run_log.write(self.record(self.consumed - self.layout.batch_size, True))
            self.steps, self.consumed = self.steps - 1, self.consumed - self.layout.batch_size
        return step

    def commit(self, applied: bool = True) -> None:
        """Count."""
        Honest.commit(self, applied)


class LogsTheFirstRanksShare(Logging):
    """Writes down the sources of its own slice for those of the step."""

    clause, fault, also = "C4.11", None, ()

    def record(self, first: int, applied: bool) -> dict[str, Any]:
        """Return the record, with the sources of the first rank's samples."""
        own = range(first, first + self.layout.batch_size // self.layout.dp_size)
        return super().record(first, applied) | {"samples": dict(Counter(self.plan.resolve(position).source for position in own))}


class NumbersStepsAnew(Logging):
    """Counts its steps from one whenever it is started."""

    clause, fault, also = "C4.11", None, ()

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and remember where it began."""
        self.begun_at = 0
        super().build(corpus, workdir, settings, layout, states)
        self.begun_at = self.steps

    def record(self, first: int, applied: bool) -> dict[str, Any]:
        """Return the record with the number of the step since the start."""
        return super().record(first, applied) | {"step": self.steps - self.begun_at}


class GluesToATornLine(Logging):
    """Goes on behind what a crash left of a line, which makes one line of two records, and neither can be read."""

    clause, fault, also = "C4.11", 53, ()

    def open_log(self, path: Path) -> LineLog:
        """Return the log as it is."""
        torn = path.read_bytes() if path.exists() else b""
        log = LineLog(path)
        path.write_bytes(torn)
        return log


class ServesWithoutCommit(Honest):
    """Serves the same step again and again while nobody commits it."""

    clause, fault, also = "C4.12", 5, ()

    def expect_commit(self) -> None:
        """Expect nothing."""


class CountsAppliedStepsOnly(Honest):
    """Leaves a step out of its count whose update the optimizer has skipped, and serves it again."""

    clause, fault, also = "C4.12", 6, ()

    def commit(self, applied: bool = True) -> None:
        """Count the step if it was applied."""
        if applied:
            super().commit()
        self.begun = False
