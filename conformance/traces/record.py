"""Writes what a training loop was served into a file that `fivepoint conform --trace` judges (formats.md, F7).

This module needs numpy and nothing else: it may be copied to where fivepoint is not installed.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

DTYPES = ("uint8", "bool", "int32", "int64", "uint16", "uint32")


def start(
    path: str | Path,
    case: Mapping[str, Any],
    dp_rank: int,
    dp_size: int,
    micro_batch: int,
    accumulation: int = 1,
    *,
    run: str = "run",
    leg: int = 0,
    consumed: int = 0,
    peer: int = 0,
    tp: int = 1,
    pp: int = 1,
    cp: int = 1,
    promises: Sequence[str] = (),
    stride: str = "L",
) -> BinaryIO:
    """Begin the file of one process.

    `case` is the object in case.json, as `fivepoint conform --record` wrote it beside the corpora. `run` names what belongs together:
    after a restart the same run goes on with the next `leg`, at the `consumed` of the state that was loaded. `promises` are names of
    DRIVERS.md: what is not promised is not judged.
    """
    layout = {"dp_rank": dp_rank, "dp_size": dp_size, "micro_batch": micro_batch, "accumulation": accumulation}
    layout |= {"peer": peer, "tp": tp, "pp": pp, "cp": cp}
    header = {"format": "fivepoint-trace", "version": 1, "case": {"corpora": case["corpora"], "settings": case["settings"]}}
    header |= {"run": run, "leg": leg, "consumed": consumed, "layout": layout, "promises": sorted(promises), "stride": stride}
    file = Path(path).open("wb")  # noqa: SIM115 it is open as long as the loop runs
    _write(file, header)
    return file


def record(file: BinaryIO, micro_batches: Sequence[Mapping[str, Any]], committed: bool = True) -> None:
    """Add a step when the optimizer has taken it: for each micro-batch its arrays by name, `inputs` [b, l] at least, `targets` best too.

    Anything that numpy can view as an array of integers will do. With `committed=False` the step was begun and never taken.
    """
    frames: list[Any] = []
    named = []
    for batch in micro_batches:
        named.append({name: len(frames) + i for i, name in enumerate(batch)})
        frames += [_whole(array) for array in batch.values()]
    _write(file, {"step": {"committed": committed, "micro_batches": named}}, frames)


def finish(file: BinaryIO, ended: bool) -> None:
    """Close the file; `ended` says whether the loader had no further step."""
    if ended:
        _write(file, {"ended": True})
    file.close()


def _whole(array: Any) -> Any:
    found = np.ascontiguousarray(array)
    return found if found.dtype.name in DTYPES else found.astype(np.int64)


def _write(file: BinaryIO, message: dict[str, Any], frames: Sequence[Any] = ()) -> None:
    described = [{"dtype": frame.dtype.name, "shape": list(frame.shape)} for frame in frames]
    file.write(json.dumps({**message, "frames": described}).encode() + b"\n")
    for frame in frames:
        file.write(frame.astype(frame.dtype.newbyteorder("<")).tobytes())
    # A killed process loses the step that it was in, and no other.
    file.flush()
