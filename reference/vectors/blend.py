"""Cases of A4: both rules, rare sources, many sources, long periods."""

from typing import Any

from ..blend import EARLIEST_DEADLINE, FURTHEST_BEHIND, Blend
from .case import Case

CLAUSES = ["C1.1", "C1.2"]


def results(weights: list[int], rule: str, q: list[int]) -> dict[str, Any]:
    """Return source and draw of each q, after seeing that each leads back to it."""
    blend = Blend(weights, rule)
    found = [blend(each) for each in q]
    if [blend.position(*pair) for pair in found] != q:
        raise AssertionError(f"the positions of {found} are not {q}")
    worst = blend.worst_deviation
    return {
        "source": [source for source, _ in found],
        "draw": [draw for _, draw in found],
        "worst_deviation": [worst.numerator, worst.denominator],
    }


def _case(id: str, comment: str, weights: list[int], rule: str, q: list[int], **known: Any) -> Case:
    return Case(f"blend-{id}", comment, {"weights": weights, "rule": rule, "q": q}, known=known)


def _both(id: str, comment: str, weights: list[int], q: list[int]) -> list[Case]:
    return [_case(f"{id}-{rule}", comment, weights, rule, q) for rule in (EARLIEST_DEADLINE, FURTHEST_BEHIND)]


def _refused(id: str, refused: str, weights: list[int], rule: str = EARLIEST_DEADLINE) -> Case:
    return Case(f"blend-{id}", "no blend", {"weights": weights, "rule": rule, "q": [0]}, refused=refused)


def _far(period: int) -> list[int]:
    """Positions at the edges of periods, and many periods on."""
    near = [0, 1, 2, period // 2 - 1, period // 2, period - 2, period - 1, period, period + 1, 2 * period - 1]
    return sorted({*near, 10**12 - 1, 10**12, 10**12 + 1, (1 << 48) - 1})


PRINTED = [12, 3, 2, 2, 1]
CASES = [
    _case(
        f"printed-{EARLIEST_DEADLINE}",
        "one period, printed in A4",
        PRINTED,
        EARLIEST_DEADLINE,
        list(range(20)),
        source=[0, 0, 1, 0, 2, 0, 0, 3, 0, 1, 0, 0, 4, 0, 2, 0, 0, 3, 0, 1],
        draw=[0, 1, 0, 2, 0, 3, 4, 0, 5, 1, 6, 7, 0, 8, 1, 9, 10, 1, 11, 2],
    ),
    _case(
        f"printed-{FURTHEST_BEHIND}",
        "one period, printed in A4",
        PRINTED,
        FURTHEST_BEHIND,
        list(range(20)),
        source=[0, 1, 0, 0, 2, 0, 3, 0, 4, 0, 1, 0, 0, 0, 2, 0, 3, 0, 1, 0],
        draw=[0, 0, 1, 2, 0, 3, 0, 4, 0, 5, 1, 6, 7, 8, 1, 9, 1, 10, 2, 11],
    ),
    *_both("printed-far", "the same weights, periods later", PRINTED, _far(20)),
    *_both("one-source", "one source serves every position", [1], [0, 1, 2, 10**12, (1 << 48) - 1]),
    *_both("one-among-zeros", "the only source with weight keeps its number", [0, 0, 1, 0], [0, 1, 2, 10**12]),
    *_both("zeros", "sources of weight 0 keep their numbers and are never drawn", [0, 3, 0, 2, 0, 1], list(range(13))),
    *_both("two-equal", "a tie at every other position goes to the earlier source", [1, 1], [0, 1, 2, 3, 10**12, 10**12 + 1]),
    *_both("seven-equal", "a tie among all", [1] * 7, list(range(15))),
    *_both(
        "permille-first",
        "0.001 is drawn in the middle of its period, and not at once",
        [1, 999],
        [0, 1, 9, 99, 498, 499, 500, 501, 998, 999, 1499, 1999],
    ),
    *_both("permille-last", "the same with the rare source last", [999, 1], [0, 1, 9, 99, 498, 499, 500, 501, 998, 999, 1499, 1999]),
    *_both(
        "permille-four",
        "four rare sources beside one",
        [996, 1, 1, 1, 1],
        [0, 123, 124, 125, 249, 374, 375, 499, 500, 624, 749, 874, 875, 999, 1000],
    ),
    *_both("primes", "coprime primes: nothing but the gcd of 1 in common", [2, 3, 5, 7, 11, 13], list(range(42))),
    *_both("large-primes", "two primes with a period of 112,648", [7919, 104729], _far(112648)),
    *_both("small-first", "equal shares against one of half", [1, 1, 2], list(range(9))),
    *_both("large-first", "the same in another order", [2, 1, 1], list(range(9))),
    *_both("two-to-one", "two to one, as after a change of mixture: a phase starts its blend afresh", [2, 1], [0, 1, 2, 3, 4, 5, 10**12]),
    *_both("heavy", "one source of half and ten that share the rest", [10] + [1] * 10, list(range(41))),
    *_both("200-equal", "two hundred equal sources", [1] * 200, [0, 1, 99, 100, 198, 199, 200, 201, 10**12, (1 << 48) - 1]),
    *_both("300-rising", "three hundred sources of weights 1 to 300", list(range(1, 301)), [*range(0, 45150, 1505), *_far(45150)[-5:]]),
    *_both("2-to-20", "five sources with a period of 2^20", [524289, 262144, 131072, 131070, 1], _far(1 << 20)),
    _case(
        f"millionth-{EARLIEST_DEADLINE}",
        "10^-6 is drawn once in its period, in the middle",
        [1, 999999],
        EARLIEST_DEADLINE,
        sorted({*_far(10**6), 499998, 500001, 1499999, 1500000}),
    ),
    _refused("refused-all-zero", "no weight is positive", [0, 0]),
    _refused("refused-none", "no weight is positive", []),
    _refused("refused-rule", "no such rule", [1, 1], "random"),
]
