"""For people who must keep torch's DataLoader: a dataset addressed by position, and a sampler that names a rank's positions (C2, C4)."""

import os
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any

import torch.utils.data

from ..errors import RangeError, UsageError
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
        if not isinstance(plan, Plan):
            raise UsageError(f"expected a plan, as Plan.load(path) returns it, found {type(plan).__name__}")
        plan.admit()
        self._plan, self._kinds = plan, expect_kinds(boundaries)
        self._reader, self._process = open_reader(plan, self._kinds), os.getpid()

    def __len__(self) -> int:
        """Return the number of positions of the run."""
        return self._plan.length

    def __getitem__(self, position: int) -> Batch:
        """Return the sample at a position, as a batch of one row; raises RangeError outside the run."""
        return self.__getitems__([position])

    def __getitems__(self, positions: Sequence[int]) -> Batch:
        """Return the batch of the samples at these positions, a row each, in that order."""
        if not positions:
            raise UsageError("expected a position or more, found none")
        outside = [at for at in positions if not (isinstance(at, Integral) and 0 <= at < self._plan.length)]
        if outside:
            raise RangeError(f"expected positions from 0 to {self._plan.length - 1}, found {outside[0]!r}")
        if self._process != os.getpid():
            # A fork has the reader as it stood, with a lock that a thread of the parent may have held.
            self._reader, self._process = open_reader(self._plan, self._kinds), os.getpid()
        reader, seq_len = self._reader, self._plan.phases[0].seq_len
        return filled(len(positions), seq_len, self._kinds, _C.MemoryPool(0), lambda memory: reader.read(list(positions), memory))

    @staticmethod
    def collate(batch: Batch) -> Batch:
        """Return the batch as it is."""
        return batch

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs to open the dataset."""
        return self.__dict__ | {"_reader": None, "_process": None}


class PositionSampler(torch.utils.data.Sampler[list[int]]):
    """The positions of each micro-batch of a dp rank from `consumed` on, for `DataLoader(batch_sampler=...)`.

    The state of the run is `consumed`, counted by the training loop after each optimizer step: what workers read ahead does not count.
    """

    def __init__(
        self, plan: Plan, dp_rank: int, dp_size: int, micro_batch: int, accumulation: int | None = None, consumed: int = 0
    ) -> None:
        """Begin at `consumed`, where a step begins; raises UsageError for any other, and for a rank and sizes that do not fit (C2.7)."""
        self._rank, self._size, self._micro_batch, wanted = partition.expect_layout(
            plan.batch_sizes, dp_rank, dp_size, micro_batch, accumulation
        )
        batch_size = self._size * self._micro_batch * (wanted or 1)
        plan.admit(batch_size)
        self._sizes, self._length = plan.batch_sizes or ((0, batch_size),), plan.length
        self.consumed = partition.whole("consumed", consumed, 0, plan.length + 1)
        if partition.steps_before(self._sizes, self._length, self.consumed) is None:
            raise UsageError(
                f"expected to go on at the beginning of a step, found {self.consumed}, which lies inside one; give the number of samples "
                "in the steps that were finished"
            )

    def __len__(self) -> int:
        """Return the number of micro-batches from `consumed` on."""
        return sum(size // (self._size * self._micro_batch) for _, size in self._steps())

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the positions of one micro-batch after the other."""
        for first, size in self._steps():
            for positions in partition.micro_batches(first, size, self._size, self._micro_batch, self._rank):
                yield list(positions)

    def _steps(self) -> Iterator[tuple[int, int]]:
        return partition.steps_from(self._sizes, self._length, self.consumed)
