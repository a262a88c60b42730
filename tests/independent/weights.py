"""From decimals to the integer weights of a phase (A3), in fractions."""

from fractions import Fraction
from math import floor, gcd, lcm


class VanishingError(Exception):
    """A positive weight would become 0, or err too far."""


def integers(decimals: dict[str, str], limit: int, length: int) -> dict[str, int]:
    """Return the integer weight of every source with a positive one; raises VanishingError where A3 refuses."""
    exact = {name: Fraction(decimals[name]) for name in sorted(decimals, key=str.encode) if Fraction(decimals[name]) > 0}
    total = sum(exact.values())
    shares = {name: weight / total for name, weight in exact.items()}
    scale = lcm(*(share.denominator for share in shares.values()))
    if scale <= limit:
        return lowest({name: int(share * scale) for name, share in shares.items()})
    wanted = {name: share * limit for name, share in shares.items()}
    given = {name: floor(count) for name, count in wanted.items()}
    while sum(given.values()) < limit:
        # a source that got one more is ahead of what it wanted, so that it is not the furthest behind again
        neediest = max(wanted, key=lambda name: wanted[name] - given[name])
        given[neediest] += 1
    for name, share in shares.items():
        moved = abs(Fraction(given[name], limit) - share)
        if given[name] == 0 or (moved > share / 100 and moved * length > 1):
            raise VanishingError(name)
    return lowest(given)


def lowest(weights: dict[str, int]) -> dict[str, int]:
    """Return the weights divided by their greatest common divisor."""
    divisor = gcd(*weights.values())
    return {name: weight // divisor for name, weight in weights.items()}
