"""A run log for drivers: a line of JSON for each record, safe against a torn last line (formats.md, F5)."""

import json
from pathlib import Path
from typing import Any


class LineLog:
    """A log that one process writes. What a crash left of a last line is cut off before the log goes on."""

    def __init__(self, path: Path) -> None:
        """Open the log, or begin one."""
        self.path = path
        whole = path.read_bytes() if path.exists() else b""
        path.write_bytes(whole[: whole.rfind(b"\n") + 1])
        # Unbuffered: a record is the system's as soon as it is written, and outlives the process.
        self._file = path.open("ab", buffering=0)

    def write(self, record: dict[str, Any]) -> None:
        """Append a record."""
        self._file.write(json.dumps(record).encode() + b"\n")

    def close(self) -> None:
        """Close the file; what it holds can still be asked for."""
        self._file.close()

    def records(self) -> list[dict[str, Any]]:
        """Return the records so far, of all legs of the run, without a torn last one."""
        lines = self.path.read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines[:-1]]
