"""Golden vectors against the slow second implementation, wherever it can walk that far."""

from functools import cache
from typing import Any

import pytest
from independent import blend, boundaries, identity, permutation, run, steps, weights
from vector_cases import cases, results

# How many cases of each file it reaches; the others are refusals, or larger than it can walk.
REACHED = {
    "permutation": 79,
    "weights": 38,
    "blend": 39,
    "resolve": 25,
    "skips": 25,
    "where": 31,
    "partition": 36,
    "boundaries": 23,
    "canonical": 26,
    "plan_hash": 31,
    "prefix_hash": 29,
}
LARGEST_PERMUTATION = 1 << 21
LARGEST_RUN = 20_000
# What is no decimal, or leaves no weight, is the business of whoever parses it.
UNPARSED = {f"weights-refused-{name}" for name in ("negative", "fraction", "none", "all-zero")}
LARGEST_TABLE = 150_000


class Corpus:
    """A corpus of which only the number of tokens is known: each token is its own number."""

    def __init__(self, name: str, tokens: int) -> None:
        self.name = name
        self._tokens = tokens

    def windows(self, seq_len: int) -> list[range]:
        """Return the tokens of each window, taken while a whole one is left."""
        return [range(first, first + seq_len + 1) for first in range(0, self._tokens - seq_len, seq_len)]


def reached(of: str, case: dict[str, Any]) -> bool:
    """Return whether the slow code can compute the case."""
    if of == "weights":
        return True
    if "refused" in case:
        return False
    if of == "permutation":
        return case["n"] <= LARGEST_PERMUTATION
    if of in ("resolve", "skips", "where"):
        tokens = sum(corpus["tokens"] for source in case["plan"]["sources"] for corpus in source["corpora"])
        return max(length(case["plan"]), tokens) <= LARGEST_RUN
    return case.get("length", case.get("consumed", 0)) <= LARGEST_RUN


def length(plan: dict[str, Any]) -> int:
    return sum(phase["length"] for phase in plan["phases"])


def walk(plan: dict[str, Any]) -> list[run.Sample]:
    corpora = {source["name"]: [Corpus(corpus["name"], corpus["tokens"]) for corpus in source["corpora"]] for source in plan["sources"]}
    return run.walk(plan, corpora)


CASES = [pytest.param(of, case, id=case["id"]) for of in REACHED for case in cases(of) if reached(of, case)]


def test_as_many_cases_are_reached_as_ever() -> None:
    assert {of: sum(reached(of, case) for case in cases(of)) for of in REACHED} == REACHED


@pytest.mark.slow
@pytest.mark.parametrize(("of", "case"), CASES)
def test_the_slow_code_gives_the_results(of: str, case: dict[str, Any]) -> None:
    CHECKS[of](case, results(of, case))


def check_permutation(case: dict[str, Any], expected: dict[str, Any]) -> None:
    order = permutation.order(case["n"], case["seed"], *case["key"])
    assert [order[x] for x in case["x"]] == expected["y"]


def check_weights(case: dict[str, Any], expected: dict[str, Any]) -> None:
    try:
        found = {"weights": weights.integers(case["decimals"], case["limit"], case["length"])}
    except (weights.VanishingError, ArithmeticError, ValueError):
        assert "refused" in expected
    else:
        assert found == expected or case["id"] in UNPARSED


@cache
def turns(weights: tuple[int, ...], rule: str) -> list[int]:
    """One period, or as much of it as can be walked."""
    active = sum(weight > 0 for weight in weights)
    return blend.first_turns(list(weights), rule, min(sum(weights), LARGEST_TABLE // active))


def check_blend(case: dict[str, Any], expected: dict[str, Any]) -> None:
    period = sum(case["weights"])
    walked = turns(tuple(case["weights"]), case["rule"])
    for q, source, draw in zip(case["q"], expected["source"], expected["draw"], strict=True):
        cycle, r = divmod(q, period)
        if r < len(walked):
            assert (source, draw) == (walked[r], cycle * case["weights"][source] + walked[:r].count(source))
    if len(walked) == period:
        numerator, denominator = expected["worst_deviation"]
        assert worst(case["weights"], walked) * denominator == numerator * period


def worst(weights: list[int], walked: list[int]) -> int:
    """The largest distance from a share, in units of 1 / period."""
    counts = [0] * len(weights)
    found = 0
    for t, source in enumerate(walked, 1):
        counts[source] += 1
        found = max(found, *(abs(c * len(walked) - w * t) for c, w in zip(counts, weights, strict=True)))
    return found


def check_resolve(case: dict[str, Any], expected: dict[str, Any]) -> None:
    samples = walk(case["plan"])
    assert len(samples) == length(case["plan"])
    for position, sample in zip(case["positions"], expected["samples"], strict=True):
        found = samples[position]
        span = [found.corpus, found.first, len(found.tokens)]
        assert {**sample, "spans": [span]} == sample
        assert (sample["source"], sample["epoch"], sample["offset"]) == (found.source, found.epoch, found.offset)
        assert (sample["window"], sample["part"]) == (found.window, 0)


def check_where(case: dict[str, Any], expected: dict[str, Any]) -> None:
    found = run.where(walk(case["plan"]), case["source"], case["corpus"], case["first"], case["last"])
    assert found == expected["positions"]


def check_partition(case: dict[str, Any], expected: dict[str, Any]) -> None:
    served = steps.steps(case["length"], case["batch_sizes"])
    begins = [consumed for consumed, _ in served]
    if case["consumed"] not in begins:
        assert expected == {"complete": True}
        assert case["consumed"] == (sum(served[-1]) if served else 0)
        return
    number = begins.index(case["consumed"])
    ranks = steps.deal(*served[number], case["dp_size"], case["micro_batch"])
    assert (expected["step"], expected["batch_size"]) == (number, served[number][1])
    assert expected["accumulation"] == len(ranks[0])
    assert [[list(range(*part)) for part in rank] for rank in expected["ranks"]] == ranks


def check_boundaries(case: dict[str, Any], expected: dict[str, Any]) -> None:
    documents = [number for number, size in enumerate(case["documents"]) for _ in range(size)]
    for row, first in enumerate(case["rows"]):
        for kind in (boundaries.document_ids, boundaries.position_ids, boundaries.loss_mask):
            assert kind(documents, first, case["seq_len"]) == expected[kind.__name__][row]
    bounds = boundaries.cu_seqlens([documents] * len(case["rows"]), case["rows"], case["seq_len"])
    assert (bounds, boundaries.max_seqlen(bounds)) == (expected["cu_seqlens"], expected["max_seqlen"])


def check_canonical(case: dict[str, Any], expected: dict[str, Any]) -> None:
    assert identity.canonical(case["value"]) == expected["canonical"]
    assert identity.sha256(case["value"]) == expected["sha256"]


def check_plan_hash(case: dict[str, Any], expected: dict[str, Any]) -> None:
    assert identity.plan_hash(case["plan"]) == expected["plan_hash"]


def check_prefix_hash(case: dict[str, Any], expected: dict[str, Any]) -> None:
    assert identity.canonical(identity.cut(case["plan"], case["consumed"])) == expected["cut"]
    assert identity.prefix_hash(case["plan"], case["consumed"]) == expected["prefix_hash"]


CHECKS = {
    "permutation": check_permutation,
    "weights": check_weights,
    "blend": check_blend,
    "resolve": check_resolve,
    "skips": check_resolve,
    "where": check_where,
    "partition": check_partition,
    "boundaries": check_boundaries,
    "canonical": check_canonical,
    "plan_hash": check_plan_hash,
    "prefix_hash": check_prefix_hash,
}
