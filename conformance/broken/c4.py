"""Loaders that go on at the wrong place: faults of resumption (C4.1, C4.2, C4.5)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ...reference.mixing import word
from ...reference.permutation import Permutation
from ...reference.records import Sample, Span
from ..driver import Layout, Settings
from ..drivers.reference import plan_for
from .honest import Honest

RESUMED = ("C1.10", "C4.2", "C4.3", "C4.4", "C4.5", "C4.8", "C4.9")
"""What cannot hold either where the simplest resume goes wrong."""


class Resumed(Honest):
    """Remembers where it was resumed: None in a run that was not."""

    resumed: int | None = None

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build as ever, and take down where."""
        self.resumed = None
        super().build(corpus, workdir, settings, layout, states)
        self.resumed = self.consumed if states else None

    def sample(self, planned: Sample, draw: int) -> Sample:
        """Return what `draw` of the source of a planned sample is, whatever the plan makes of it."""
        source = next(source for source in self.plan.sources if source.name == planned.source)
        grid = self.plan.phases[planned.phase].grid
        n = source.window_count(grid)
        epoch, offset = divmod(draw, n)
        window = Permutation(n, self.plan.seed, word(source.name), epoch)(offset)
        corpus, k = source.locate(window, grid)
        return replace(planned, draw=draw, epoch=epoch, offset=offset, window=window, spans=(Span(corpus.name, k * grid, grid + 1),))

    def windows(self, planned: Sample) -> int:
        """Return the number of windows of a planned sample's source."""
        source = next(source for source in self.plan.sources if source.name == planned.source)
        return source.window_count(self.plan.phases[planned.phase].grid)


class FirstEpochsOrderAfterResume(Resumed):
    """Sets the epoch on no shuffle after a restart: the epoch that was stopped goes on in the order of the first one."""

    clause, fault, also = "C4.1", 1, RESUMED

    def resolve(self, position: int) -> Sample:
        """Return the sample of the first epoch at the same offset."""
        planned = super().resolve(position)
        if self.resumed is None or planned.epoch != super().resolve(min(self.resumed, self.plan.length - 1)).epoch:
            return planned
        return self.sample(planned, planned.offset)


