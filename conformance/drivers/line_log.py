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

    def write(self, record: dict[str, Any]) -> None:
        """Append a record."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def records(self) -> list[dict[str, Any]]:
        """Return the records so far, of all legs of the run, without a torn last one."""
        lines = self.path.read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines[:-1]]
