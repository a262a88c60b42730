"""What a loader served, as the suite received it: legs of steps of ranks of micro-batches, and the samples in them."""

import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .case import Case, Leg
from .corpora import Identity
from .driver import Array, Layout, MicroBatch
from .shapes import Short

SampleKey = tuple[str, int]
"""What a sample is, whatever its row: the corpus and the number of its first token there."""

UNKNOWN = "?"
"""How the corpus of a key begins that names no place."""


@dataclass(frozen=True)
class Sample:
    """One row that one process received. `position` is where A7 puts it: consumed before the step, and its place in it."""

    leg: int
    step: int
    layout: Layout
    micro: int
    row: int
    position: int
    inputs: Array
    targets: Array | None

    @property
    def first(self) -> int:
        """Serial number of the first input."""
        return int(self.inputs[0])


@dataclass
class StepTrace:
    """One step: the micro-batches of every process. `lost` steps were committed after the last saved state and before a kill."""

    consumed: int
    batches: list[list[MicroBatch]]
    committed: bool = True
    lost: bool = False


@dataclass
class LegTrace:
    """One attempt: what its processes served, whether the loader said that the run is over, and which ranks said so before the others."""

    number: int
    leg: Leg
    start: int
    steps: list[StepTrace] = field(default_factory=list)
    ended: bool = False
    ended_early: list[int] = field(default_factory=list)
    endless: bool = False
    short: Short | None = None
    """Why what was recorded was not read to its end, if a step was smaller than asked for."""


@dataclass
class Trace:
    """A whole run of a case, over all its legs."""

    case: Case
    legs: list[LegTrace] = field(default_factory=list)

    @cached_property
    def identity(self) -> Identity:
        """Tells where each token comes from."""
        return Identity(self.case.corpora)

    def steps(self) -> Iterator[tuple[LegTrace, StepTrace]]:
        """Yield the steps that count: committed, and not lost by a kill."""
        for leg, _, step in self._numbered():
            yield leg, step

    def _numbered(self) -> Iterator[tuple[LegTrace, int, StepTrace]]:
        for leg in self.legs:
            for number, step in enumerate(leg.steps):
                if step.committed and not step.lost:
                    yield leg, number, step

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in order of position, of each dp rank's first process: C2.3 says that its peers have the same."""
        for leg, number, step in self._numbered():
            share = leg.leg.micro_batch * leg.leg.accumulation
            for layout, batches in zip(leg.leg.layouts(), step.batches, strict=True):
                if layout.peer:
                    continue
                for micro, batch in enumerate(batches):
                    for row in range(len(batch["inputs"])):
                        position = step.consumed + layout.dp_rank * share + micro * leg.leg.micro_batch + row
                        targets = batch["targets"][row] if "targets" in batch else None
                        yield Sample(leg.number, number, layout, micro, row, position, batch["inputs"][row], targets)

    def window(self, sample: Sample) -> SampleKey:
        """Return which window the sample is, by its first token; an unknown one counts as a corpus of its own, which D0 finds."""
        place = self.identity.place(sample.first)
        return (UNKNOWN, sample.first) if place is None else (place.corpus, place.token)

    def key(self, sample: Sample) -> SampleKey:
        """Return what the sample is, all of its tokens: a window where they are those of one, else something that equals no window."""
        inputs = sample.inputs.astype(np.int64)
        targets = inputs + 1 if sample.targets is None else sample.targets.astype(np.int64)
        if np.array_equal(inputs, inputs[0] + np.arange(len(inputs))) and np.array_equal(targets, inputs + 1):
            return self.window(sample)
        return f"{UNKNOWN}{zlib.crc32(inputs.tobytes() + targets.tobytes()):08x}", sample.first

    def windows(self) -> list[SampleKey]:
        """Return the windows of the samples that count, in order of position."""
        return [self.window(sample) for sample in self.samples()]

    def keys(self) -> list[SampleKey]:
        """Return the samples that count, in order of position."""
        return [self.key(sample) for sample in self.samples()]

    def blocks(self) -> list[tuple[int, int, Counter[SampleKey]]]:
        """Return the steps that count as (first position, one past the last, the samples in between, in no order)."""
        found: dict[int, tuple[int, Counter[SampleKey]]] = {}
        for leg, step in self.steps():
            found[step.consumed] = (step.consumed + leg.leg.batch_size, Counter())
        starts = sorted(found)
        for sample in self.samples():
            start = starts[bisect_right(starts, sample.position) - 1]
            found[start][1][self.key(sample)] += 1
        return [(start, end, counts) for start, (end, counts) in sorted(found.items())]
