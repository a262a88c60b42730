"""How a run is cut into steps and dealt to ranks, asked in both directions: position to step and row, step to positions (A7)."""

from dataclasses import asdict, dataclass
from typing import Any

from ..errors import RangeError, UsageError
from ..reference import partition
from ..reference.plan import Plan


@dataclass(frozen=True)
class Place:
    """The step that serves a position, counted from 1 as the run log counts, and the row that holds it.

    What depends on sizes that nobody gave is None: the rank needs `dp_size`, micro-batch and row `micro_batch` too.
    """

    step: int
    dp_rank: int | None = None
    micro_batch: int | None = None
    row: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are known."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Layout:
    """Batch sizes of a run of `length` positions, empty where nobody gave any, and the sizes of its ranks as far as they are known."""

    batch_sizes: partition.BatchSizes
    length: int
    dp_size: int | None = None
    micro_batch: int | None = None

    @classmethod
    def of(cls, plan: Plan, dp_size: int | None = None, micro_batch: int | None = None, accumulation: int | None = None) -> "Layout":
        """Return the layout of `plan` on these ranks; B is the plan's, or the product of the three, `accumulation` being 1 if not given.

        Raises UsageError for a batch size that the ranks do not divide, or that contradicts the accumulation (C2.7).
        """
        sizes: partition.BatchSizes = plan.batch_sizes
        if not sizes and dp_size and micro_batch:
            sizes = [(0, dp_size * micro_batch * (accumulation or 1))]
        for _, size in sizes:
            partition.accumulation_for(size, dp_size or 1, micro_batch or 1, accumulation if dp_size and micro_batch else None)
        return cls(sizes, plan.length, dp_size, micro_batch)

    def place(self, position: int) -> Place | None:
        """Return where `position` is served; None where no step serves it, or where no batch size is known."""
        found = partition.step_of(self.batch_sizes, self.length, position) if self.batch_sizes else None
        return found and place(position, found[0] + 1, found[1], found[2], self.dp_size, self.micro_batch)

    def positions(self, step: int) -> range:
        """Return the positions of step number `step`, from 1; raises RangeError where the run has no such step."""
        if not self.batch_sizes:
            raise UsageError("expected a batch size, found none in the plan; give --dp-size, --micro-batch and --accumulation")
        steps, _ = partition.step_count(self.batch_sizes, self.length)
        if not 1 <= step <= steps:
            raise RangeError(f"expected a step from 1 to {steps}, the last whole one of the run, found {step}")
        first = partition.position_after(self.batch_sizes, step - 1)
        return range(first, first + partition.batch_size_at(self.batch_sizes, first))


def place(position: int, step: int, first: int, batch_size: int, dp_size: int | None, micro_batch: int | None) -> Place:
    """Return the place of `position` in step `step`, which serves `batch_size` positions from `first` on."""
    if dp_size is None:
        return Place(step)
    dp_rank, within = divmod(position - first, batch_size // dp_size)
    if micro_batch is None:
        return Place(step, dp_rank)
    return Place(step, dp_rank, *divmod(within, micro_batch))
