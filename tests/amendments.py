"""Hypothesis strategies over changes of a plan at `consumed`: of its future, which are free, and of its past, which are not."""

from copy import deepcopy
from itertools import accumulate
from math import gcd
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from independent.run import taken
from plans import corpora_of, length_of, make_plan, phase, read
from random_plans import RULES, weights

Json = dict[str, Any]


@st.composite
def futures(draw: st.DrawFn, plan: Json, consumed: int, pool: list[Path]) -> tuple[str, Json]:
    """Return the kind of a change from `consumed` on, and the plan with it."""
    kinds = [longer, shorter, later_skip, other_weights, new_source, other_batch_sizes]
    change = draw(st.sampled_from(kinds))
    parts = deepcopy(plan)
    change(draw, parts, consumed, pool)
    amended = rebuilt(parts)
    return (change.__name__, amended) if draws_every_source(amended) else ("nothing", plan)


@st.composite
def pasts(draw: st.DrawFn, plan: Json, consumed: int) -> tuple[str, Json]:
    """Return the field of a change before `consumed`, and the plan with it."""
    changes = {"seed": other_seed}
    if consumed:
        changes |= {"rule": other_rule, "weights": other_weight, "skips": earlier_skip, "sources": other_name}
    if ends_before(plan, consumed):
        changes["length"] = other_border
    if unions(plan, consumed):
        changes["corpora"] = other_order
    field = draw(st.sampled_from(sorted(changes)))
    parts = deepcopy(plan)
    changes[field](draw, parts, consumed)
    amended = rebuilt(parts)
    if amended == rebuilt(plan) or not draws_every_source(amended):
        field, amended = "seed", {**plan, "seed": plan["seed"] ^ 1}
    return field, amended


def longer(draw: st.DrawFn, plan: Json, consumed: int, pool: list[Path]) -> None:
    """The last phase goes on."""
    plan["phases"][-1]["length"] += draw(st.integers(1, 50))


def shorter(draw: st.DrawFn, plan: Json, consumed: int, pool: list[Path]) -> None:
    """The run ends earlier, where it stands perhaps."""
    end = draw(st.integers(max(1, consumed, length_of(plan) - 40), length_of(plan)))
    plan["phases"] = before(plan, end)
    plan["skips"] = [skip for skip in plan["skips"] if skip[0] < end]


def later_skip(draw: st.DrawFn, plan: Json, consumed: int, pool: list[Path]) -> None:
    """Samples to come are passed over, the very next ones perhaps."""
    if consumed < length_of(plan):
        at = consumed + draw(st.integers(0, min(20, length_of(plan) - consumed - 1)))
        add_skip(plan, at, draw(st.integers(1, 9)))


def other_weights(draw: st.DrawFn, plan: Json, consumed: int, pool: list[Path]) -> None:
    """From here on, another mixture of the same sources."""
    names = [source["name"] for source in plan["sources"]]
    insert(draw, plan, consumed, draw(st.lists(st.sampled_from(names), min_size=1, unique=True)))


def new_source(draw: st.DrawFn, plan: Json, consumed: int, pool: list[Path]) -> None:
    """From here on, a source that the run has not seen: before, between or after the others by name."""
    names = [source["name"] for source in plan["sources"]]
    used = {folder for folders in plan["paths"].values() for folder in folders}
    seq_len = plan["phases"][0]["seq_len"]
    free = [folder for folder in pool if str(folder) not in used and read(folder).windows(seq_len)]
    name = draw(st.sampled_from([name for name in ("0", "m", "ü") if name not in names] or [None]))
    if free and name:
        plan["paths"][name] = [str(draw(st.sampled_from(free)))]
        insert(draw, plan, consumed, [*draw(st.lists(st.sampled_from(names), unique=True)), name])


def other_batch_sizes(draw: st.DrawFn, plan: Json, consumed: int, pool: list[Path]) -> None:
    """From here on, steps of another size."""
    if "batch_sizes" in plan:
        kept = [pair for pair in plan["batch_sizes"] if pair[0] < max(1, consumed)]
        plan["batch_sizes"] = kept[:1] if not consumed else [*kept, [consumed, draw(st.sampled_from([12, 24, 36]))]]


def other_seed(draw: st.DrawFn, plan: Json, consumed: int) -> None:
    """Another seed."""
    plan["seed"] ^= 1 << draw(st.integers(0, 63))


