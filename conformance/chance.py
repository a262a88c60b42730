"""How likely it is that an honest loader's luck looks like a fault: exact tails, in integers as long as it matters.

A verdict by statistics is given where chance does as much less than once in 10^12 runs.
"""

from fractions import Fraction
from math import comb

UNLIKELY = Fraction(1, 10**12)


def is_luck(found: int, trials: int, share: Fraction) -> bool:
    """Return whether `found` of so many independent draws, each of probability `share`, can be chance: a binomial tail on either side."""
    numerator, denominator = share.numerator, share.denominator
    ways = [comb(trials, k) * numerator**k * (denominator - numerator) ** (trials - k) for k in range(trials + 1)]
    return _both_tails(ways, found)


def is_mixed(places: int, marked: int, agreeing: int) -> bool:
    """Return whether so many of the `marked` of `places` places hold one of `marked` marks, shuffled evenly: a hypergeometric tail."""
    ways = [comb(marked, k) * comb(places - marked, marked - k) if marked - k <= places - marked else 0 for k in range(marked + 1)]
    return _both_tails(ways, agreeing)


def is_run_by_chance(zeros: int, ones: int, runs: int) -> bool:
    """Return whether a row of so many zeros and ones, shuffled evenly, can fall into so many runs of equal ones."""
    ways = [0, 0]
    for k in range(1, min(zeros, ones) + 1):
        even = 2 * comb(zeros - 1, k - 1) * comb(ones - 1, k - 1)
        odd = comb(zeros - 1, k) * comb(ones - 1, k - 1) + comb(zeros - 1, k - 1) * comb(ones - 1, k)
        ways += [even, odd]
    return runs < len(ways) and _both_tails(ways, runs)


def _both_tails(ways: list[int], found: int) -> bool:
    limit = sum(ways) * UNLIKELY
    return sum(ways[: found + 1]) >= limit and sum(ways[found:]) >= limit
