"""What a rank writes down about the tensors that enter its model: one JSON line a micro-batch, in a file of its own.

A line has `attempt` (how often training was started, this time included), `pid`, `step` (from 1), `rank`, `dp_size`, `micro_batch` (its
number in the step, from 0), `rows`, `consumed` (where the step begins), and `sha256` of the tensors: inputs [rows, L], then targets
[rows, L], row by row, each token a little-endian signed 64-bit integer.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np


def digest(inputs: np.ndarray[Any, Any], targets: np.ndarray[Any, Any]) -> str:
    """Return the SHA-256 of a micro-batch."""
    found = hashlib.sha256()
    for tokens in (inputs, targets):
        found.update(np.ascontiguousarray(tokens, "<i8").tobytes())
    return found.hexdigest()


class RankLog:
    """The log of one rank. A line is one write, so that a killed process leaves whole lines; a torn last one is cut off."""

    def __init__(self, folder: Path, rank: int, **fields: int) -> None:
        """Open the rank's file in `folder` for appending; `fields` stand in every line."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rank-{rank}.jsonl"
        self._fields = {"rank": rank, **fields}
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        os.ftruncate(self._file, path.read_bytes().rfind(b"\n") + 1)

    def write(self, **line: Any) -> None:
        """Append a line."""
        os.write(self._file, json.dumps({**self._fields, **line}, separators=(",", ":")).encode() + b"\n")


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a rank's file, without a torn last one; raises ValueError, naming the line, for any other that is no JSON."""
    *lines, _ = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except ValueError as reason:
            raise ValueError(f"{path}, line {number}: expected JSON, found {line[:60]!r}") from reason