class OffsetInEveryEpoch(Resumed):
    """Passes over the same number of samples at the beginning of every epoch after a restart, not of the first alone."""

    clause, fault, also = "C4.1", 2, RESUMED

    def resolve(self, position: int) -> Sample:
        """Return the sample, with the beginning of every later epoch left out."""
        planned = super().resolve(position)
        if self.resumed is None:
            return planned
        n = self.windows(planned)
        left = n - self.resumed % n
        later, offset = divmod(position - self.resumed - left, left)
        if later < 0:
            return planned
        return self.sample(planned, (self.resumed // n + 1 + later) * n + n - left + offset)


class CountsWhatWasPrefetched(Honest):
    """Takes the samples that its workers have read ahead, two steps, for consumed."""

    clause, fault, also = "C4.1", 4, RESUMED

    def state(self) -> dict[str, Any]:
        """Return the state of two steps later."""
        return self.state_at(self.consumed + 2 * self.layout.batch_size)


class StateBeforeTheCounter(Honest):
    """Writes its state before the counter moves: the last step is served again."""

    clause, fault, also = "C4.1", 5, RESUMED
    lag = 0

    def commit(self, applied: bool = True) -> None:
        """Count, and leave the state as it was."""
        self.lag = self.layout.batch_size
        super().commit(applied)

    def state(self) -> dict[str, Any]:
        """Return the state of one step before."""
        return self.state_at(self.consumed - self.lag)


class ForgetsAccumulation(Honest):
    """Counts a step as if it held one micro-batch a rank."""

    clause, fault, also = "C4.1", 7, RESUMED

    def state(self) -> dict[str, Any]:
        """Return the state of as many samples as a run without accumulation would have served."""
        return self.state_at(self.consumed // self.layout.accumulation)


class CountsPeers(Honest):
    """Counts each sample once for every process that trains on it: with two tensor parallel peers the state is twice as far."""

    clause, fault, also = "C4.1", 11, RESUMED

    def state(self) -> dict[str, Any]:
        """Return the state of peers times as many samples."""
        return self.state_at(self.consumed * self.layout.peers)


class MixtureSwitchesOneStepLate(Honest):
    """Looks for the next phase before it counts the step: after a restart every change of mixture comes one step late."""

    clause, fault, also = "C4.1", 14, RESUMED

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Move the border between the phases that are left."""
        super().build(corpus, workdir, settings, layout, states)
        border = settings.phases[0].length
        late = layout.batch_size
        if states and len(settings.phases) > 1 and self.consumed < border and settings.phases[1].length > late:
            first, second, *rest = settings.phases
            phases = [replace(first, length=border + late), replace(second, length=second.length - late), *rest]
            self.plan = plan_for(corpus, replace(settings, phases=phases))


class SkipsAgainAfterResume(Honest):
    """Applies the skips of the past once more when it is resumed."""

    clause, fault, also = "C4.1", 15, RESUMED

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Add the skips that lie behind to the place of the restart."""
        super().build(corpus, workdir, settings, layout, states)
        again = sum(count for at, count in settings.skips if at < self.consumed)
        if states and again and self.consumed < settings.length:
            skips = dict(settings.skips)
            skips[self.consumed] = skips.get(self.consumed, 0) + again
            self.plan = plan_for(corpus, replace(settings, skips=sorted(skips.items())))


class CountsAtNext(Honest):
    """Counts a step when it is asked for, before the optimizer has taken it."""

    clause, fault, also = "C4.2", 6, ("C4.3",)

    def state(self) -> dict[str, Any]:
        """Return the state with the step that is being trained on."""
        return self.state_at(self.consumed + self.begun * self.layout.batch_size)


class SavingEmptiesTheQueue(Honest):
    """Drops what its workers have read when it is asked for its state: one step is missing after each save."""

    clause, fault, also = "C4.2", 4, ()
    dropped = 0

    def save(self) -> bytes:
        """Return the state, and forget the step that was ready."""
        state = super().save()
        self.dropped += self.layout.batch_size
        return state

    def served(self, position: int) -> int:
        """Return the position, past what was dropped."""
        return (position + self.dropped) % self.plan.length


class NothingAfterAWholeEpoch(Resumed):
    """Finds its epoch used up when it is resumed exactly at the end of one, and ends at once, cleanly."""

    clause, fault, also = "C4.5", 8, ()

    def over(self) -> bool:
        """Return whether it was resumed at the end of an epoch."""
        if super().over() or len(self.plan.sources) > 1:
            return super().over()
        return bool(self.resumed) and self.resumed == self.consumed and self.plan.resolve(self.consumed).offset == 0


class BorderBelongsToThePast(Resumed):
    """Looks up the mixture of the sample before its place: resumed exactly where it changes, it serves the old one for a step."""

    clause, fault, also = "C4.5", 14, ("C4.8",)

    def resolve(self, position: int) -> Sample:
        """Return the sample, or in that step the one that the phase before would have gone on with."""
        border = self.settings.phases[0].length
        late = self.resumed == border <= position < border + self.layout.batch_size
        if not late or len(self.settings.phases) == 1:
            return super().resolve(position)
        first, second, *rest = self.settings.phases
        phases = [replace(first, length=border + second.length), *rest]
        return plan_for(self.corpus, replace(self.settings, phases=phases)).resolve(position)


class EndsOnlyOnce(Resumed):
    """Begins again when it is resumed at the end of the run."""

    clause, fault, also = "C4.5", 8, ()

    def over(self) -> bool:
        """Return whether the run is over, which it is not for a loader that was just resumed."""
        return super().over() and not (self.resumed is not None and self.resumed == self.consumed > 0)

    def served(self, position: int) -> int:
        """Return the position, counted from the beginning past the end."""
        return position % self.plan.length
