"""The permutation of the reference against whole lists of the second implementation (C3.3, C3.4; A2)."""

import random
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from independent.permutation import order

from fivepoint.reference.permutation import Permutation

AROUND_POWERS = sorted({2**k + near for k in range(8, 21) for near in (-1, 0, 1)})
WORDS = st.integers(0, 2**64 - 1)


@pytest.mark.clause("C3.3")
@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (5, [3, 1, 2, 4, 0]),
        (1000, [586, 661, 820, 519, 47]),
        (10**9, [663734589, 487902421, 222842992, 996753701, 714506690]),
    ],
)
def test_order_printed_in_the_specification(n, expected):
    perm = Permutation(n, 12345, 7, 3)
    assert [perm(x) for x in range(5)] == expected


@pytest.mark.clause("C3.3")
@pytest.mark.parametrize("n", range(1, 301))
def test_order_of_a_small_source(n):
    perm = Permutation(n, 2**64 - n, n, 2**63 + n)
    actual = [perm(x) for x in range(n)]
    assert sorted(actual) == list(range(n)), "not a bijection"
    assert actual == order(n, 2**64 - n, n, 2**63 + n)


@pytest.mark.clause("C3.3")
@pytest.mark.parametrize("n", range(1, 301))
def test_inverse_of_a_small_source(n):
    perm = Permutation(n, n, 1, n)
    assert [perm.inverse(perm(x)) for x in range(n)] == list(range(n))


@pytest.mark.clause("C3.3")
@pytest.mark.parametrize("n", AROUND_POWERS)
def test_order_around_powers_of_two(n):
    expected = order(n, n, 7, 1)
    assert sorted(expected) == list(range(n)), "not a bijection"
    perm = Permutation(n, n, 7, 1)
    places = [0, n - 1, *random.Random(n).sample(range(n), 200)]
    assert [perm(x) for x in places] == [expected[x] for x in places]
    assert [perm.inverse(expected[x]) for x in places] == places


@pytest.mark.slow
@pytest.mark.clause("C3.3")
def test_every_place_of_a_million():
    n = 2**20 + 1
    perm = Permutation(n, 99, 7, 1)
    actual = [perm(x) for x in range(n)]
    assert actual == order(n, 99, 7, 1)
    assert all(perm.inverse(y) == x for x, y in enumerate(actual))


@pytest.mark.clause("C3.3")
@given(n=st.integers(1, 2**48), seed=WORDS, key=st.lists(WORDS, max_size=4), data=st.data())
def test_inverse_at_any_size(n, seed, key, data):
    x = data.draw(st.integers(0, n - 1))
    perm = Permutation(n, seed, *key)
    y = perm(x)
    assert 0 <= y < n
    assert perm.inverse(y) == x


@pytest.mark.clause("C3.3")
def test_samples_move_far():
    n = 5000
    perm = Permutation(n, 1, 2, 3)
    moved = [abs(perm(x) - x) for x in range(n)]
    # uniform: the mean distance of two places is n/3, and a place within n/100 happens to 1 in 50
    assert 0.32 < sum(moved) / n / n < 0.345
    assert sum(distance < n / 100 for distance in moved) < n / 33


@pytest.mark.clause("C3.3")
def test_neighbours_are_parted_and_low_bits_mixed():
    n = 4096
    perm = Permutation(n, 1, 2, 3)
    images = [perm(x) for x in range(n)]
    close = sum(abs(a - b) <= 4 for a, b in pairwise(images))
    assert close < 32, f"{close} pairs of neighbours stay neighbours; 8 would by chance"
    kept = sum((x ^ image) & 1 for x, image in enumerate(images))
    assert abs(kept - n / 2) < 4 * (n / 4) ** 0.5, "the lowest bit can be predicted"


@pytest.mark.clause("C3.4")
def test_seeds_sources_and_epochs_never_share_an_order():
    keys = list(product(range(6), range(6), range(6)))
    orders = {(seed, source, epoch): tuple(map(Permutation(50, seed, source, epoch), range(50))) for seed, source, epoch in keys}
    assert len(set(orders.values())) == len(keys)


@pytest.mark.clause("C3.4")
def test_words_are_absorbed_in_order():
    perms = [Permutation(50, 1, *key) for key in ([2, 3], [3, 2], [2, 3, 0], [5], [1])]
    assert len({tuple(map(perm, range(50))) for perm in perms}) == len(perms)
