"""Loaders that err in what a skip passes over (C1.10)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ...reference.plan import Plan
from ..driver import Settings
from .c1 import OtherDraws
from .honest import Honest


class SkipIgnored(Honest):
    """Accepts skips and passes over nothing."""

    clause, fault, also = "C1.10", None, ("C1.7", "C3.5", "C4.7")

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Admit the plan, and drop its skips."""
        return replace(super().make_plan(corpus, settings), skips=())


class SkipOneTooMany(Honest):
    """Passes over the sample that would be served after the skip as well."""

    clause, fault = "C1.10", None

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Admit the plan, and count every skip one higher."""
        plan = super().make_plan(corpus, settings)
        return replace(plan, skips=tuple((at, count + 1) for at, count in plan.skips))


class SkipShortensThePhase(Honest):
    """Counts what is passed over as served, so that the schedule moves and the run ends early."""

    clause, fault, also = "C1.10", None, ("C4.11",)
    promises = Honest.promises - {"where"}

    def over(self) -> bool:
        """Return whether the samples passed over leave no whole step."""
        passed = sum(count for at, count in self.plan.skips if at <= self.consumed)
        return self.consumed + passed + self.layout.batch_size > self.plan.length


class SkippedComesBack(OtherDraws):
    """Leaves what a skip passed over out of the cursors of the next phase, which so serves it."""

    clause, fault, also = "C1.10", None, ("C1.8",)

    def draw(self, position: int) -> tuple[int, int]:
        """Return the draw without what earlier phases passed over."""
        resolver = self.plan.resolver
        number, draw = resolver.draw(position)
        earlier = resolver.stretches[: resolver.phase_of(position)]
        passed = sum(stretch.blend.counts(stretch.taken)[number] - stretch.blend.counts(stretch.length)[number] for stretch in earlier)
        return number, draw - passed


class _Resumed(OtherDraws):
    """Errs in the skips that lie before the state that it was resumed from."""

    resumed = 0

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Remember where the run was resumed."""
        super().restore(states)
        self.resumed = self.consumed

    @property
    def passed(self) -> int:
        """Samples that were passed over before the state was saved."""
        return sum(count for at, count in self.plan.skips if at < self.resumed)


class SkipAgainOnResume(_Resumed):
    """Passes over as many samples again when it is resumed after the skip."""

    clause, fault, also = "C1.10", 15, ("C4.1", "C4.8")

    def draw(self, position: int) -> tuple[int, int]:
        """Return the draw that lies as much later."""
        number, draw = super().draw(position)
        return number, draw + self.passed


class SkipForgottenOnResume(_Resumed):
    """Drops the skips that lie before the state, and serves again what came after them."""

    clause, fault, also = "C1.10", 15, ("C4.1", "C4.8")

    def draw(self, position: int) -> tuple[int, int]:
        """Return the draw that lies as much earlier."""
        number, draw = super().draw(position)
        return number, max(0, draw - self.passed)
