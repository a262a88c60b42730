"""Loaders that err in whose turn it is (C1.1, C1.2, C1.6)."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from ...reference.mixing import word
from ...reference.permutation import Permutation
from ...reference.plan import Plan
from ...reference.records import Sample, Span
from ..driver import Layout, Settings
from .honest import Honest


class OtherDraws(Honest):
    """Serves draws of its own, in which its subclasses err; so there is no way back that the plan could tell."""

    promises = Honest.promises - {"where"}

    def resolve(self, position: int) -> Sample:
        """Return the sample of the draw at a position."""
        return self.drawn(position, *self.draw(position))

    def draw(self, position: int) -> tuple[int, int]:
        """Return (number of the source, draw) at a position."""
        return self.plan.resolver.draw(position)

    def drawn(self, position: int, number: int, draw: int) -> Sample:
        """Return the sample of a draw of a source."""
        source, grid = self.plan.sources[number], self.settings.seq_len
        n = source.window_count(grid)
        epoch, offset = divmod(draw, n)
        window = self.window(number, n, draw)
        corpus, k = source.locate(window, grid)
        return Sample(position, 0, source.name, draw, epoch, offset, window, 0, (Span(corpus.name, k * grid, grid + 1),))

    def window(self, number: int, n: int, draw: int) -> int:
        """Return the window of a draw of a source of `n` windows."""
        epoch, offset = divmod(draw, n)
        return Permutation(n, self.plan.seed, word(self.plan.sources[number].name), epoch)(offset)


class OtherTurns(OtherDraws, ABC):
    """Serves sources in a sequence of its own, in which its subclasses err."""

    promises = OtherDraws.promises - {"order"}

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Begin a walk through the run, in which each position finds its draw."""
        super().build(corpus, workdir, settings, layout, states)
        self.draws: list[tuple[int, int]] = []
        self.cursors = [0] * len(self.plan.sources)
        self.walk = self.walked()

    def draw(self, position: int) -> tuple[int, int]:
        """Return what the walk finds, going on as far as it must."""
        self.draws += islice(self.walk, max(0, position + 1 - len(self.draws)))
        return self.draws[position]

    def walked(self) -> Iterator[tuple[int, int]]:
        """Yield the draw of each position."""
        passed = dict(self.plan.skips)
        for stretch in self.plan.resolver.stretches:
            turns = self.turns(stretch.blend.weights)
            for position in range(stretch.start, stretch.start + stretch.length):
                for number in islice(turns, passed.get(position, 0) + 1):
                    found = (number, self.cursors[number])
                    self.cursors[number] += 1
                yield found

    @abstractmethod
    def turns(self, weights: list[int]) -> Iterator[int]:
        """Yield the sources of a phase, a number for each sample taken."""


class RandomTurns(OtherTurns):
    """Rolls a die for each sample."""

    clause, fault = "C1.1", 33

    def turns(self, weights: list[int]) -> Iterator[int]:
        """Yield sources at random, by their weights."""
        generator = random.Random(self.plan.seed)
        while True:
            yield from generator.choices(range(len(weights)), weights, k=100)


class PositionAtLeastOne(OtherTurns):
    """Serves the source that is furthest behind, with max(position, 1) for the position, so that the second one repeats the first."""

    clause, fault, also = "C1.1", 35, ("C1.2", "C1.7")
    promises = OtherDraws.promises

    def turns(self, weights: list[int]) -> Iterator[int]:
        """Yield the source furthest behind, the earlier of equal ones."""
        counts, position = [0] * len(weights), 0
        while True:
            number = max(range(len(weights)), key=lambda i: weights[i] * max(position, 1) - counts[i] * sum(weights))
            yield number
            counts[number] += 1
            position += 1


class FloatTurns(OtherTurns):
    """Computes deadlines in floating point."""

    clause, fault = "C1.2", 34
    promises = OtherDraws.promises

    def turns(self, weights: list[int]) -> Iterator[int]:
        """Yield the source due first, by shares that are floats."""
        shares = {i: weight / sum(weights) for i, weight in enumerate(weights) if weight}
        slack = 1 / max(1, 2 * len(shares) - 2)
        counts, t = dict.fromkeys(shares, 0), 0
        while True:
            t += 1
            ready = [i for i in shares if shares[i] * t - counts[i] >= slack] or list(shares)
            number = min(ready, key=lambda i: int((counts[i] + 1 - slack) / shares[i]))
            yield number
            counts[number] += 1


class TiesToTheLaterSource(OtherTurns):
    """Prefers the later of two sources with one deadline."""

    clause, fault = "C1.2", 34
    promises = OtherDraws.promises

    def turns(self, weights: list[int]) -> Iterator[int]:
        """Yield the source due first, the later of equal ones."""
        active = [i for i, weight in enumerate(weights) if weight]
        total, slack = sum(weights), max(1, 2 * len(active) - 2)
        counts, t = dict.fromkeys(active, 0), 0
        while True:
            t += 1
            ready = [i for i in active if slack * (weights[i] * t - counts[i] * total) >= total] if len(active) > 1 else active
            number = min(ready, key=lambda i: (total * (slack * counts[i] + slack - 1) // (slack * weights[i]), -i))
            yield number
            counts[number] += 1


class ExhaustedSourceLeftOut(OtherTurns):
    """Serves others in place of a source that has been passed through."""

    clause, fault = "C1.6", 38

    def turns(self, weights: list[int]) -> Iterator[int]:
        """Yield the source furthest behind of those that have windows left; all of them once none has."""
        sizes = [source.window_count(self.settings.seq_len) for source in self.plan.sources]
        counts = [0.0] * len(weights)
        while True:
            left = [i for i, weight in enumerate(weights) if weight and self.cursors[i] < sizes[i]] or [
                i for i, weight in enumerate(weights) if weight
            ]
            number = min(left, key=lambda i: (counts[i] + 0.5) / weights[i])
            yield number
            counts[number] += 1


class StopsAtTheFirstExhausted(Honest):
    """Ends the run of a mixture when one of its sources has been passed through."""

    clause, fault = "C1.6", 39
    promises = Honest.promises - {"where"}

    def over(self) -> bool:
        """Return whether the next step, if it is not the first, needs a second epoch of a source."""
        if super().over() or not self.consumed or len(self.plan.sources) < 2:
            return super().over()
        positions = range(self.consumed, self.consumed + self.layout.batch_size)
        return any(self.plan.resolve(position).epoch > 0 for position in positions)


class FoldsNames(Honest):
    """Folds the names of sources to lower case and to ASCII, and so orders and keys them by other words."""

    clause, fault, also = "C1.2", 34, ("C3.3",)
    promises = Honest.promises - {"where"}

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan with folded names."""
        phases = [replace(phase, weights={_folded(name): weight for name, weight in phase.weights.items()}) for phase in settings.phases]
        sources = {_folded(name): corpora for name, corpora in settings.sources.items()}
        return super().make_plan(corpus, replace(settings, sources=sources, phases=phases))


def _folded(name: str) -> str:
    return name.lower().encode("ascii", "ignore").decode()
