"""Loaders that overlap: faults of ranks within a step (C2)."""

from .honest import Honest


class EveryRankReadsTheSame(Honest):
    """Forgets its rank, as a loader does that was never told of the others."""

    clause, fault, also = "C2.1", 20, ("C2.2", "C2.6")

    def positions(self) -> list[list[int]]:
        """Return the positions of rank 0."""
        rank, size = self.layout.dp_rank, self.layout.micro_batch * self.layout.accumulation
        return [[position - rank * size for position in positions] for positions in super().positions()]
