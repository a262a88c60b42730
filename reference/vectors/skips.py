"""Cases of A5: samples that are passed over."""

from collections.abc import Iterable
from typing import Any

from ..blend import FURTHEST_BEHIND
from .case import Case
from .plans import Json, plan
from .resolve import results

CLAUSES = ["C1.10"]
__all__ = ["CASES", "CLAUSES", "results"]

TWO = {"a": 61, "b": 45}
HALVES = {"a": 1, "b": 1}
THIRDS = {"a": 2, "b": 1}
RARE = {"rare": 41, "rest": 4001}


def _case(id: str, comment: str, plan: Json, positions: Iterable[int], **known: Any) -> Case:
    return Case(f"skips-{id}", comment, {"plan": plan, "positions": list(positions)}, known=known)


def _one(skips: Iterable[tuple[int, int]], length: int = 9) -> Json:
    """One phase over two sources."""
    return plan(4, TWO, [(length, THIRDS)], skips=skips)


def _three(skips: Iterable[tuple[int, int]]) -> Json:
    """Three phases: positions 0 to 4, 5 to 8, 9 to 13."""
    return plan(4, TWO, [(5, HALVES), (4, {"b": 1}), (5, THIRDS, FURTHEST_BEHIND)], skips=skips)


def _epochs(skips: Iterable[tuple[int, int]]) -> Json:
    """One source of five windows."""
    return plan(4, {"a": 21}, [(10, {"a": 1})], skips=skips)


CASES = [
    _case("none", "the run that the next cases pass over parts of", _one([]), range(9)),
    _case("at-0", "before the first position", _one([(0, 2)]), range(9)),
    _case("inside", "in the middle: the phase still serves its length", _one([(4, 3)]), range(9)),
    _case("last-position", "before the last position", _one([(8, 5)]), range(9)),
    _case("at-0-and-last", "before the first and before the last", _one([(0, 1), (8, 1)]), range(9)),
    _case("neighbours", "before one position and before the next", _one([(3, 1), (4, 2)]), range(9)),
    _case("every-position", "before each position: every other sample is served", _one([(at, 1) for at in range(9)]), range(9)),
    _case("several", "several in a phase, of several lengths", _one([(1, 2), (3, 1), (7, 4)]), range(9)),
    _case("more-than-a-period", "more than a period of the blend", _one([(2, 7)]), range(9)),
    _case("more-than-the-phase", "more than the phase serves", _one([(2, 20)]), range(9)),
    _case("border", "at a border: it belongs to the phase that begins there", _three([(5, 2)]), range(14)),
    _case("before-border", "one position before a border: it belongs to the phase that ends", _three([(4, 2)]), range(14)),
    _case("both-sides", "on both sides of a border, and one after it", _three([(4, 1), (5, 1), (6, 1)]), range(14)),
    _case("every-phase", "at 0 and at every border", _three([(0, 3), (5, 2), (9, 1)]), range(14)),
    _case("absent-source", "in a phase without one source: that one keeps its cursor", _three([(6, 3)]), range(14)),
    _case("last-phase", "in the last phase, before its last position", _three([(13, 2)]), range(14)),
    _case(
        "phase-of-one",
        "a phase of one position that passes over three samples",
        plan(4, TWO, [(3, HALVES), (1, HALVES), (3, HALVES)], skips=[(3, 3)]),
        range(7),
    ),
    _case(
        "rare-passed-over",
        "the only draw of the rare source so far is passed over",
        plan(4, RARE, [(900, {"rare": 1, "rest": 99})], skips=[(49, 1)]),
        [0, 47, 48, 49, 50, 147, 148, 149, 899],
    ),
    _case(
        "rare-beside",
        "and here the sample before it",
        plan(4, RARE, [(900, {"rare": 1, "rest": 99})], skips=[(48, 1)]),
        [0, 47, 48, 49, 50, 147, 148, 149, 899],
    ),
    _case("rest-of-an-epoch", "the last three windows of the first epoch", _epochs([(2, 3)]), range(10)),
    _case("across-epochs", "from one epoch into the next", _epochs([(4, 2)]), range(10)),
    _case("whole-epoch", "exactly one epoch: offsets stay, the epoch is the next", _epochs([(2, 5)]), range(10)),
    _case("first-of-an-epoch", "the first window of the second epoch", _epochs([(5, 1)]), range(10)),
    _case("union", "in a union", plan(4, {"u": {"x": 13, "y": 22}}, [(8, {"u": 1})], skips=[(3, 2)]), range(8)),
    _case("furthest-behind", "with the other rule", plan(4, TWO, [(9, THIRDS, FURTHEST_BEHIND)], skips=[(4, 3)]), range(9)),
    _case(
        "long",
        "a thousand million samples far into a long run",
        plan(
            4096,
            {"a": 2 * 10**14, "b": 10**12},
            [(10**10, {"a": 999, "b": 1})],
            skips=[(6 * 10**9, 10**9), (6 * 10**9 + 1, 1)],
            repeated=["b"],
        ),
        [0, 6 * 10**9 - 1, 6 * 10**9, 6 * 10**9 + 1, 10**10 - 1],
    ),
]
