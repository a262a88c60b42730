"""The shuffle of an epoch: a keyed bijection that is computed, forwards and backwards, and never stored (A2; C3.3)."""

from math import isqrt

from ..errors import RangeError
from .mixing import GOLDEN, absorb, mix64

ROUNDS = 8
MINIMUM_SIDE = 16
LARGEST = 1 << 48


class Permutation:
    """A bijection on [0, n): a Feistel network on an a x b rectangle, walked until it falls below n.

    Sides are even and at least 16, because smaller and odd ones fail statistics against a uniform shuffle.
    """

    def __init__(self, n: int, seed: int, *key: int) -> None:
        """Prepare the permutation of n items for a seed and key words, each from 0 to 2^64 - 1; raises RangeError for n outside 1 ...
        2^48.
        """
        if not 1 <= n <= LARGEST:
            raise RangeError(f"expected a permutation of 1 to 2^48 items, found n = {n}")
        self.n = n
        columns = _side(isqrt(n - 1) + 1)
        self._sides = (columns, _side(-(-n // columns)))
        state = absorb(seed, *key)
        self._keys = [mix64(state + (r + 1) * GOLDEN) for r in range(ROUNDS)]

    def __call__(self, x: int) -> int:
        """Return the item at place x; raises RangeError outside [0, n)."""
        self._expect_inside(x)
        if self.n == 1:
            return 0
        while True:
            right, left = divmod(x, self._sides[0])
            for r in range(ROUNDS):
                left, right = right, (left + self._round(r, right)) % self._sides[r % 2]
            x = self._sides[0] * right + left
            if x < self.n:
                return x

    def inverse(self, y: int) -> int:
        """Return the place of item y; raises RangeError outside [0, n)."""
        self._expect_inside(y)
        if self.n == 1:
            return 0
        while True:
            right, left = divmod(y, self._sides[0])
            for r in reversed(range(ROUNDS)):
                left, right = (right - self._round(r, left)) % self._sides[r % 2], left
            y = self._sides[0] * right + left
            if y < self.n:
                return y

    def _round(self, r: int, value: int) -> int:
        # The high half of the mix, scaled to the side by multiply-shift: no modulo, no float.
        return ((mix64(self._keys[r] ^ value) >> 32) * self._sides[r % 2]) >> 32

    def _expect_inside(self, x: int) -> None:
        if not 0 <= x < self.n:
            raise RangeError(f"expected an item from 0 to {self.n - 1}, found {x}")


def _side(least: int) -> int:
    side = max(MINIMUM_SIDE, least)
    return side + side % 2