def other_rule(draw: st.DrawFn, plan: Json, consumed: int) -> None:
    """A phase that began was blended by the other rule."""
    began = draw(st.sampled_from(begun(plan, consumed)))
    began["rule"] = {"earliest-deadline": "furthest-behind", "furthest-behind": "earliest-deadline"}[began["rule"]]


def other_weight(draw: st.DrawFn, plan: Json, consumed: int) -> None:
    """A source of a phase that began had more weight."""
    weights = draw(st.sampled_from(begun(plan, consumed)))["weights"]
    name = draw(st.sampled_from(sorted(weights)))
    if len(weights) > 1:
        weights[name] += 1
        while gcd(*weights.values()) != 1:
            weights[name] += 1


def earlier_skip(draw: st.DrawFn, plan: Json, consumed: int) -> None:
    """Samples that were served had been passed over."""
    add_skip(plan, draw(st.integers(0, consumed - 1)), draw(st.integers(1, 3)))


def other_border(draw: st.DrawFn, plan: Json, consumed: int) -> None:
    """A phase that ended had lasted longer."""
    draw(st.sampled_from(ends_before(plan, consumed)))["length"] += 1


def other_name(draw: st.DrawFn, plan: Json, consumed: int) -> None:
    """A source of a phase that began has another name."""
    name = draw(st.sampled_from(sorted({name for part in begun(plan, consumed) for name in part["weights"]})))
    plan["paths"][name + "!"] = plan["paths"].pop(name)
    for part in plan["phases"]:
        if name in part["weights"]:
            part["weights"][name + "!"] = part["weights"].pop(name)


def other_order(draw: st.DrawFn, plan: Json, consumed: int) -> None:
    """A union of a phase that began joins its corpora in another order."""
    plan["paths"][draw(st.sampled_from(unions(plan, consumed)))].reverse()


def insert(draw: st.DrawFn, plan: Json, consumed: int, names: list[str]) -> None:
    """From `consumed` to the end of its phase, or past the end of the run, a phase that weighs these sources."""
    ends = list(accumulate(part["length"] for part in plan["phases"]))
    number = next((number for number, end in enumerate(ends) if end > consumed), None)
    length = draw(st.integers(1, 60)) if number is None else ends[number] - consumed
    rest = [] if number is None else plan["phases"][number + 1 :]
    drawn = draw(weights(names, st.integers(1, 5)))
    plan["phases"] = [*before(plan, consumed), phase(length, drawn, plan["phases"][0]["seq_len"], draw(RULES)), *rest]


def before(plan: Json, end: int) -> list[Json]:
    """Return the phases up to position `end`."""
    found = []
    start = 0
    for part in plan["phases"]:
        if start < end:
            found.append({**part, "length": min(part["length"], end - start)})
        start += part["length"]
    return found


def begun(plan: Json, consumed: int) -> list[Json]:
    """Return the phases of which something was served."""
    return plan["phases"][: len(before(plan, consumed))]


def ends_before(plan: Json, consumed: int) -> list[Json]:
    """Return the phases that ended, and were followed by something that was served."""
    return begun(plan, consumed)[:-1]


def unions(plan: Json, consumed: int) -> list[str]:
    """Return the sources of phases that began that join several corpora."""
    names = {name for part in begun(plan, consumed) for name in part["weights"]}
    return sorted(name for name in names if len(plan["paths"][name]) > 1)


def add_skip(plan: Json, at: int, count: int) -> None:
    """Pass over `count` samples more before `at`."""
    skips = dict(plan["skips"])
    plan["skips"] = sorted([place, total] for place, total in {**skips, at: skips.get(at, 0) + count}.items())


def rebuilt(plan: Json) -> Json:
    """Return the plan in order, with the sources that its phases weigh."""
    names = {name for part in plan["phases"] for name in part["weights"]}
    sources = {name: [Path(folder) for folder in plan["paths"][name]] for name in sorted(names)}
    return make_plan(sources, plan["phases"], seed=plan["seed"], skips=plan["skips"], batch_sizes=plan.get("batch_sizes"))


def draws_every_source(plan: Json) -> bool:
    """Whether no source is refused for never being drawn (C1.12)."""
    return {sample.source for sample, _ in taken(plan, corpora_of(plan))} == set(plan["paths"])
