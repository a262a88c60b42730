"""Whether what a rank returned is a step at all (V1)."""

from typing import Any

from .case import Leg
from .doors.replies import DriverFault
from .driver import Array, MicroBatch

KINDS = {"inputs": "iu", "targets": "iu", "position_ids": "iu", "loss_mask": "biu"}
"""Arrays of one entry a token, and the kinds of dtype that they may have."""


def step_of(value: Any, frames: list[Array], leg: Leg, seq_len: int, rank: int) -> list[MicroBatch]:
    """Return the micro-batches that an answer names; raises DriverFault for anything that is none, or not of this leg's sizes."""
    if not isinstance(value, list):
        raise DriverFault("V1", f"gave a step that is no list of micro-batches, but {_short(value)}", rank)
    step = [_micro_batch(number, batch, frames, rank) for number, batch in enumerate(value)]
    if len(step) != leg.accumulation:
        raise DriverFault("V1", f"gave {len(step)} micro-batches for a step of {leg.accumulation}", rank)
    for number, batch in enumerate(step):
        _expect_arrays(batch, (leg.micro_batch, seq_len), number, rank)
    return step


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
