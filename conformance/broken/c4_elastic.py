"""Loaders that go on at the wrong place where ranks, batches or workers are others, or a second time (C4.3, C4.4, C4.6)."""

from typing import Any

from .c4 import Resumed
from .honest import Honest


class RoundsToTheRanks(Honest):
    """Rounds the place of a restart down to a multiple of the ranks."""

    clause, fault, also = "C4.3", 9, ("C4.4",)

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on, and back by less than a sample a rank."""
        super().restore(states)
        self.consumed -= self.consumed % self.layout.dp_size


class CountsPerRank(Honest):
    """Keeps the samples of each rank apart, and takes those of the first rank times the ranks that there are now."""

    clause, fault, also = "C4.3", 10, ("C4.4", "C4.9")

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Multiply the first rank's count with the ranks of today."""
        ranks = states[0].pop("ranks")
        super().restore(states)
        self.consumed = min(self.consumed // ranks * self.layout.dp_size, self.plan.length)

    def state(self) -> dict[str, Any]:
        """Return the state, and how many ranks made it."""
        return super().state() | {"ranks": self.layout.dp_size}


class CountsSteps(Honest):
    """Keeps the number of steps, and multiplies it with the batch size of today."""

    clause, fault, also = "C4.3", 13, ("C4.4",)

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on after as many steps of the present size."""
        super().restore(states)
        self.consumed = min(self.steps * self.layout.batch_size, self.plan.length)


class CountsPerWorker(Honest):
    """Keeps what each worker has read apart, and takes the first one's count times the workers that there are now."""

    clause, fault, also = "C4.3", 17, ()

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Multiply one worker's count with the workers of today."""
        workers = states[0].pop("workers")
        super().restore(states)
        if workers != max(1, self.layout.workers):
            self.consumed = min(self.consumed // workers * max(1, self.layout.workers), self.plan.length)

    def state(self) -> dict[str, Any]:
        """Return the state, and how many workers read for it."""
        return super().state() | {"workers": max(1, self.layout.workers)}


class SecondResumeForgetsTheFirst(Resumed):
    """Counts the samples since it was started, not those before: a second restart goes back."""

    clause, fault, also = "C4.4", 3, ("C4.9",)

    def state(self) -> dict[str, Any]:
        """Return the state of the samples of this leg."""
        return self.state_at(self.consumed - (self.resumed or 0))


class OwnPlaceInTheState(Honest):
    """Saves where its own rank stands, which is right for the first rank alone."""

    clause, fault, also = "C4.6", 10, ()

    def state(self) -> dict[str, Any]:
        """Return the state, and the first position of this rank's slice."""
        return super().state() | {"own": self.layout.dp_rank * self.layout.micro_batch * self.layout.accumulation}

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on from the first state that there is, taken for the first rank's."""
        own = states[0].pop("own")
        super().restore(states)
        self.consumed += own


class StateOfTheFirstRankOnly(Honest):
    """Keeps the state on the first rank; the others save nothing, and start again from nothing."""

    clause, fault, also = "C4.6", 10, ()

    def save(self) -> bytes:
        """Return the state on the first process, and an empty one elsewhere."""
        return super().save() if self.layout.rank == 0 else b"{}"

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on from the first state that says anything."""
        told = [state for state in states if state]
        if told:
            super().restore(told)


class CountsTheStepBegunOnOtherRanks(Honest):
    """Counts a step that was begun and not committed, where it is resumed with another batch size."""

    clause, fault, also = "C4.3", 5, ("C4.4",)

    def state(self) -> dict[str, Any]:
        """Return the state, whether a step was begun, and its size."""
        return super().state() | {"begun": self.begun, "size": self.layout.batch_size}

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on, past the step where it cannot be given again as it was."""
        begun, size = states[0].pop("begun"), states[0].pop("size")
        super().restore(states)
        if begun and size != self.layout.batch_size:
            self.consumed = min(self.consumed + size, self.plan.length)
