"""Cases of A5: from positions to tokens."""

from collections.abc import Iterable
from typing import Any

from ..blend import FURTHEST_BEHIND
from .case import Case
from .plans import Json, PhaseInBrief, Sources, opened, plan

CLAUSES = ["D0.1", "D0.3", "C1.2", "C1.3", "C1.6", "C1.8", "C3.3", "C3.4"]


def results(plan: Json, positions: list[int]) -> dict[str, Any]:
    """Return the sample at each position, after seeing that its draw leads back to it."""
    run = opened(plan)
    samples = [run.resolve(position) for position in positions]
    if [run.resolver.position(sample.source, sample.draw) for sample in samples] != positions:
        raise AssertionError(f"the draws of {samples} do not lead back to {positions}")
    return {
        "samples": [
            {
                "source": sample.source,
                "epoch": sample.epoch,
                "offset": sample.offset,
                "window": sample.window,
                "part": sample.part,
                "spans": [[span.corpus, span.first, span.length] for span in sample.spans],
            }
            for sample in samples
        ]
    }


def _case(id: str, comment: str, plan: Json, positions: Iterable[int], refused: str = "", **known: Any) -> Case:
    return Case(f"resolve-{id}", comment, {"plan": plan, "positions": list(positions)}, refused, known)


FIVE = {"a": 4000, "b": 1000, "c": 700, "d": 650, "e": 333}
FIVE_WEIGHTS = {"a": 12, "b": 3, "c": 2, "d": 2, "e": 1}
LARGE: Sources = {"books": 26_000_000_001, "code": 310_000_000_007, "web": {"web-0": 900_000_000_000, "web-1": 1_234_567_890_123}}
LARGE_WEIGHTS = {"books": 3, "code": 18, "web": 79}
PHASED = {"a": 41, "b": 29, "c": 23}
PHASES: list[PhaseInBrief] = [(7, {"a": 2, "b": 1}), (6, {"b": 1, "c": 1}), (1, {"c": 1}), (9, {"a": 1, "b": 3, "c": 2}, FURTHEST_BEHIND)]
NAMES = {"z": 21, "\U0001f600": 21, "\uff5e": 21, "\u00e9": 21, "e\u0301": 21}
RUN_TO_THE_END = 500_000_000
ONE_WINDOW = [{"source": "a", "epoch": epoch, "offset": 0, "window": 0, "part": 0, "spans": [["a", 0, 5]]} for epoch in range(4)]

