"""The native loader: steps are read ahead by threads (csrc/prefetch.h), and handed out as torch tensors (C2, C4, C5)."""

import weakref
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import torch

from ..errors import UsageError
from ..reference import loader as reference
from ..reference import partition
from ..reference.batch import expect_kinds
from ..reference.plan import Plan
from . import _C
from .batch import Batch, filled
from .native import reader as open_reader

WAIT = 100
"""Milliseconds between looks at signals while rows are not there."""


POOLED = 1 << 28
"""Bytes of batches that nobody holds any more which a loader keeps for the next ones."""


class Loader(reference.Loader):
    """The loader of fivepoint.reference, whose batches hold torch tensors and whose steps are read before they are asked for."""

    def __init__(
        self,
        plan: Plan,
        dp_rank: int,
        dp_size: int,
        micro_batch: int,
        accumulation: int | None = None,
        checkpoint: Mapping[str, Any] | None = None,
        device: str = "cpu",
        boundaries: str | Iterable[str] | None = None,
        log: Callable[[dict[str, Any]], None] | None = None,
        override: str | None = None,
        *,
        steps_ahead: int = 2,
        threads: int = 16,
    ) -> None:
        """Open the corpora, and begin to read the first steps.

        All but the last two is what the reference takes and raises. Of each rank's share of a step, `steps_ahead` + 1 are held in memory,
        2 or 4 bytes a token; `threads` read at once, as many as a disk wants requests.
        """
        if not (1 <= steps_ahead <= 1024 and 1 <= threads <= 1024):
            raise UsageError(f"expected steps_ahead and threads from 1 to 1024, found {steps_ahead} and {threads}")
        self._steps_ahead, self._threads = steps_ahead, threads
        super().__init__(plan, dp_rank, dp_size, micro_batch, accumulation, checkpoint, device, boundaries, log, override)
        self._read_ahead()

    def commit(self, applied: bool = True) -> None:
        """Count the step as consumed, and let its memory go to a later one."""
        super().commit(applied)
        self._read_ahead()

    def load_state_dict(self, checkpoint: Mapping[str, Any], override: str | None = None) -> None:
        """Go on from a state, and begin to read what it serves next."""
        super().load_state_dict(checkpoint, override)
        self._read_ahead()

    def close(self) -> None:
        """End the loader and its threads."""
        super().close()
        if self._reader is not None:
            self._reader.close()

    @property
    def rows_read(self) -> int:
        """Rows that the native reader brought since the loader was opened: a proof that it, and nothing else, served."""
        found: int = self._reader.rows_read
        return found

    def _open_reader(self, boundaries: str | Iterable[str] | None) -> "AheadReader":
        largest = max((size for _, size in self.plan.batch_sizes), default=self.batch_size)
        return AheadReader(self.plan, boundaries, largest // self.dp_size, self._steps_ahead + 1, self._threads)

    def _read_ahead(self) -> None:
        if self._closed:
            return
        sizes = self.plan.batch_sizes or ((0, self.batch_size),)
        steps = islice(partition.steps_from(sizes, self.plan.length, self.consumed), self._steps_ahead + 1)
        ranges = [partition.rank_positions(first, size, self.dp_size, self.dp_rank) for first, size in steps]
        self._reader.want(ranges)


class AheadReader:
    """Reads the batch of any range of positions that was wanted before."""

    def __init__(self, plan: Plan, boundaries: str | Iterable[str] | None, rows: int, slots: int, threads: int) -> None:
        """Open the corpora; a slot holds `rows` rows. Raises CorpusError and UsageError as the reference's BatchReader does."""
        self._kinds = expect_kinds(boundaries)
        reader = open_reader(plan, self._kinds)
        self._seq_len = plan.phases[0].seq_len
        self._memory = [torch.empty(rows * reader.row_bytes, dtype=torch.uint8) for _ in range(slots)]
        self._prefetch = _C.Prefetch(reader, [(each.data_ptr(), each.numel(), 0) for each in self._memory], threads)
        self._pool = _C.MemoryPool(POOLED)
        # Also when nobody closes the loader: at its end, or at the interpreter's.
        self.close = weakref.finalize(self, _close, self._prefetch, self._memory)

    def want(self, ranges: Iterable[range]) -> None:
        """Name the positions that will be asked for, soonest first."""
        self._prefetch.want([(positions.start, len(positions)) for positions in ranges])

    def read(self, positions: range) -> Batch:
        """Return the batch of positions that lie in one wanted range; raises CorpusError where a row cannot be read."""

        def fill(memory: _C.Memory) -> None:
            while not self._prefetch.take(positions.start, len(positions), memory, WAIT):
                pass  # back in Python, an interruption is heard

        return filled(len(positions), self._seq_len, self._kinds, self._pool, fill)

    @property
    def rows_read(self) -> int:
        """Rows read since the reader was opened."""
        return self._prefetch.rows_read


def _close(prefetch: _C.Prefetch, memory: list[torch.Tensor]) -> None:
    """End the threads before the memory goes that they write into."""
    prefetch.close()
    memory.clear()
