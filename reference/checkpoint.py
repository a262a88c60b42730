"""The state of a loader: what it holds, and when a plan accepts it (F4; C4.1, C4.7, C4.8)."""

from typing import Any

from ..errors import CheckpointError, PlanError
from .canonical import canonical, digest
from .plan import Plan
from .schema import validate


def make(plan: Plan, consumed: int, step: int) -> dict[str, Any]:
    """Return the state of a loader that has committed `step` steps, and with them `consumed` samples, of `plan`."""
    cut = plan.cut(consumed).to_json()
    return {
        "format": "fivepoint-checkpoint",
        "version": 1,
        "consumed": consumed,
        "step": step,
        "plan_hash": plan.plan_hash,
        "prefix_hash": digest(cut),
        "plan": cut,
    }


def accept(plan: Plan, state: dict[str, Any], override: str | None = None) -> tuple[int, int, tuple[str, ...]]:
    """Return (consumed, step, fields that differ) of a state that `plan` goes on from.

    Raises CheckpointError for a malformed state, one beyond the plan's end, and one of another past, whose differing fields it names;
    `override`, the reason for going on all the same, lifts only the last.
    """
    validate(state, "checkpoint", "the checkpoint", CheckpointError)
    consumed = state["consumed"]
    _expect_sound(state)
    if consumed > plan.length:
        raise CheckpointError(
            f"expected a checkpoint within the plan's {plan.length} positions, found consumed = {consumed}; resume it with the plan "
            "that wrote it, or with a longer one"
        )
    past = plan.cut(consumed).to_json()
    if digest(past) == state["prefix_hash"]:
        return consumed, state["step"], ()
    fields = tuple(differences(state["plan"], past))
    if override:
        return consumed, state["step"], fields
    shown = "; ".join(fields[:5]) + (f"; and {len(fields) - 5} more" if len(fields) > 5 else "")
    raise CheckpointError(
        f"the checkpoint, at consumed = {consumed}, was written under another past than this plan's: {shown}; resume it with the "
        f"plan that wrote it (plan_hash {state['plan_hash']})",
        fields=tuple(field.partition(":")[0] for field in fields),
    )


def differences(before: Any, after: Any, path: str = "") -> list[str]:
    """Return a line `field: checkpoint has X, plan has Y` for each leaf in which two cuts differ; entries with a name are matched by it."""
    ordered = isinstance(before, list) and isinstance(after, list)
    if ordered:
        before, after = _by_name(before), _by_name(after)
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return [] if before == after else [f"{path}: checkpoint has {_short(before)}, plan has {_short(after)}"]
    found = []
    for key in sorted(before.keys() | after.keys(), key=str):
        inner = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else str(key)
        found += differences(before.get(key, _ABSENT), after.get(key, _ABSENT), inner)
    # A list whose entries are all there, in another order: the order decides too.
    if ordered and not found and list(before) != list(after):
        found.append(f"{path}: checkpoint has the order {', '.join(map(str, before))}, plan has {', '.join(map(str, after))}")
    return found


_ABSENT = object()


def _by_name(items: list[Any]) -> dict[Any, Any]:
    if items and all(isinstance(item, dict) and "name" in item for item in items):
        return {item["name"]: item for item in items}
    return dict(enumerate(items))


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    text = str(value)
    return text if len(text) <= 72 else f"{text[:69]}..."


def _expect_sound(state: dict[str, Any]) -> None:
    try:
        canonical(state)  # a schema takes 120.0 for an integer, and no hash does
        length = Plan.from_json(state["plan"], "the checkpoint's plan").length
        intact = digest(state["plan"]) == state["prefix_hash"]
    except (PlanError, ValueError, TypeError) as reason:
        raise CheckpointError(f"the checkpoint is damaged: {reason}; resume from an earlier checkpoint") from reason
    if not intact or length != state["consumed"]:
        raise CheckpointError(
            f"the checkpoint contradicts itself: its plan ends at position {length}, consumed is {state['consumed']}, "
            f"and prefix_hash does {'' if intact else 'not '}match; resume from an earlier checkpoint"
        )
