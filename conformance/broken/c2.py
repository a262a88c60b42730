"""Loaders that overlap: faults of ranks within a step (C2)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..driver import Layout, MicroBatch, Settings
from .honest import Honest


class EveryRankReadsTheSame(Honest):
    """Forgets its rank, as a loader does that was never told of the others."""

    clause, fault, also = "C2.1", 20, ("C2.2", "C2.5", "C2.6", "C3.1", "C3.2", "C4.3", "C4.4", "C4.9")

    def positions(self) -> list[list[int]]:
        """Return the positions of rank 0."""
        size = self.layout.micro_batch * self.layout.accumulation
        return [[position - self.layout.dp_rank * size for position in positions] for positions in super().positions()]


class ShardsTwice(Honest):
    """Takes its share of its share: of every slice of the step only each dp_size-th sample is read, and the rest is never seen."""

    clause, fault = "C2.2", 21
    also = ("C1.1", "C1.2", "C1.3", "C1.6", "C1.10", "C2.5", "C2.6", "C3.1", "C3.2", "C4.3", "C4.4", "C4.5", "C4.6", "C4.9")

    def positions(self) -> list[list[int]]:
        """Return the positions of a slice of a step that is dp_size times as long."""
        layout = self.layout
        return [[position * layout.dp_size + layout.dp_rank for position in positions] for positions in self.slices()]

    def slices(self) -> list[list[int]]:
        """Return the slice of this rank."""
        return super().positions()

    def over(self) -> bool:
        """Return whether the positions run out, which they do early."""
        return (self.consumed + self.layout.batch_size) * self.layout.dp_size > self.plan.length


class SlicesByTheGlobalRank(Honest):
    """Takes tensor and pipeline parallel peers for dp ranks of their own."""

    clause, fault, also = "C2.3", 19, ("C4.1",)

    def positions(self) -> list[list[int]]:
        """Return the slice of a rank among all processes."""
        own = self.layout
        if own.peers == 1:
            return super().positions()
        size = own.micro_batch * own.accumulation
        shift = (own.rank - own.dp_rank) * size
        return [[(position + shift) % self.plan.length for position in positions] for positions in super().positions()]


class UnevenTail(Honest):
    """Gives what is left at the end of the run to the first ranks, and nothing to the others."""

    clause, fault, also = "C2.4", 23, ("C2.5",)

    def over(self) -> bool:
        """Return whether this rank finds no more samples."""
        size = self.layout.micro_batch * self.layout.accumulation
        return self.consumed + (self.layout.dp_rank + 1) * size > self.plan.length


class PadsTheLastStep(Honest):
    """Fills the last step with samples from the beginning of the run."""

    clause, fault, also = "C2.5", 22, ("C3.3", "C4.5")

    def over(self) -> bool:
        """Return whether nothing at all is left."""
        return self.consumed >= self.plan.length

    def served(self, position: int) -> int:
        """Return the position, counted on from the beginning past the end."""
        return position % self.plan.length


class ShortAtTheEndOfAnEpoch(Honest):
    """Gives what is left of an epoch of one source as its last micro-batch, however little, as a sampler does that drops nothing."""

    clause, fault, also = "C2.5", 22, ()

    def batch(self, positions: list[int]) -> MicroBatch:
        """Return the samples of the first one's epoch."""
        if len(self.plan.sources) > 1:
            return super().batch(positions)
        first = self.plan.resolve(positions[0]).epoch
        return super().batch([position for position in positions if self.plan.resolve(position).epoch == first])


class StridesThroughTheStep(Honest):
    """Gives rank r every dp_size-th sample, not a contiguous slice: the same sets, other rows."""

    clause, fault, also = "C2.6", None, ()

    def positions(self) -> list[list[int]]:
        """Return this rank's samples of the step, one in dp_size."""
        layout, size = self.layout, self.layout.micro_batch
        mine = list(range(self.consumed + layout.dp_rank, self.consumed + layout.batch_size, layout.dp_size))
        return [mine[start : start + size] for start in range(0, len(mine), size)]


class RoundsTheBatchSize(Honest):
    """Makes the batch size fit the ranks, and says nothing."""

    clause, fault, also = "C2.7", None, ()

    def expect_batch_size(self) -> None:
        """Take any layout."""


class CopiesTheBatchOfPeersLate(Honest):
    """Peers other than the first get the batch of the step before, through a broadcast buffer that is one step late."""

    clause, fault, also = "C2.3", 19, ("C4.1",)

    def next(self) -> list[MicroBatch] | None:
        """Return the step before to every later peer."""
        if not self.layout.peer or not self.consumed:
            return super().next()
        if self.over():
            return None
        late = replace(self.layout)
        self.consumed -= late.batch_size
        step = super().next()
        self.consumed += late.batch_size
        return step


class RankInThreeBits(Honest):
    """Keeps its dp rank in three bits."""

    clause, fault, also = "C2.1", 20, ("C2.2", "C2.6")

    def positions(self) -> list[list[int]]:
        """Return the positions of the rank modulo 8."""
        size = self.layout.micro_batch * self.layout.accumulation
        back = self.layout.dp_rank // 8 * 8 * size
        return [[position - back for position in positions] for positions in super().positions()]


class PeersOneAheadWithAccumulation(Honest):
    """Sends the micro-batches of accumulation to the later peers one sample ahead."""

    clause, fault, also = "C2.3", 19, ("C4.1",)

    def served(self, position: int) -> int:
        """Return the next position to every later peer, where there are several micro-batches."""
        return (position + 1) % self.plan.length if self.layout.peer and self.layout.accumulation > 1 else position


class PeersRestart(Honest):
    """Restores the state on the first peer alone; the others begin anew."""

    clause, fault, also = "C4.1", 11, ()

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on, or begin anew."""
        super().restore(states)
        if self.layout.peer:
            self.consumed = 0


class BatchSizeOfTheFirstLegAlone(Honest):
    """Looks at the batch size when a run begins, not when it goes on."""

    clause, fault, also = "C2.7", None, ()

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, without the batch size where there are states."""
        super().build(corpus, workdir, replace(settings, batch_size=None) if states else settings, layout, states)


class PadsEveryEpoch(Honest):
    """Fills every epoch of a source up to a multiple of the ranks, with its own first samples, as a sampler does by default."""

    clause, fault, also = "C2.5", 22, ("C1.3",)
    promises = Honest.promises - (
        {"order", "mixture", "prefix", "phases", "skips", "amend", "where", "hash"} | {"layout", "any_batch", "elastic", "rebatch"}
    )

    def served(self, position: int) -> int:
        """Return the place in the epoch, taken round at its end."""
        n, ranks = self.plan.sources[0].window_count(self.settings.seq_len), self.layout.dp_size
        epoch, offset = divmod(position, -(-n // ranks) * ranks)
        return epoch * n + offset % n
