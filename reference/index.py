"""The document index of a shard: the first token of each document, in numpy's NPY format 1.0 (formats.md, F1)."""

import io
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def starts_in(data: bytes) -> Array:
    """Return the array of the index file with these bytes, int64 [documents]; raises ValueError for any other file."""
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"expected NPY version 1.0, found {version}")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    except Exception as reason:
        # A header that was torn is parsed as Python, and numpy lets out whatever that raises: SyntaxError, TokenError, IndexError, ...
        raise ValueError(" ".join(str(reason).split()) or type(reason).__name__) from reason
    if dtype != np.dtype("<i8") or len(shape) != 1 or fortran:
        raise ValueError(f"expected one axis of <i8, found {len(shape)} of {dtype.str}")
    if len(data) - file.tell() != 8 * shape[0]:
        raise ValueError(f"expected {8 * shape[0]} bytes of data, found {len(data) - file.tell()}")
    return np.frombuffer(data, dtype="<i8", offset=file.tell())
