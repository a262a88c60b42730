"""Loaders that spoil their batches somewhere alone: on other ranks, with accumulation or workers, later, after a resume (D0.2 to D0.9)."""

from typing import Any

import numpy as np

from ..driver import MicroBatch
from .honest import Honest


class _Spoils(Honest):
    """Spoils the batches of a step where `here` says so."""

    resumed = False

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on, and know that it was resumed."""
        super().restore(states)
        self.resumed = True

    def next(self) -> list[MicroBatch] | None:
        """Return the step, spoiled or not."""
        # Where the step begins is known before it is served alone.
        here, step = self.here(), super().next()
        return step if step is None or not here else [batch | self.spoiled(batch) for batch in step]

    def here(self) -> bool:
        """Return whether the next step is spoiled."""
        raise NotImplementedError

    def spoiled(self, batch: MicroBatch) -> MicroBatch:
        """Return the inputs as targets."""
        return {"targets": batch["inputs"]}

    def in_a_later_epoch(self) -> bool:
        """Return whether the next step begins in an epoch that is not the first."""
        return self.consumed < self.plan.length and self.plan.resolve(self.consumed).epoch > 0


class TargetsOnRank1(_Spoils):
    """Shifts the targets on the first rank alone."""

    clause, fault, also = "D0.2", 43, ("C2.2", "C2.6", "C3.1", "C3.2", "C4.3", "C4.4", "C4.9")

    def here(self) -> bool:
        """Return whether this is another rank."""
        return self.layout.dp_rank > 0


class TargetsWithAccumulation(_Spoils):
    """Shifts the targets where a step is one micro-batch alone."""

    clause, fault, also = "D0.2", 43, ("C2.2", "C2.6", "C3.2", "C4.3", "C4.4")

    def here(self) -> bool:
        """Return whether there are several micro-batches."""
        return self.layout.accumulation > 1


class TargetsWithWorkers(_Spoils):
    """Shifts the targets in the process of the loader alone, not in its workers."""

    clause, fault, also = "D0.2", 43, ("C3.2", "C4.3")

    def here(self) -> bool:
        """Return whether workers read."""
        return self.layout.workers > 0


class TargetsInLaterEpochs(_Spoils):
    """Shifts the targets for the first epoch, and takes what it kept for the others."""

    clause, fault, also = "D0.2", 43, ("C3.2",)

    def here(self) -> bool:
        """Return whether it is not the first epoch."""
        return self.in_a_later_epoch()


class TargetsAfterAResume(_Spoils):
    """Restores where it was, and not that targets are shifted."""

    clause, fault = "D0.2", 43
    also = ("C1.10", "C4.1", "C4.2", "C4.3", "C4.4", "C4.5", "C4.8", "C4.9")

    def here(self) -> bool:
        """Return whether it was resumed."""
        return self.resumed


class _Torn(_Spoils):
    """Fills the first token of each sample into a buffer of zeros, and no other."""

    def spoiled(self, batch: MicroBatch) -> MicroBatch:
        """Return zeros after the first input."""
        inputs = batch["inputs"].copy()
        inputs[:, 1:] = 0
        return {"inputs": inputs, "targets": np.zeros_like(inputs)}


class TornOnRank1(_Torn):
    """Fills the buffers of other ranks, and those of accumulation, from a message that was cut off."""

    clause, fault = "D0.3", None
    also = ("D0.1", "D0.2", "C2.2", "C2.6", "C3.1", "C3.2", "C4.3", "C4.4", "C4.9")

    def here(self) -> bool:
        """Return whether this is another rank, or there are several micro-batches."""
        return self.layout.dp_rank > 0 or self.layout.accumulation > 1


class TornAfterAResume(_Torn):
    """Fills its buffers from a checkpoint that holds the first tokens alone."""

    clause, fault = "D0.3", None
    also = ("D0.2", *TargetsAfterAResume.also)

    def here(self) -> bool:
        """Return whether it was resumed."""
        return self.resumed


class _Unbounded(_Spoils):
    """Takes each row for one document."""

    def spoiled(self, batch: MicroBatch) -> MicroBatch:
        """Return boundaries of rows, where there are boundaries."""
        if not self.settings.boundaries:
            return {}
        rows, size = batch["inputs"].shape
        return {
            "position_ids": np.tile(np.arange(size), (rows, 1)),
            "loss_mask": np.ones((rows, size), bool),
            "cu_seqlens": np.arange(0, rows * size + 1, size, dtype=np.int32),
        }


class UnboundedOnRank1(_Unbounded):
    """Reads the index of documents on the first rank alone."""

    clause, fault, also = "D0.6", 46, ("D0.7", "D0.8")

    def here(self) -> bool:
        """Return whether this is another rank."""
        return self.layout.dp_rank > 0


class UnboundedAfterAResume(_Unbounded):
    """Opens the index of documents at the beginning of a run alone."""

    clause, fault, also = "D0.6", 46, ("D0.7", "D0.8")

    def here(self) -> bool:
        """Return whether it was resumed."""
        return self.resumed


class UnboundedInUnions(_Unbounded):
    """Knows the documents of one corpus alone."""

    clause, fault, also = "D0.6", 46, ("D0.7", "D0.8")

    def here(self) -> bool:
        """Return whether there are several corpora."""
        return sum(map(len, self.settings.sources.values())) > 1


class UnboundedInLaterEpochs(_Unbounded):
    """Forgets the documents when it shuffles again."""

    clause, fault, also = "D0.6", 46, ("D0.7", "D0.8")

    def here(self) -> bool:
        """Return whether it is not the first epoch."""
        return self.in_a_later_epoch()


class PositionsInOneByte(_Unbounded):
    """Keeps position ids in one byte, which wraps at 256."""

    clause, fault, also = "D0.6", 46, ()

    def here(self) -> bool:
        """Return that it does so always."""
        return True

    def spoiled(self, batch: MicroBatch) -> MicroBatch:
        """Return the position ids modulo 256."""
        return {"position_ids": batch["position_ids"] % 256} if self.settings.boundaries else {}
