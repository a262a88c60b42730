"""The suite's own order against the golden vectors, wherever it can walk that far."""

from typing import Any

import pytest

from fivepoint import spec
from fivepoint.conformance import order
from fivepoint.conformance.case import Case
from fivepoint.conformance.corpora import CorpusSpec
from fivepoint.conformance.driver import Phase, Settings

# How many cases of each file are reached; the others are refusals, lie too far on, or vary what Settings does not.
REACHED = {"permutation": 85, "weights": 26, "blend": 35, "resolve": 24, "skips": 19}
FARTHEST = 20_000


def reached(of: str, case: dict[str, Any]) -> bool:
    if "refused" in case:
        return False
    if of in ("resolve", "skips"):
        phases, skipped = case["plan"]["phases"], sum(count for _, count in case["plan"]["skips"])
        return max(case["positions"]) + skipped <= FARTHEST and len({phase["rule"] for phase in phases}) == 1
    return of != "blend" or len(case["weights"]) <= 100


CASES = [pytest.param(of, case, id=case["id"]) for of in REACHED for case in spec.vectors(of)["cases"] if reached(of, case)]


def test_as_many_cases_are_reached_as_ever() -> None:
    assert {of: sum(param.values[0] == of for param in CASES) for of in REACHED} == REACHED


@pytest.mark.parametrize(("of", "case"), CASES)
def test_the_suites_order_gives_the_results(of: str, case: dict[str, Any]) -> None:
    CHECKS[of](case)


def check_permutation(case: dict[str, Any]) -> None:
    permutation = order.Permutation(case["n"], case["seed"], *case["key"])
    assert [permutation(x) for x in case["x"]] == case["y"]


def check_weights(case: dict[str, Any]) -> None:
    assert order.integer_weights(case["decimals"], case["limit"]) == case["weights"]


def check_blend(case: dict[str, Any]) -> None:
    turns = order.turns(case["weights"], case["rule"])
    near = [i for i, q in enumerate(case["q"]) if q <= FARTHEST]
    sequence = [next(turns) for _ in range(max(case["q"][i] for i in near) + 1)]
    for i in near:
        q, source, draw = case["q"][i], case["source"][i], case["draw"][i]
        assert (sequence[q], sequence[:q].count(source)) == (source, draw), f"q = {q}"


def check_resolve(case: dict[str, Any]) -> None:
    run = order.served(case_of(case["plan"]))
    wanted = set(case["positions"])
    found = {}
    while len(found) < len(wanted):
        sample = next(run)
        if sample.position in wanted:
            found[sample.position] = sample
    for position, expected in zip(case["positions"], case["samples"], strict=True):
        sample = found[position]
        ((corpus, first, _),) = expected["spans"]
        got = (sample.source, sample.epoch, sample.offset, sample.window, sample.corpus, sample.token)
        wanted_sample = (*(expected[name] for name in ("source", "epoch", "offset", "window")), f"{sample.source}/{corpus}", first)
        assert got == wanted_sample, f"position {position}"


def case_of(plan: dict[str, Any]) -> Case:
    """Return the case whose order is that of a plan; corpora of different sources may have one name there."""
    specs = tuple(
        CorpusSpec(f"{source['name']}/{corpus['name']}", (corpus["tokens"],)) for source in plan["sources"] for corpus in source["corpora"]
    )
    sources = {source["name"]: [f"{source['name']}/{corpus['name']}" for corpus in source["corpora"]] for source in plan["sources"]}
    phases = [Phase(phase["length"], {name: str(weight) for name, weight in phase["weights"].items()}) for phase in plan["phases"]]
    skips = [(at, count) for at, count in plan["skips"]]
    first = plan["phases"][0]
    return Case(specs, Settings(plan["seed"], first["grid"], sources, phases, skips, rule=first["rule"]))


CHECKS = {
    "permutation": check_permutation,
    "weights": check_weights,
    "blend": check_blend,
    "resolve": check_resolve,
    "skips": check_resolve,
}
