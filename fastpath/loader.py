"""The native loader: steps are read ahead by threads (csrc/prefetch.h), and handed out as torch tensors (C2, C4, C5)."""

import weakref
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import torch

from ..errors import UsageError
from ..reference import loader as reference
from ..reference import partition
from ..reference.batch import Step, expect_kinds
from ..reference.plan import Plan
from . import _C
from .batch import Batch
from .native import reader as open_reader
from .placement import WAIT, Cuda, Host, placement

MOST = 1024
"""Steps that are read ahead, and threads that read them."""


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
        device: str | torch.device = "cpu",
        boundaries: str | Iterable[str] | None = None,
        log: Callable[[dict[str, Any]], None] | None = None,
        override: str | None = None,
        *,
        steps_ahead: int = 2,
        threads: int = 16,
    ) -> None:
        """Open the corpora, and begin to read the first steps.

        All but `device` and the last two is what the reference takes and raises. Batches lie on `device`, one of torch's. Of the rank's
        share of a step, `steps_ahead` + 1 are held in memory, 2 or 4 bytes a token, for a CUDA device in pinned memory and as many there;
        `threads` read at once, as many as a disk wants requests. Raises DeviceError for a device that is not there.
        """
        self._placement = placement(device)
        self._steps_ahead = partition.whole("steps_ahead", steps_ahead, 1, MOST + 1)
        self._threads = partition.whole("threads", threads, 1, MOST + 1)
        self._read_from = -1
        super().__init__(plan, dp_rank, dp_size, micro_batch, accumulation, checkpoint, "cpu", boundaries, log, override)
        self._read_ahead()

    def __next__(self) -> Step:
        """Return the next step; raises StopIteration and UsageError as the reference's does."""
        if self._read_from != self.consumed and not self._closed:
            self._read_ahead()  # a log that failed, or an interruption, kept it from being read
        return super().__next__()

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
    def transfers(self) -> str:
        """By what batches come to their device: "none" on the CPU, "fivepoint" by transfers of our own, "torch" by torch's copies."""
        return self._placement.transfers

    @property
    def rows_read(self) -> int:
        """Rows that the native reader brought since the loader was opened: a proof that it, and nothing else, served."""
        found: int = self._reader.rows_read
        return found

    def _open_reader(self, boundaries: str | Iterable[str] | None) -> "AheadReader":
        sizes = [size for _, size in self.plan.batch_sizes] or [self.batch_size]
        largest = max((size for size in sizes if size <= self.plan.length), default=0)
        return AheadReader(self.plan, boundaries, self._placement, largest // self.dp_size, self._steps_ahead + 1, self._threads)

    def _read_ahead(self) -> None:
        if self._closed:
            return
        sizes = self.plan.batch_sizes or ((0, self.batch_size),)
        steps = islice(partition.steps_from(sizes, self.plan.length, self.consumed), self._steps_ahead + 1)
        ranges = [partition.rank_positions(first, size, self.dp_size, self.dp_rank) for first, size in steps]
        self._reader.want(ranges)
        self._read_from = self.consumed


class AheadReader:
    """Reads the batch of any range of positions that was wanted before."""

    def __init__(
        self, plan: Plan, boundaries: str | Iterable[str] | None, placement: Host | Cuda, rows: int, slots: int, threads: int
    ) -> None:
        """Open the corpora; a slot holds `rows` rows. Raises CorpusError and UsageError as the reference's BatchReader does."""
        self._kinds = expect_kinds(boundaries)
        reader = open_reader(plan, self._kinds)
        self._seq_len = plan.phases[0].seq_len
        size = rows * reader.row_bytes
        try:
            memory = [placement.slot(size) for _ in range(slots)]
        except (RuntimeError, MemoryError) as reason:
            raise UsageError(
                f"expected memory for {slots} steps of {rows} rows, {slots * size:,} bytes, found less; "
                "take smaller batches, more ranks or fewer steps ahead"
            ) from reason
        addresses = [(host.data_ptr(), size, 0 if there is None else there.data_ptr()) for host, there in memory]
        self._prefetch = _C.Prefetch(reader, addresses, threads, placement.driver, placement.stream(), memory)
        self._placement = placement
        # When nobody closes the loader its threads end with it, or with the interpreter; a device is not waited for here.
        self._end = weakref.finalize(self, self._prefetch.close, 0)

    def close(self) -> None:
        """End the threads, and wait until the device uses none of the memory any more."""
        self._end()
        while not self._prefetch.close(WAIT):
            pass  # back in Python, an interruption is heard

    def want(self, ranges: Iterable[range]) -> None:
        """Name the positions that will be asked for, soonest first."""
        self._prefetch.want([(positions.start, len(positions)) for positions in ranges])

    def read(self, positions: range) -> Batch:
        """Return the batch of positions that lie in one wanted range; raises CorpusError where a row cannot be read."""
        return self._placement.read(self._prefetch, positions, self._seq_len, self._kinds)

    @property
    def rows_read(self) -> int:
        """Rows read since the reader was opened."""
        return self._prefetch.rows_read
