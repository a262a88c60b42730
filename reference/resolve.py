"""From a position to its sample and back, in time that does not depend on the length of the run (A5, A6; C1.8, C1.10, C3.7)."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..errors import RangeError
from .blend import Blend
from .mixing import word
from .permutation import Permutation
from .records import Corpus, Phase, Sample, Source, Span
from .skips import Skips


@dataclass(frozen=True)
class Stretch:
    """A phase where it stands in the run: its first position, its skips, its blend, and each source's cursor before it (in draws)."""

    start: int
    length: int
    grid: int
    skips: Skips
    blend: Blend
    base: tuple[int, ...]

    @property
    def taken(self) -> int:
        """Samples taken in the phase: those it serves and those it passes over."""
        return self.length + self.skips.total


class Resolver:
    """The whole run as arithmetic: every phase with its cursors, opened once, asked about any position."""

    def __init__(self, seed: int, sources: Sequence[Source], phases: Sequence[Phase], skips: Sequence[tuple[int, int]]) -> None:
        """Lay the phases one after the other, carrying each source's cursor over (C1.8)."""
        self.seed = seed
        self.sources = sources
        self.stretches: list[Stretch] = []
        self.length = 0
        cursors = [0] * len(sources)
        ats = [at for at, _ in skips]
        for phase in phases:
            end = self.length + phase.length
            inside = Skips(self.length, skips[bisect_left(ats, self.length) : bisect_left(ats, end)])
            taken = phase.length + inside.total
            weights = tuple(phase.weights.get(source.name, 0) for source in sources)
            # Phases of one period or more share the table of equal weights, however long they are.
            blend = _blend(weights, phase.rule, taken if taken < sum(weights) else None)
            stretch = Stretch(self.length, phase.length, phase.grid, inside, blend, tuple(cursors))
            self.stretches.append(stretch)
            cursors = [cursor + count for cursor, count in zip(cursors, stretch.blend.counts(taken), strict=True)]
            self.length = end
        self.draws = tuple(cursors)
        """Draws of each source over the whole run, served or passed over."""
        self._starts = [stretch.start for stretch in self.stretches]
        self._numbers = {source.name: i for i, source in enumerate(sources)}
        self._keys = [word(source.name) for source in sources]

    def phase_of(self, position: int) -> int:
        """Return the number of the phase that serves `position`; raises RangeError outside the run."""
        if not 0 <= position < self.length:
            raise RangeError(f"expected a position from 0 to {self.length - 1}, found {position}")
        return bisect_right(self._starts, position) - 1

    def draw(self, position: int) -> tuple[int, int]:
        """Return (number of the source, draw) at `position`."""
        stretch = self.stretches[self.phase_of(position)]
        source, drawn = stretch.blend(stretch.skips.local(position))
        return source, stretch.base[source] + drawn

    def resolve(self, position: int) -> Sample:
        """Return the sample at `position`; raises RangeError outside the run."""
        number, draw = self.draw(position)
        phase = self.phase_of(position)
        source, grid = self.sources[number], self.stretches[phase].grid
        n = source.window_count(grid)
        epoch, offset = divmod(draw, n)
        window = _permutation(n, self.seed, self._keys[number], epoch)(offset)
        corpus, k = source.locate(window, grid)
        return Sample(position, phase, source.name, draw, epoch, offset, window, 0, (Span(corpus.name, k * grid, grid + 1),))

    def position(self, source: str, draw: int) -> int | None:
        """Return the position that serves `draw` of `source`, None where it was passed over or lies past the run's end."""
        number = self._number(source)
        if draw >= self.draws[number]:
            return None
        # The last phase that begins at or before the draw: phases without the source share its cursor with the next.
        phase = bisect_right(self.stretches, draw, key=lambda stretch: stretch.base[number]) - 1
        stretch = self.stretches[phase]
        return stretch.skips.served(stretch.blend.position(number, draw - stretch.base[number]))

    def where(self, source: str, corpus: str, first: int, last: int) -> list[int]:
        """Return, ascending, every position whose sample holds one of the tokens `first` to `last`, inclusive, of a corpus, as input or
        target.

        Raises RangeError for an unknown source or corpus, and for tokens that the corpus does not have.
        """
        found = self._find(source, corpus)
        if not 0 <= first <= last < found.tokens:
            raise RangeError(
                f"expected tokens from 0 to {found.tokens - 1} of corpus {corpus!r}, in ascending order, found {first} to {last}"
            )
        positions = (self.position(source, draw) for draw in self._draws_of(source, found, first, last))
        return sorted(position for position in positions if position is not None)

    def _draws_of(self, name: str, corpus: Corpus, first: int, last: int) -> Iterator[int]:
        if not self.stretches:
            return
        grid, number = self.stretches[0].grid, self._number(name)
        source = self.sources[number]
        n = source.window_count(grid)
        before = sum(other.windows(grid) for other in source.corpora[: source.corpora.index(corpus)])
        # Window k holds tokens kL to kL + L, its last target included.
        windows = range(max(0, -((grid - first) // grid)), min(corpus.windows(grid) - 1, last // grid) + 1)
        for epoch in self._served_epochs(number, n):
            permutation = _permutation(n, self.seed, self._keys[number], epoch)
            for k in windows:
                yield epoch * n + permutation.inverse(before + k)

    def _served_epochs(self, number: int, n: int) -> Iterator[int]:
        """Yield the epochs of a source, in which `n` is drawn, without those that a skip passes over whole."""
        passed_over = [
            (stretch.base[number] + stretch.blend.counts(first)[number], stretch.base[number] + stretch.blend.counts(end)[number])
            for stretch in self.stretches
            for first, end in stretch.skips.passed_over()
            if end - first >= n
        ]
        epoch = 0
        while epoch * n < self.draws[number]:
            run = bisect_right(passed_over, (epoch * n, self.draws[number])) - 1
            if run >= 0 and passed_over[run][1] >= (epoch + 1) * n:
                epoch = passed_over[run][1] // n
            else:
                yield epoch
                epoch += 1

    def _number(self, source: str) -> int:
        if source not in self._numbers:
            raise RangeError(f"expected a source of the plan ({', '.join(self._numbers)}), found {source!r}")
        return self._numbers[source]

    def _find(self, source: str, corpus: str) -> Corpus:
        corpora = {item.name: item for item in self.sources[self._number(source)].corpora}
        if corpus not in corpora:
            raise RangeError(f"expected a corpus of source {source!r} ({', '.join(corpora)}), found {corpus!r}")
        return corpora[corpus]


@lru_cache(maxsize=16)
def _blend(weights: tuple[int, ...], rule: str, length: int | None) -> Blend:
    return Blend(weights, rule, length)


@lru_cache(maxsize=4096)
def _permutation(n: int, seed: int, source_key: int, epoch: int) -> Permutation:
    return Permutation(n, seed, source_key, epoch)