CASES = [
    _case(
        "one-window",
        "a source of one window begins an epoch at each draw",
        plan(4, {"a": 5}, [(4, {"a": 1})]),
        range(4),
        samples=ONE_WINDOW,
    ),
    _case("two-windows", "epochs of two windows", plan(4, {"a": 9}, [(8, {"a": 1})]), range(8)),
    _case("epochs", "three epochs of seven windows, each of them whole", plan(3, {"a": 22}, [(21, {"a": 1})]), range(21)),
    _case("many-epochs", "four hundred epochs", plan(4, {"a": 29}, [(2800, {"a": 1})], repeated="a"), [0, 6, 7, 1399, 1400, 2793, 2799]),
    _case("exact-length", "kL + 1 tokens are k windows", plan(4, {"a": 17}, [(4, {"a": 1})]), range(4)),
    _case("one-token-short", "kL tokens are k - 1 windows", plan(4, {"a": 16}, [(4, {"a": 1})]), range(4)),
    _case("one-token-more", "what follows the last whole window is in none", plan(4, {"a": 20}, [(4, {"a": 1})]), range(4)),
    _case("seq-len-1", "windows of two tokens", plan(1, {"a": 6}, [(6, {"a": 1})]), range(6)),
    _case("seq-len-8192", "long windows, spans past 2^31", plan(8192, {"a": 5_000_000_000}, [(600_000, {"a": 1})]), [0, 1, 2, 599_999]),
    _case("union", "three corpora under one permutation", plan(4, {"u": {"x": 13, "y": 22, "z": 9}}, [(11, {"u": 1})]), range(11)),
    _case(
        "union-reordered",
        "the order listed decides where a window lies",
        plan(4, {"u": {"z": 9, "x": 13, "y": 22}}, [(11, {"u": 1})]),
        range(11),
    ),
    _case(
        "union-renamed", "another name of the union, another order", plan(4, {"v": {"x": 13, "y": 22, "z": 9}}, [(11, {"v": 1})]), range(11)
    ),
    _case(
        "union-without-windows",
        "corpora too short for a window, at every place of a union",
        plan(4, {"u": {"w": 4, "x": 9, "y": 1, "z": 13, "zz": 3}}, [(10, {"u": 1})]),
        range(10),
    ),
    _case(
        "union-and-tails", "no window crosses from one corpus to the next", plan(5, {"u": {"x": 10, "y": 19}}, [(8, {"u": 1})]), range(8)
    ),
    _case("printed-weights", "one period of the weights printed in A4", plan(16, FIVE, [(60, FIVE_WEIGHTS)]), range(20)),
    _case("furthest-behind", "the same with the other rule", plan(16, FIVE, [(60, FIVE_WEIGHTS, FURTHEST_BEHIND)]), range(20)),
    _case("seed-0", "the smallest seed", plan(16, FIVE, [(60, FIVE_WEIGHTS)], seed=0), range(0, 60, 7)),
    _case("seed-2-to-64-less-1", "the largest seed", plan(16, FIVE, [(60, FIVE_WEIGHTS)], seed=(1 << 64) - 1), range(0, 60, 7)),
    _case(
        "equal-sizes", "two sources of equal size have different orders", plan(4, {"a": 33, "b": 33}, [(16, {"a": 1, "b": 1})]), range(16)
    ),
    _case(
        "names",
        "ties by UTF-8 bytes: z, e and an accent, e with accent, U+FF5E, U+1F600",
        plan(4, NAMES, [(10, dict.fromkeys(NAMES, 1))]),
        range(10),
    ),
    _case(
        "mixture-change",
        "1:1, then 2:1: both sources go on at their cursors",
        plan(4, {"a": 41, "b": 41}, [(5, {"a": 1, "b": 1}), (9, {"a": 2, "b": 1})]),
        range(14),
    ),
    _case(
        "same-mixture-again",
        "a phase starts its blend afresh, also with the same weights",
        plan(4, {"a": 41, "b": 41}, [(3, {"a": 2, "b": 1}), (4, {"a": 2, "b": 1}), (5, {"a": 2, "b": 1})]),
        range(12),
    ),
    _case(
        "absent-sources",
        "sources that are absent from a phase keep their place; one phase has one position",
        plan(4, PHASED, PHASES),
        range(23),
    ),
    _case(
        "epoch-inside-a-phase",
        "epochs end inside phases, and cursors carry the offset over",
        plan(4, {"a": 13, "b": 9}, [(5, {"a": 1, "b": 1}), (4, {"a": 1}), (7, {"a": 1, "b": 2})]),
        range(16),
    ),
    _case(
        "permille",
        "one in a thousand comes in the middle of its period",
        plan(4, {"rare": 41, "rest": 9000}, [(2500, {"rare": 1, "rest": 999})]),
        [0, 1, 498, 499, 500, 501, 999, 1499, 1500, 2499],
    ),
    _case(
        "shorter-than-a-period",
        "phases that end before a period does",
        plan(
            4,
            {"rare": 41, "rest": 9000},
            [(501, {"rare": 1, "rest": 999}), (499, {"rare": 1, "rest": 999}), (501, {"rare": 1, "rest": 999})],
        ),
        [0, 499, 500, 501, 999, 1000, 1499, 1500],
    ),
    _case(
        "long-run",
        "5 x 10^8 positions in two phases: ends, borders and the middle",
        plan(4096, LARGE, [(450_000_000, LARGE_WEIGHTS), (50_000_000, {"books": 13, "code": 40, "web": 47})], repeated=["books"]),
        [0, 1, 249_999_999, 449_999_999, 450_000_000, 450_000_001, RUN_TO_THE_END - 1],
    ),
    _case(
        "longest-run",
        "2^48 positions",
        plan(1, {"a": (1 << 48) - 1, "b": 3}, [(1 << 48, {"a": 1048575, "b": 1})], repeated=["b"]),
        [0, 524286, 524287, 524288, (1 << 47), (1 << 48) - 1],
    ),
    _case(
        "largest-source",
        "2^48 windows",
        plan(1, {"u": {"x": 1 << 48, "y": 2}}, [(1 << 48, {"u": 1})]),
        [0, 1, (1 << 48) - 2, (1 << 48) - 1],
    ),
    _case(
        "refused-end", "the run's length is no position", plan(4, {"a": 41}, [(10, {"a": 1})]), [9, 10], "position 10 is past the run's end"
    ),
]
