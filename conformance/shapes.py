"""Whether what a rank returned is a step at all (V1)."""

from typing import Any

from .case import Leg
from .doors.replies import DriverFault
from .driver import Array, MicroBatch

KINDS = {"inputs": "iu", "targets": "iu", "position_ids": "iu", "loss_mask": "biu"}
"""Arrays of one entry a token, and the kinds of dtype that they may have."""


class Short(Exception):  # noqa: N818 it is a finding
    """A step is well formed and smaller than asked for: the loader's matter (C2.5) where its data run out, the driver's (V1) elsewhere."""

    def __init__(self, rank: int, found: int, asked: int) -> None:
        super().__init__(f"a step of {found} rows in place of {asked}")
        self.rank, self.found, self.asked = rank, found, asked


def step_of(value: Any, frames: list[Array], leg: Leg, seq_len: int, rank: int) -> list[MicroBatch]:
    """Return the micro-batches that an answer names; raises DriverFault for what is none, Short for one of fewer rows."""
    if not isinstance(value, list):
        raise DriverFault("V1", f"gave a step that is no list of micro-batches, but {_short(value)}", rank)
    step = [_micro_batch(number, batch, frames, rank) for number, batch in enumerate(value)]
    if not 0 < len(step) <= leg.accumulation:
        raise DriverFault("V1", f"gave {len(step)} micro-batches for a step of {leg.accumulation}", rank)
    rows = [_rows(batch, leg.micro_batch) for batch in step]
    for number, (batch, count) in enumerate(zip(step, rows, strict=True)):
        _expect_arrays(batch, (count, seq_len), number, rank)
    if sum(rows) < leg.accumulation * leg.micro_batch:
        raise Short(rank, sum(rows), leg.accumulation * leg.micro_batch)
    return step


def _rows(batch: MicroBatch, most: int) -> int:
    """Return how many rows the arrays of a micro-batch should have: as many as the inputs, where those are no more than asked for."""
    inputs = batch.get("inputs")
    return len(inputs) if inputs is not None and inputs.ndim == 2 and 0 < len(inputs) < most else most


def _micro_batch(number: int, value: Any, frames: list[Array], rank: int) -> MicroBatch:
    if not isinstance(value, dict):
        raise DriverFault("V1", f"gave as micro-batch {number} no object that names arrays, but {_short(value)}", rank)
    for name, index in value.items():
        # Not `in range`: true is 1 to Python.
        if type(index) is not int or not 0 <= index < len(frames):
            raise DriverFault("V1", f"named frame {_short(index)} for {name} in micro-batch {number}, of {len(frames)} frames", rank)
    return {name: frames[index] for name, index in value.items()}


def _short(value: Any) -> str:
    return f"{value!r:.60} ({type(value).__name__})"


def _expect_arrays(batch: MicroBatch, wanted: tuple[int, int], number: int, rank: int) -> None:
    if "inputs" not in batch:
        raise DriverFault("V1", f"gave no inputs in micro-batch {number}", rank)
    for name, kinds in KINDS.items():
        if name in batch and (batch[name].shape != wanted or batch[name].dtype.kind not in kinds):
            raise DriverFault("V1", f"gave {name} of {batch[name].dtype} {batch[name].shape} for integers {wanted}", rank)
    bounds = batch.get("cu_seqlens")
    if bounds is not None and (bounds.ndim != 1 or bounds.dtype.kind not in "iu"):
        raise DriverFault("V1", f"gave cu_seqlens of {bounds.dtype} {bounds.shape} for one row of integers", rank)
