"""Decimals to integer weights in the reference against the second implementation (C1.7; A3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from independent.weights import VanishingError, integers

from fivepoint.errors import ConfigError
from fivepoint.reference.weights import integer_weights, parse_decimal

CASES = {
    "as written": {"a": "0.6", "b": "0.15", "c": "0.1", "d": "0.1", "e": "0.05"},
    "not binary fractions": {"a": "0.1", "b": "0.2", "c": "0.7"},
    "not normalised": {"a": "3", "b": "1.5"},
    "a zero": {"a": "0", "b": "0.5", "c": "1"},
    "a millionth": {"a": "0.000001", "b": "0.999999"},
    "thirds": {"a": "0.3333333", "b": "0.3333333", "c": "0.3333334"},
    "equal remainders": {"c": "0.33333333", "a": "0.33333333", "b": "0.33333333", "d": "0.00000001e6"},
    "exponent": {"a": "1e-5", "b": "99999e-5"},
}


def reference(decimals, limit, length):
    exact = {name: parse_decimal(text, "weights") for name, text in decimals.items()}
    return integer_weights(exact, length, "weights", limit)


@pytest.mark.clause("C1.7")
@pytest.mark.parametrize("limit", [2**20, 2**22, 1000])
@pytest.mark.parametrize("name", CASES)
def test_integers_of_decimals(name, limit):
    assert outcome(reference, CASES[name], limit, 10**5) == outcome(integers, CASES[name], limit, 10**5)


@pytest.mark.clause("C1.7")
def test_a_vanishing_weight_is_refused():
    with pytest.raises(ConfigError):
        reference({"a": "1", "b": "1e-9"}, 2**20, 10**5)


@pytest.mark.clause("C1.7")
def test_a_weight_that_moves_too_far_is_refused():
    # 1.4 of 1,000 becomes 1: 29 % of itself
    decimals = {"a": "0.0014", "b": "0.9986"}
    assert reference(decimals, 1000, 2000) == {"a": 1, "b": 999}
    with pytest.raises(ConfigError):
        reference(decimals, 1000, 2501)


DECIMALS = st.integers(0, 10**6).map(lambda n: f"{n // 1000}.{n % 1000:03}") | st.integers(0, 30).map(str)


@pytest.mark.clause("C1.7")
@given(
    decimals=st.dictionaries(st.sampled_from(["a", "b", "B", "é", "z", "zz", "日"]), DECIMALS, min_size=1).filter(
        lambda decimals: any(float(text) for text in decimals.values())
    ),
    limit=st.integers(10, 3000) | st.just(2**20),
    length=st.integers(1, 10**6),
)
def test_integers_of_any_decimals(decimals, limit, length):
    assert outcome(reference, decimals, limit, length) == outcome(integers, decimals, limit, length)


def outcome(function, decimals, limit, length):
    """Return the weights, or "refused"."""
    try:
        return function(decimals, limit, length)
    except (ConfigError, VanishingError):
        return "refused"
