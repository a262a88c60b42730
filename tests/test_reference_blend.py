"""The blend of the reference against the rule evaluated at every position, and its bound (C1.1, C1.2; A4)."""

import random
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from independent.blend import first_turns

from fivepoint.reference.blend import Blend

RULES = ["earliest-deadline", "furthest-behind"]


def shuffled(weights):
    return random.Random(1).sample(weights, len(weights))


ADVERSARIAL = {
    "one source": [1],
    "one of three has weight": [0, 1, 0],
    "one to one": [1, 1],
    "zeros between": [0, 3, 0, 0, 2, 0, 1],
    "weights of the specification": [12, 3, 2, 2, 1],
    "0.001 and 0.999": [1, 999],
    "0.999 and 0.001": [999, 1],
    "one large among equal small": [1] * 20 + [980],
    "one rare among large": [333, 333, 333, 1],
    "twin primes": [101, 103],
    "powers of two": [1, 2, 4, 8, 16, 32, 64, 128],
    "equal hundred": [1] * 100,
    "primes": [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37],
    "three hundred sources": shuffled(list(range(1, 301)))[:250] + [1] * 50,
    "just over a half": [500, 501, 1],
    "harmonic": [2520 // k for k in range(1, 11)],
}


@cache
def expected(name, rule):
    weights = ADVERSARIAL[name]
    return first_turns(weights, rule, min(2 * sum(weights) + 3, 3000 if len(weights) < 100 else 400))


@pytest.mark.clause("C1.2")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_sequence(name, rule):
    blend = Blend(ADVERSARIAL[name], rule=rule)
    assert [blend(q)[0] for q in range(len(expected(name, rule)))] == expected(name, rule)


@pytest.mark.clause("C1.2")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_draws_are_numbered_one_by_one(name, rule):
    blend = Blend(ADVERSARIAL[name], rule=rule)
    drawn = dict.fromkeys(range(len(ADVERSARIAL[name])), 0)
    for q, source in enumerate(expected(name, rule)):
        assert blend(q) == (source, drawn[source]), f"at q = {q}"
        drawn[source] += 1


@pytest.mark.clause("C3.7")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_position_of_a_draw(name, rule):
    blend = Blend(ADVERSARIAL[name], rule=rule)
    places = range(len(expected(name, rule)))
    assert [blend.position(*blend(q)) for q in places] == list(places)


@pytest.mark.clause("C1.1")
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_every_prefix_is_within_the_bound(name):
    weights = ADVERSARIAL[name]
    blend = Blend(weights)
    assert worst_deviation([blend(q)[0] for q in range(sum(weights))], weights) <= bound(weights)


@pytest.mark.clause("C1.1")
@settings(max_examples=150)
@given(st.lists(st.integers(0, 60) | st.integers(0, 2), min_size=1, max_size=12).filter(any))
def test_every_prefix_of_any_weights_is_within_the_bound(weights):
    blend = Blend(weights)
    assert worst_deviation([blend(q)[0] for q in range(sum(weights))], weights) <= bound(weights)


@pytest.mark.clause("C1.2")
@settings(max_examples=100)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any), st.sampled_from(RULES))
def test_sequence_of_any_weights(weights, rule):
    blend = Blend(weights, rule=rule)
    count = 2 * sum(weights) + 1
    assert [blend(q)[0] for q in range(count)] == first_turns(weights, rule, count)


@pytest.mark.slow
@pytest.mark.clause("C1.1")
@pytest.mark.parametrize("weights", [[1, 999_999], [999_999, 1], [7, 1_048_569]])
def test_a_weight_of_a_millionth_is_served_in_time(weights):
    # of two sources the prefixes just before and just after a draw of the rare one are the worst
    rare = weights.index(min(weights))
    share = Fraction(weights[rare], sum(weights))
    blend = Blend(weights)
    for draw in range(3 * weights[rare]):
        q = blend.position(rare, draw)
        assert blend(q) == (rare, draw)
        assert share * q - draw <= Fraction(1, 2), f"draw {draw} is late"
        assert draw + 1 - share * (q + 1) <= Fraction(1, 2), f"draw {draw} is early"


@pytest.mark.clause("C1.1")
@pytest.mark.parametrize(("first", "share"), [(10, 0), (100, 0), (500, Fraction(1, 2)), (1000, 1), (2000, 2)])
def test_a_thousandth_is_not_drawn_at_once(first, share):
    blend = Blend([1, 999])
    assert abs(sum(blend(q)[0] == 0 for q in range(first)) - share) < 1


@pytest.mark.clause("C1.2")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("period", [1, 10**6, 10**12, 2**43])
def test_far_positions_repeat_the_period(rule, period):
    weights = [12, 3, 2, 2, 1]
    turns = first_turns(weights, rule, 20)
    blend = Blend(weights, rule=rule)
    for r, source in enumerate(turns):
        expected_draw = period * weights[source] + turns[:r].count(source)
        assert blend(period * 20 + r) == (source, expected_draw)
        assert blend.position(source, expected_draw) == period * 20 + r


@pytest.mark.clause("C1.1")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["weights of the specification", "twin primes", "zeros between", "one source", "harmonic"])
def test_worst_deviation_is_that_of_a_period(name, rule):
    weights = ADVERSARIAL[name]
    actual = Blend(weights, rule=rule).worst_deviation
    assert actual == worst_deviation(first_turns(weights, rule, sum(weights)), weights)


def bound(weights):
    m = sum(weight > 0 for weight in weights)
    return 1 - Fraction(1, 2 * m - 2) if m > 1 else 0


def worst_deviation(sources, weights):
    """Return how far the draws of a source are from its share at the worst prefix, in samples."""
    total = sum(weights)
    drawn = [0] * len(weights)
    worst = 0
    for t, source in enumerate(sources, start=1):
        drawn[source] += 1
        worst = max(worst, *(abs(weight * t - draws * total) for weight, draws in zip(weights, drawn, strict=True)))
    return Fraction(worst, total)
