"""The exact order, for the checks that ask for it: A1 to A5 of algorithms.md, walked position by position, without tables or inverses."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, isqrt, lcm
from typing import NamedTuple

from .case import Case

G = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
ROUNDS = 8
LIMIT = 1 << 20


def mix64(z: int) -> int:
    """Return the 64 mixed bits of A1."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def word(name: str) -> int:
    """Return the key word of a name (A1)."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


def absorb(seed: int, *words: int) -> int:
    """Return the hash of a seed and key words (A1)."""
    h = mix64(seed + G & MASK)
    for each in words:
        h = mix64((h ^ each) + G & MASK)
    return h


class Permutation:
    """The bijection on [0, n) of a seed and key words (A2)."""

    def __init__(self, n: int, seed: int, *words: int) -> None:
        """Derive the keys of the rounds and the sides of the rectangle."""
        self.n = n
        h = absorb(seed, *words)
        self.keys = [mix64(h + (r + 1) * G & MASK) for r in range(ROUNDS)]
        root = isqrt(n - 1) + 1
        self.a = _even(max(16, root))
        self.b = _even(max(16, -(-n // self.a)))

    def __call__(self, x: int) -> int:
        """Return where `x` goes."""
        if self.n == 1:
            return x
        while True:
            right, left = divmod(x, self.a)
            for r, key in enumerate(self.keys):
                side = self.b if r % 2 else self.a
                left, right = right, (left + ((mix64(key ^ right) >> 32) * side >> 32)) % side
            x = self.a * right + left
            if x < self.n:
                return x


def _even(side: int) -> int:
    return side + side % 2


def integer_weights(decimals: Mapping[str, str], limit: int = LIMIT) -> dict[str, int]:
    """Return the integers of A3 for decimals as text, without zeros, sorted by the names' bytes; refusals are not looked for."""
    exact = {name: Fraction(decimals[name]) for name in sorted(decimals, key=str.encode) if Fraction(decimals[name]) > 0}
    denominator = lcm(*(weight.denominator for weight in exact.values()))
    weights = _coprime({name: int(weight * denominator) for name, weight in exact.items()})
    total = sum(weights.values())
    if total <= limit:
        return weights
    reduced = {name: weight * limit // total for name, weight in weights.items()}
    # A stable sort: of equal remainders the earlier source comes first.
    by_remainder = sorted(weights, key=lambda name: -(weights[name] * limit % total))
    for name in by_remainder[: limit - sum(reduced.values())]:
        reduced[name] += 1
    return _coprime({name: weight for name, weight in reduced.items() if weight})


def _coprime(weights: dict[str, int]) -> dict[str, int]:
    divisor = gcd(*weights.values())
    return {name: weight // divisor for name, weight in weights.items()}


def turns(weights: Sequence[int], rule: str = "earliest-deadline") -> Iterator[int]:
    """Yield the number of the source that serves local position 0, 1, 2, ... (A4)."""
    choose = {"earliest-deadline": _earliest_deadline, "furthest-behind": _furthest_behind}[rule]
    drawn = {i: 0 for i, weight in enumerate(weights) if weight}
    total = sum(weights)
    t = 0
    while True:
        t += 1
        chosen = choose(weights, drawn, total, t)
        yield chosen
        drawn[chosen] += 1
        if t == total:
            t, drawn = 0, dict.fromkeys(drawn, 0)


def _earliest_deadline(weights: Sequence[int], drawn: dict[int, int], total: int, t: int) -> int:
    if len(drawn) == 1:
        return next(iter(drawn))
    d = max(1, 2 * len(drawn) - 2)
    due = ((total * (d * c + d - 1) // (d * weights[i]), i) for i, c in drawn.items() if d * (weights[i] * t - c * total) >= total)
    return min(due)[1]


def _furthest_behind(weights: Sequence[int], drawn: dict[int, int], total: int, t: int) -> int:
    # Of equal ones max keeps the first, which is the earlier source.
    return max(drawn, key=lambda i: weights[i] * t - drawn[i] * total)


class Turn(NamedTuple):
    """A sample that the run takes: draw `draw` of `source`, at `position`, which is None where a skip passes over it."""

    position: int | None
    source: str
    draw: int


def taken(case: Case) -> Iterator[Turn]:
    """Yield every sample that a case's run takes, served and passed over, in order (A5)."""
    settings = case.settings
    names = sorted(settings.sources, key=str.encode)
    skips = dict(settings.skips)
    cursors = dict.fromkeys(names, 0)
    position = 0
    for phase in settings.phases:
        weights = integer_weights(phase.weights)
        schedule = turns([weights.get(name, 0) for name in names], settings.rule)
        for at in range(position, position + phase.length):
            for place in (*[None] * skips.get(at, 0), at):
                name = names[next(schedule)]
                yield Turn(place, name, cursors[name])
                cursors[name] += 1
        position += phase.length


def source_of_each(case: Case) -> list[str]:
    """Return the source of each position of a case's run, those past the last whole step included."""
    return [turn.source for turn in taken(case) if turn.position is not None]


@dataclass(frozen=True)
class Served:
    """The sample at a position: `token` is its first one within `corpus`."""

    position: int
    source: str
    epoch: int
    offset: int
    window: int
    corpus: str
    token: int


def served(case: Case) -> Iterator[Served]:
    """Yield the sample of each position of a case's run, those past the last whole step included (A5)."""
    shelves = {name: Shelf(case, name) for name in case.settings.sources}
    for position, source, draw in taken(case):
        if position is not None:
            yield shelves[source].sample(position, draw)


class Shelf:
    """The windows of one source, draw by draw."""

    def __init__(self, case: Case, source: str) -> None:
        """Lay the corpora of the source one after the other."""
        tokens = {spec.name: spec.tokens for spec in case.corpora}
        self.source, self.seed, self.seq_len = source, case.settings.seed, case.settings.seq_len
        self.counts = {corpus: max(0, (tokens[corpus] - 1) // self.seq_len) for corpus in case.settings.sources[source]}
        self.n = sum(self.counts.values())
        self.key = word(source)

    def sample(self, position: int, draw: int) -> Served:
        """Return the sample of a draw."""
        epoch, offset = divmod(draw, self.n)
        window = _permutation(self.n, self.seed, self.key, epoch)(offset)
        number = window
        for corpus, count in self.counts.items():
            if number < count:
                return Served(position, self.source, epoch, offset, window, corpus, number * self.seq_len)
            number -= count
        raise AssertionError(f"window {window} past the end of {self.source}")


@lru_cache(1024)
def _permutation(n: int, seed: int, key: int, epoch: int) -> Permutation:
    return Permutation(n, seed, key, epoch)


def vanishing(decimals: Mapping[str, str], length: int, limit: int = LIMIT) -> list[str]:
    """Return the sources of a phase whose weight A3 refuses to reduce: it would be 0, or move by more than 1 % and one sample."""
    exact = {name: Fraction(decimal) for name, decimal in decimals.items() if Fraction(decimal) > 0}
    reduced = integer_weights(decimals, limit)
    shares = {name: weight / sum(exact.values()) for name, weight in exact.items()}
    realised = {name: Fraction(reduced.get(name, 0), sum(reduced.values())) for name in exact}
    moved = {name: abs(realised[name] - shares[name]) for name in exact}
    return [name for name in exact if not realised[name] or (moved[name] * 100 > shares[name] and moved[name] * length > 1)]


def draws(case: Case) -> dict[str, int]:
    """Return how many samples the run takes from each source, served and passed over."""
    counts = Counter(turn.source for turn in taken(case))
    return {name: counts[name] for name in case.settings.sources}
