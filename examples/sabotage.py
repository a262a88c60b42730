"""Loaders with one planted fault each, to see that prove.py reports it: only `train.py --sabotage NAME` uses them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fivepoint.reference import checkpoint
from fivepoint.reference.plan import Plan

State = dict[str, Any] | None


def prefetched(plan: Plan, state: State) -> State:
    """Resume as if the two steps that a loader had read ahead when its state was saved had been trained on (fault 4)."""
    if state is None:
        return None
    consumed = state["consumed"]
    for _ in range(2):
        consumed += plan.batch_size(consumed) or 0
    return checkpoint.make(plan, consumed, state["step"])


def cursors(plan: Plan, state: State) -> State:
    """Begin every source afresh in every phase, as if a change of weights were a change of data (fault 14)."""
    stretches = plan.resolver.stretches
    stretches[:] = [replace(stretch, base=(0,) * len(plan.sources)) for stretch in stretches]
    return state


FAULTS: dict[str, Callable[[Plan, State], State]] = {"prefetched": prefetched, "cursors": cursors}
"""What each does to the plan as the loader sees it, and the state that the loader is given in place of the saved one."""
