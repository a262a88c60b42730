"""For people who must keep torch's DataLoader: a dataset addressed by position, and a sampler that names a rank's positions (C2, C4)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch.utils.data

from ..errors import RangeError
from ..reference import partition
from ..reference.batch import expect_kinds
from ..reference.plan import Plan
from . import _C
from .batch import Batch, filled
from .native import reader as open_reader


class PositionDataset(torch.utils.data.Dataset[Batch]):
    """The samples of a run by position. It holds no thread, and each process opens its files anew: workers may be forked or spawned.

    Give it to a DataLoader with `batch_sampler=PositionSampler(...)` and `collate_fn=PositionDataset.collate`.
    """

    def __init__(self, plan: Plan, boundaries: str | Iterable[str] | None = None) -> None:
        """Open the corpora of the plan; `boundaries` as for a Loader. Raises PlanError, CorpusError and UsageError as it does."""
        plan.admit()
        self._plan, self._kinds = plan, expect_kinds(boundaries)
        self._reader: _C.Reader | None = open_reader(plan, self._kinds)

    def __len__(self) -> int:
        """Return the number of positions of the run."""
        return self._plan.length

    def __getitem__(self, position: int) -> Batch:
        """Return the sample at a position, as a batch of one row; raises RangeError outside the run."""
        return self.__getitems__([position])

    def __getitems__(self, positions: Sequence[int]) -> Batch:
        """Return the batch of the samples at these positions, a row each, in that order."""
        outside = [position for position in positions if not 0 <= position < self._plan.length]
        if outside:
            raise RangeError(f"expected positions from 0 to {self._plan.length - 1}, found {outside[0]}")
        if self._reader is None:
            self._reader = open_reader(self._plan, self._kinds)
        reader, seq_len = self._reader, self._plan.phases[0].seq_len
        return filled(len(positions), seq_len, self._kinds, _C.MemoryPool(0), lambda memory: reader.read(list(positions), memory))

    @staticmethod
    def collate(batch: Batch) -> Batch:
        """Return the batch as it is."""
        return batch

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs to open the dataset."""
        return self.__dict__ | {"_reader": None}


class PositionSampler:
    """The positions of each micro-batch of a dp rank from `consumed` on, for `DataLoader(batch_sampler=...)`.

    The state of the run is `consumed`, counted by the training loop after each optimizer step: what workers read ahead does not count.
    """

    def __init__(
        self, plan: Plan, dp_rank: int, dp_size: int, micro_batch: int, accumulation: int | None = None, consumed: int = 0
    ) -> None:
        """Begin at `consumed`; raises UsageError for sizes that do not fit the plan's (C2.7)."""
        sizes = plan.batch_sizes or ((0, dp_size * micro_batch * (accumulation or 1)),)
        for _, size in sizes:
            partition.accumulation_for(size, dp_size, micro_batch, accumulation)
        self._sizes, self._length = sizes, plan.length
        self._rank, self.consumed = (dp_size, micro_batch, dp_rank), consumed

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the positions of one micro-batch after the other."""
        dp_size, micro_batch, dp_rank = self._rank
        for first, size in partition.steps_from(self._sizes, self._length, self.consumed):
            for positions in partition.micro_batches(first, size, dp_size, micro_batch, dp_rank):
                yield list(positions)
