"""Steps and ranks: which positions a step, a dp rank and a micro-batch hold (A7; C2, C4.3)."""

import operator
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import UsageError

BatchSizes = Sequence[tuple[int, int]]


def batch_size_at(batch_sizes: BatchSizes, consumed: int) -> int:
    """Return B of the step that begins at `consumed`: the size of the last pair (from, size) with from <= consumed."""
    return next(size for start, size in reversed(batch_sizes) if start <= consumed)


def steps_from(batch_sizes: BatchSizes, length: int, consumed: int) -> Iterator[tuple[int, int]]:
    """Yield (first position, B) of each step that a run serves from `consumed` on."""
    while consumed + (size := batch_size_at(batch_sizes, consumed)) <= length:
        yield consumed, size
        consumed += size


def step_of(batch_sizes: BatchSizes, length: int, position: int) -> tuple[int, int, int] | None:
    """Return (number, first position, B) of the step that serves `position`; None for one that no step serves, at the run's end.

    Steps are numbered from 0; one entry of `batch_sizes` costs constant time, however many steps it covers.
    """
    number = begin = 0
    for i, (_, size) in enumerate(batch_sizes):
        end = batch_sizes[i + 1][0] if i + 1 < len(batch_sizes) else length
        steps = max(0, -(-(end - begin) // size))
        if position < begin + steps * size:
            ahead = (position - begin) // size
            first = begin + ahead * size
            return (number + ahead, first, size) if first + size <= length else None
        number, begin = number + steps, begin + steps * size
    return None


def step_count(batch_sizes: BatchSizes, length: int) -> tuple[int, int]:
    """Return (number of whole steps in the run, positions at its end that no step serves)."""
    number = begin = 0
    for i, (_, size) in enumerate(batch_sizes):
        end = min(length, batch_sizes[i + 1][0]) if i + 1 < len(batch_sizes) else length
        begun = max(0, -(-(end - begin) // size))
        whole = min(begun, (length - begin) // size)
        number, begin = number + whole, begin + whole * size
        if whole < begun:
            break
    return number, length - begin


def steps_before(batch_sizes: BatchSizes, length: int, consumed: int) -> int | None:
    """Return how many steps were committed when a run from 0 stands at `consumed`; None where no step ends there."""
    if consumed == 0:
        return 0
    found = step_of(batch_sizes, length, consumed - 1)
    return found[0] + 1 if found and found[1] + found[2] == consumed else None


def accumulation_for(batch_size: int, dp_size: int, micro_batch: int, wanted: int | None = None) -> int:
    """Return batch_size / (dp_size * micro_batch); raises UsageError where it is no whole number, or not the one `wanted` (C2.7)."""
    if batch_size % (dp_size * micro_batch):
        raise UsageError(
            f"expected a batch size that dp_size * micro_batch = {dp_size} * {micro_batch} = {dp_size * micro_batch} divides, found "
            f"{batch_size}; "
            "choose another micro_batch or number of ranks"
        )
    accumulation = batch_size // (dp_size * micro_batch)
    if wanted not in (None, accumulation):
        raise UsageError(
            f"expected accumulation {accumulation} for the plan's batch size {batch_size} = {dp_size} ranks * {micro_batch} "
            f"* accumulation, found {wanted}; leave it out, and it follows from the plan"
        )
    return accumulation


def expect_layout(
    batch_sizes: BatchSizes, dp_rank: Any, dp_size: Any, micro_batch: Any, accumulation: Any
) -> tuple[int, int, int, int | None]:
    """Return (dp_rank, dp_size, micro_batch, accumulation) as whole numbers that fit every batch size (C2.7); raises UsageError."""
    size = whole("dp_size", dp_size, 1)
    rank, micro = whole("dp_rank", dp_rank, 0, size), whole("micro_batch", micro_batch, 1)
    wanted = None if accumulation is None else whole("accumulation", accumulation, 1)
    for _, batch_size in batch_sizes:
        accumulation_for(batch_size, size, micro, wanted)
    return rank, size, micro, wanted


def whole(name: str, value: Any, least: int, end: int | None = None) -> int:
    """Return `value` as an int; raises UsageError unless it is a whole number from `least` on, below `end`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or (end is not None and number >= end):
        wanted = f"at least {least}" if end is None else f"from {least} to {end - 1}"
        raise UsageError(f"expected {name} to be a whole number, {wanted}, found {value!r}")
    return number


def rank_positions(consumed: int, batch_size: int, dp_size: int, dp_rank: int) -> range:
    """Return the positions of `dp_rank` in the step that begins at `consumed`."""
    share = batch_size // dp_size
    first = consumed + dp_rank * share
    return range(first, first + share)


def micro_batches(consumed: int, batch_size: int, dp_size: int, micro_batch: int, dp_rank: int) -> list[range]:
    """Return the positions of each micro-batch of `dp_rank` in the step that begins at `consumed`, in order of service."""
    own = rank_positions(consumed, batch_size, dp_size, dp_rank)
    return [own[start : start + micro_batch] for start in range(0, len(own), micro_batch)]


def position_after(batch_sizes: BatchSizes, steps: int) -> int:
    """Return `consumed` after `steps` steps of a run without end."""
    number = begin = 0
    for i, (_, size) in enumerate(batch_sizes):
        ahead = steps - number
        if i + 1 < len(batch_sizes):
            ahead = min(ahead, max(0, -(-(batch_sizes[i + 1][0] - begin) // size)))
        number, begin = number + ahead, begin + ahead * size
    return begin
