"""Cases of F3: cuts, and the identity of what a run has seen."""

from typing import Any

from ..blend import FURTHEST_BEHIND
from ..canonical import canonical
from .case import Case
from .plans import Json, Sources, opened, plan

CLAUSES = ["C3.5", "C4.7", "C4.8"]


def results(plan: Json, consumed: int) -> dict[str, Any]:
    """Return the canonical text of the cut, and its hash."""
    run = opened(plan)
    return {"cut": canonical(run.cut(consumed).to_json()).decode("utf-8"), "prefix_hash": run.prefix_hash(consumed)}


def _case(id: str, comment: str, plan: Json, consumed: int, refused: str = "", **known: Any) -> Case:
    return Case(f"prefix-hash-{id}", comment, {"plan": plan, "consumed": consumed}, refused, known)


def _run(skips: list[tuple[int, int]], **rest: Any) -> Json:
    """Two phases: positions 0 to 9, and 10 to 15 with a source more."""
    return plan(16, SOURCES, [(10, {"a": 1}), (6, {"a": 3, "b": 1}, FURTHEST_BEHIND)], skips=skips) | rest


SOURCES: Sources = {"a": 333, "b": 222}
PLAIN = _run([])
SKIPS = _run([(0, 1), (4, 2), (10, 3), (15, 1)])
REST = {
    "batch_sizes": [[0, 2], [8, 4]],
    "budgets": {"a": {"max_epochs": 2}, "b": {"repeats_signed_off": "golden vectors"}},
    "paths": {"a": ["data/a"], "b": ["data/b"]},
}
EMPTY = '{"format":"fivepoint-plan","phases":[],"seed":1234,"skips":[],"sources":[],"version":1}'
LONG = plan(
    4096,
    {"web": 2_134_567_890_123},
    [(1 << 40, {"web": 1}), ((1 << 48) - (1 << 40) - (1 << 20), {"web": 1})],
    skips=[((1 << 47), 1 << 20)],
    repeated=["web"],
)
NAMES = plan(
    16, {"\U0001f600": 555, "\uff5e": 444, "z\u2028": 333}, [(4, {"\U0001f600": 1, "z\u2028": 2}), (4, {"\U0001f600": 3, "\uff5e": 2})]
)

CASES = [
    _case("0", "no phase, no source and no skip are left", PLAIN, 0, cut=EMPTY),
    _case("0-skip-at-0", "a skip at 0 is not yet of the past", SKIPS, 0, cut=EMPTY),
    _case("0-all-fields", "budgets, batch sizes and paths are never part of a cut", _run([(0, 1)], **REST), 0, cut=EMPTY),
    _case("1", "one position", PLAIN, 1),
    _case("1-skip-at-0", "the skip at 0 is of the past once position 0 was served", SKIPS, 1),
    _case("in-phase", "inside the first phase: the second source is not there yet", PLAIN, 4),
    _case("in-phase-all-fields", "the same cut, whatever the budgets, batch sizes and paths", _run([], **REST), 4),
    _case("border-less-1", "one position before a border", PLAIN, 9),
    _case("border", "at a border: the phase that begins there is left out, and its new source", PLAIN, 10),
    _case("border-plus-1", "one position after it: the source is there, drawn or not", PLAIN, 11),
    _case("end-less-1", "one position before the end", PLAIN, 15),
    _case("end", "the end: the whole plan", PLAIN, 16),
    _case("end-all-fields", "the end, without budgets, batch sizes and paths", _run([], **REST), 16),
    _case("skip-at-c", "a skip at c is of the future", SKIPS, 4),
    _case("skip-at-c-less-1", "a skip at c - 1 is of the past", SKIPS, 5),
    _case("skip-at-border", "a skip at a border, with the cut there", SKIPS, 10),
    _case("skip-at-border-less-1", "and with the cut one position later", SKIPS, 11),
    _case("skip-last", "the skip before the last position, with the cut before it", SKIPS, 15),
    _case("skips-all", "all skips, at the end", SKIPS, 16),
    _case("longer-run", "a longer run has the same past", plan(16, SOURCES, [(12, {"a": 1}), (9, {"a": 3, "b": 1}, FURTHEST_BEHIND)]), 4),
    _case(
        "other-future", "and so has one that goes on with another source", plan(16, {"a": 333, "c": 99}, [(4, {"a": 1}), (6, {"c": 1})]), 4
    ),
    _case("other-skip", "and one with a later skip", _run([(4, 9)]), 4),
    _case("other-seed", "another seed is another past", PLAIN | {"seed": 1235}, 4),
    _case("other-seed-0", "also at 0", PLAIN | {"seed": (1 << 64) - 1}, 0),
    _case("phase-split", "a border inside the past is part of it", plan(16, {"a": 333}, [(2, {"a": 1}), (4, {"a": 1})]), 4),
    _case(
        "middle-phase-of-one",
        "three phases, cut after one position of the last",
        plan(16, {"a": 333, "b": 99}, [(3, {"a": 1}), (1, {"b": 1}), (5, {"a": 1, "b": 1})]),
        5,
    ),
    _case(
        "source-gone",
        "a source that only a later phase weighs again stays, because a phase of the past weighs it",
        plan(16, {"a": 333, "b": 99}, [(3, {"b": 1}), (4, {"a": 1}), (5, {"b": 1})]),
        5,
    ),
    _case("long", "positions past 2^47", LONG, (1 << 47) + 1),
    _case("long-skip-at-c", "the same without the skip", LONG, 1 << 47),
    _case("long-border", "a border at 2^40", LONG, 1 << 40),
    _case("names", "names outside the Basic Multilingual Plane, and their order", NAMES, 6),
    _case("names-first-phase", "and with one source less", NAMES, 4),
    _case("refused-past-the-end", "one position past the end", PLAIN, 17, "17 is past the run's end"),
]
