"""Which source serves each position (A4): the rule evaluated at every one in exact fractions, without a table."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from math import floor


def turns(weights: list[int], rule: str) -> Iterator[int]:
    """Yield the number of the source that serves position 0, 1, 2, ...; sources of weight 0 never do."""
    choose = {"earliest-deadline": earliest_deadline, "furthest-behind": furthest_behind}[rule]
    shares = {i: Fraction(weight, sum(weights)) for i, weight in enumerate(weights) if weight > 0}
    draws = dict.fromkeys(shares, 0)
    t = 0
    while True:
        t += 1
        chosen = choose(shares, draws, t)
        draws[chosen] += 1
        yield chosen


def first_turns(weights: list[int], rule: str, count: int) -> list[int]:
    """Return the sources of the first `count` positions."""
    return list(islice(turns(weights, rule), count))


def earliest_deadline(shares: dict[int, Fraction], draws: dict[int, int], t: int) -> int:
    """Return the source whose next draw is released by t and due first; of several, the earliest source.

    A draw is released once the share is ahead of the draws by 1/D, and due when it would be ahead by 1 - 1/D more.
    """
    if len(shares) == 1:
        return next(iter(shares))
    slack = Fraction(1, 2 * len(shares) - 2)
    due = {i: floor((draws[i] + 1 - slack) / share) for i, share in shares.items() if share * t - draws[i] >= slack}
    return min(due, key=lambda i: (due[i], i))


def furthest_behind(shares: dict[int, Fraction], draws: dict[int, int], t: int) -> int:
    """Return the source whose draws are furthest behind its share at t; of several, the earliest source."""
    behind = {i: share * t - draws[i] for i, share in shares.items()}
    furthest = max(behind.values())
    return min(i for i in behind if behind[i] == furthest)
