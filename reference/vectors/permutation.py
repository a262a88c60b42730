"""Cases of A2: edge sizes, seeds and keys."""

from typing import Any

from ..mixing import word
from ..permutation import Permutation
from .case import Case

CLAUSES = ["C3.3", "C3.4"]


def results(seed: int, key: list[int], n: int, x: list[int]) -> dict[str, Any]:
    """Return the permutation of each x, after seeing that each is found again from its result."""
    permutation = Permutation(n, seed, *key)
    y = [permutation(each) for each in x]
    if [permutation.inverse(each) for each in y] != x:
        raise AssertionError(f"the inverse of {y} is not {x}")
    return {"y": y}


def _case(id: str, comment: str, n: int, x: list[int], *, seed: int = 12345, key: tuple[int, ...] = (7, 3), **known: list[int]) -> Case:
    return Case(f"permutation-{id}", comment, {"seed": seed, "key": list(key), "n": n, "x": x}, known=known)


def _refused(id: str, refused: str, n: int, x: list[int]) -> Case:
    return Case(f"permutation-{id}", "outside what A2 is defined for", {"seed": 1, "key": [2, 0], "n": n, "x": x}, refused=refused)


def _edges(n: int) -> list[int]:
    return sorted({0, 1, n // 3, n // 2, n - 2, n - 1})


LAST = (1 << 64) - 1
WEB = word("web")
SIZES = [
    _case("n-1", "one item: the identity, whatever the key", 1, [0]),
    _case("n-2", "all of two items, far smaller than the rectangle of 16 x 16 that is walked", 2, [0, 1]),
    _case("n-3", "all of three items", 3, [0, 1, 2]),
    _case("n-5", "all of five items; printed in A2", 5, [0, 1, 2, 3, 4], y=[3, 1, 2, 4, 0]),
    *(_case(f"n-{n}", "all items, around the smallest side", n, list(range(n))) for n in (15, 16, 17)),
    _case("n-255", "one less than the smallest rectangle", 255, [0, 1, 15, 16, 127, 128, 239, 240, 253, 254]),
    _case("n-256", "the smallest rectangle exactly: no walking", 256, [0, 1, 15, 16, 127, 128, 239, 240, 254, 255]),
    _case("n-257", "all items where the first side grows to 18", 257, list(range(257))),
    _case("n-288", "18 x 16 exactly", 288, _edges(288)),
    _case("n-289", "17 squared: the sides are rounded up to 18", 289, _edges(289)),
    _case("n-324", "18 squared: no walking", 324, _edges(324)),
    _case("n-325", "18 squared and one: sides 20 and 18", 325, _edges(325)),
    _case("n-1000", "printed in A2", 1000, [0, 1, 2, 3, 4], y=[586, 661, 820, 519, 47]),
    _case("n-1000-ends", "the other end", 1000, [499, 500, 998, 999]),
    *(
        _case(f"n-2-to-{exponent}{name}", "around a power of two", (1 << exponent) + more, _edges((1 << exponent) + more))
        for exponent in (3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)
        for more, name in ((-1, "-less-1"), (0, ""), (1, "-plus-1"))
    ),
    _case("n-10-to-9", "printed in A2", 10**9, [0, 1, 2, 3, 4], y=[663734589, 487902421, 222842992, 996753701, 714506690]),
    _case("n-2-to-32", "past 32 bits", 1 << 32, _edges(1 << 32)),
    _case("n-2-to-40-plus-1", "sides that differ", (1 << 40) + 1, _edges((1 << 40) + 1)),
    _case("n-odd-square", "the square of 2^24 - 1: the root is exact and odd", ((1 << 24) - 1) ** 2, _edges(((1 << 24) - 1) ** 2)),
    _case("n-2-to-48-less-1", "one less than the largest", (1 << 48) - 1, _edges((1 << 48) - 1)),
    _case("n-2-to-48", "the largest: sides of 2^24", 1 << 48, _edges(1 << 48)),
]

KEYS = [
    _case("seed-0", "the smallest seed", 1000, [0, 1, 2, 999], seed=0),
    _case("seed-2-to-64-less-1", "the largest seed: seed + G wraps", 1000, [0, 1, 2, 999], seed=LAST),
    _case("key-none", "no words", 1000, [0, 1, 2, 999], key=()),
    _case("key-0", "one word 0 is not no word", 1000, [0, 1, 2, 999], key=(0,)),
    _case("key-largest-words", "words of 2^64 - 1", 1000, [0, 1, 2, 999], key=(LAST, LAST)),
    _case("key-order", "the words of the printed case the other way round", 1000, [0, 1, 2, 3, 4], key=(3, 7)),
    _case("key-not-added", "a source key less and an epoch more: another order", 1000, [0, 1, 2, 3, 4], key=(6, 4)),
    _case("key-seed-not-added", "the seed more and the epoch less: another order", 1000, [0, 1, 2, 3, 4], seed=12346, key=(7, 2)),
    *(_case(f"epoch-{epoch}", "windows of the source `web` in an epoch", 1000, [0, 1, 2, 999], key=(WEB, epoch)) for epoch in (0, 1, 2)),
    _case("epoch-2-to-48-less-1", "the last epoch number", 1000, [0, 1, 2, 999], key=(WEB, (1 << 48) - 1)),
    _case("key-purpose", "another use of the same source and epoch", 1000, [0, 1, 2, 999], key=(WEB, 0, word("shards"), 0)),
    _case("key-purpose-number", "and its next number", 1000, [0, 1, 2, 999], key=(WEB, 0, word("shards"), 1)),
    _case("key-eight-words", "a long key", 1000, [0, 1, 2, 999], key=(1, 2, 3, 4, 5, 6, 7, 8)),
]

REFUSED = [
    _refused("refused-n-0", "no items", 0, [0]),
    _refused("refused-n-2-to-48-plus-1", "more than 2^48 items", (1 << 48) + 1, [0]),
    _refused("refused-x", "x is not below n", 1000, [1000]),
    _refused("refused-x-of-1", "x is not below n", 1, [1]),
]

CASES = [*SIZES, *KEYS, *REFUSED]
