"""Messages between the suite and the process of a rank: a line of JSON, then the raw bytes of its frames (DRIVERS.md)."""

import json
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, BinaryIO

import numpy as np

from ..driver import Array

DTYPES = ("uint8", "bool", "int32", "int64", "uint16", "uint32")
LONGEST_LINE = 1 << 26
LARGEST = 1 << 31
"""Bytes of all the frames of a message."""
MOST_AXES = 8


class Rubbish(ValueError):  # noqa: N818 what was received, not what went wrong
    """What arrived is no message."""


def packed(message: dict[str, Any], frames: Sequence[Array] = ()) -> Iterator[bytes]:
    """Yield the bytes of a message; `frames` become C-order little-endian arrays, named in the line by dtype and shape."""
    whole = [np.asarray(frame, frame.dtype.newbyteorder("<"), order="C") for frame in frames]
    described = [{"dtype": frame.dtype.name, "shape": list(frame.shape)} for frame in whole]
    yield json.dumps({**message, "frames": described}).encode() + b"\n"
    for frame in whole:
        yield frame.tobytes()


def send(stream: BinaryIO, message: dict[str, Any], frames: Sequence[Array] = ()) -> None:
    """Write a message."""
    for data in packed(message, frames):
        stream.write(data)
    stream.flush()


def receive(read_line: Callable[[], bytes], read_exactly: Callable[[int], bytes]) -> tuple[dict[str, Any], list[Array]]:
    """Return the next message and its frames; raises Rubbish for anything else, EOFError at the end of the stream."""
    line = read_line()
    if not line:
        raise EOFError
    try:
        message = json.loads(line)
        described = [(frame["dtype"], [int(size) for size in frame["shape"]]) for frame in message.get("frames", [])]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as reason:
        raise Rubbish(f"expected a line of JSON, found {_short(line)}") from reason
    frames = []
    left = LARGEST
    for dtype, shape in described:
        if dtype not in DTYPES or any(size < 0 for size in shape):
            raise Rubbish(f"expected frames of {', '.join(DTYPES)}, found {str(dtype)[:80]} {_short(shape)}")
        size = prod(shape) * np.dtype(dtype).itemsize
        left -= size
        # numpy multiplies the axes of an array without entries too, all but those of length 0.
        if left < 0 or len(shape) > MOST_AXES or prod(axis for axis in shape if axis) > LARGEST:
            raise Rubbish(f"expected frames of at most 2 GiB in all and {MOST_AXES} axes each, found {dtype} {_short(shape)}")
        try:
            data = read_exactly(size)
        except MemoryError as reason:
            raise Rubbish(f"expected frames that memory holds, found {dtype} {_short(shape)}") from reason
        frames.append(np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).reshape(shape))
    return message, frames


def _short(line: bytes | list[int]) -> str:
    try:
        return repr(line[:80])[:100] + ("..." if len(line) > 80 else "")
    except ValueError:  # a number of more digits than Python prints
        return "one too long to show"
