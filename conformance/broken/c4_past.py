"""Loaders that take any state for their own, or none but from the very same plan: faults of identity (C4.7, C4.8)."""

import json
from pathlib import Path
from typing import Any

from ...reference.plan import Plan
from ..driver import Refusal, Settings
from .honest import Honest


class TakesAnyState(Honest):
    """Reads where to go on, and nothing of whose state it is."""

    clause, fault, also = "C4.7", 54, ("C3.6",)

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on at the position."""
        self.consumed, self.steps = min(states[0]["consumed"], self.plan.length), states[0]["step"]


class ComparesPart(Honest):
    """Compares a part of the past alone."""

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on where what is compared is the same."""
        state = states[0]
        if state["consumed"] > self.plan.length or self.part(state["plan"]) != self.part(self.plan.cut(state["consumed"]).to_json()):
            raise Refusal("the state is of another run: look at seed, rule, grid, lengths and weights of phases, sources and skips")
        self.consumed, self.steps = state["consumed"], state["step"]

    def part(self, plan: dict[str, Any]) -> Any:
        """Return what is compared."""
        raise NotImplementedError


class KnowsCorporaByName(ComparesPart):
    """Compares the names and lengths of corpora, not what is in them."""

    clause, fault, also = "C4.7", 54, ("C3.6",)

    def part(self, plan: dict[str, Any]) -> Any:
        """Return the plan without the hashes of its corpora."""
        plan = json.loads(json.dumps(plan))
        for source in plan["sources"]:
            source["corpora"] = [(corpus["name"], corpus["tokens"]) for corpus in source["corpora"]]
        return plan


class ForgetsTheSeed(ComparesPart):
    """Compares the data and the mixture, not the seed."""

    clause, fault, also = "C4.7", 55, ()

    def part(self, plan: dict[str, Any]) -> Any:
        """Return the plan without its seed."""
        return plan | {"seed": 0}


class ForgetsSkips(ComparesPart):
    """Compares all but what was passed over."""

    clause, fault, also = "C4.7", 55, ()

    def part(self, plan: dict[str, Any]) -> Any:
        """Return the plan without its skips."""
        return plan | {"skips": []}


class ForgetsTheOrderOfAUnion(ComparesPart):
    """Compares the corpora of a source as a set, though their order decides which window has which number."""

    clause, fault, also = "C4.7", 55, ()

    def part(self, plan: dict[str, Any]) -> Any:
        """Return the plan with the corpora of each source in order of their names."""
        sources = [source | {"corpora": sorted(source["corpora"], key=lambda corpus: str(corpus["name"]))} for source in plan["sources"]]
        return plan | {"sources": sources}


class SaysNoField(Honest):
    """Refuses the state of another past, and does not say how it differs."""

    clause, fault, also = "C4.7", 54, ()

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Refuse in a few words."""
        try:
            super().restore(states)
        except Refusal:
            raise Refusal("the state is of another run") from None


class RefusesEveryOtherPlan(Honest):
    """Compares whole plans, so that nothing to come can be changed."""

    clause, fault, also = "C4.8", None, ()

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Refuse where anything differs."""
        super().restore(states)
        if states[0]["plan_hash"] != self.plan.plan_hash:
            raise Refusal("the state is of another plan")


class PinsFolders(Honest):
    """Takes the folder in which the corpora lie for a part of what they are."""

    clause, fault, also = "C4.8", 55, ()

    def state(self) -> dict[str, Any]:
        """Return the state, and where the corpora are."""
        return super().state() | {"folder": str(self.corpus)}

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Refuse where they have moved."""
        if states[0].pop("folder") != str(self.corpus):
            raise Refusal("the state is of other corpora")
        super().restore(states)


class StaleCache(Honest):
    """Keeps what it has planned in a file named by the sources and the length of the run, and finds it again after a change of weights."""

    clause, fault, also = "C4.8", 56, ("C4.7",)

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Return the plan that was kept, or make one and keep it."""
        kept = self.workdir / f"{'-'.join(sorted(settings.sources))}-{settings.seq_len}-{settings.length}.json"
        if kept.exists():
            return Plan.load(kept)
        plan = super().make_plan(corpus, settings)
        if plan.length:
            plan.save(kept)
        return plan


class RestartsWhenMoved(Honest):
    """Takes the state of corpora in another folder for none, and begins anew."""

    clause, fault, also = "C4.8", 55, ()

    def state(self) -> dict[str, Any]:
        """Return the state, and where the corpora are."""
        return super().state() | {"folder": str(self.corpus)}

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on where they have not moved."""
        folder = states[0].pop("folder")
        super().restore(states)
        if folder != str(self.corpus):
            self.consumed = self.steps = 0


class SaysEveryField(Honest):
    """Refuses the state of another past, and says every time that any field may differ."""

    clause, fault, also = "C4.7", 54, ()

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Refuse in one sentence for all."""
        try:
            super().restore(states)
        except Refusal:
            fields = "seed, seq_len, grid, rule, sources, corpora, lengths of phases, weights, skips"
            raise Refusal(f"expected a state of this run, found another: {fields} may differ") from None
