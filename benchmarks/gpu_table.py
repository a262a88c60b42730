"""The lines of `make gpu-check`, and how the parts that bring them are run: each in a process of its own, which may fail, hang or crash."""

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SAID = 3000
"""Characters kept of what a program that failed had printed."""
RUNNING: set[int] = set()
"""Process groups of the parts that run now."""


@dataclass(frozen=True)
class Row:
    """One line: what was found, what is wanted of it, a word or a bound ("at least", "at most" or "under"), and what is behind it."""

    what: str
    found: float | str
    wanted: float | str | None = None
    bound: str = "at least"
    note: str = ""
    said: str = ""
    """What a program printed that failed."""

    @property
    def short(self) -> bool:
        """Whether it is not what is wanted; what is no number is not, either."""
        if self.wanted is None:
            return False
        if isinstance(self.found, str) or isinstance(self.wanted, str):
            return self.found != self.wanted
        met = {"at least": self.found >= self.wanted, "at most": self.found <= self.wanted, "under": self.found < self.wanted}
        return not met[self.bound]

    def __str__(self) -> str:
        """Return the line as it is printed."""
        found = f"{self.found:.4g}" if isinstance(self.found, float) else self.found
        wanted = f"{self.bound} {self.wanted:g}" if isinstance(self.wanted, float) else self.wanted or ""
        line = f"{self.what:<72} {found:>12}  {wanted:<14} {'SHORT  ' if self.short else ''}{self.note}".rstrip()
        return "\n    ".join([line, *self.said.splitlines()])


def rows_of(name: str, command: Sequence[str | Path], until: float, environment: Mapping[str, str] | None = None) -> Iterator[Row]:
    """Yield the rows that a command prints, JSON a line; one more where it fails, or is stopped at `until`, of time.monotonic.

    What it has started is stopped with it.
    """
    begun = time.monotonic()
    if until - begun < 1:
        yield Row(name, "not run", "run", note="no time was left for it")
        return
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=said, text=True, env=environment, start_new_session=True
        ) as process,
    ):
        stopped = threading.Event()

        def stop() -> None:
            stopped.set()
            kill(process.pid)

        RUNNING.add(process.pid)
        alarm = threading.Timer(until - begun, stop)
        alarm.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                yield Row(**json.loads(line))
            code = process.wait()
        finally:
            alarm.cancel()
            kill(process.pid)
            RUNNING.discard(process.pid)
        said.seek(0)
        text = said.read()[-SAID:].strip()
    if stopped.is_set():
        yield Row(name, "stopped", "its end", note=f"after {time.monotonic() - begun:.0f} s", said=text)
    elif code:
        yield Row(name, "failed", "its end", note=f"exit code {code}", said=text)


def kill(group: int) -> None:
    """End every process of a group, if there is one left."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def together(parts: Mapping[str, Sequence[str | Path]], until: float, environment: Mapping[str, str] | None = None) -> Iterator[Row]:
    """Yield the rows of several parts that run at once, as they come; who stops listening, or is interrupted, ends them."""
    rows: queue.SimpleQueue[Row | None] = queue.SimpleQueue()

    def run(name: str, command: Sequence[str | Path]) -> None:
        try:
            for row in rows_of(name, command, until, environment):
                rows.put(row)
        except Exception as reason:
            rows.put(Row(name, "failed", "its end", note=f"{type(reason).__name__}: {reason}"))
        finally:
            rows.put(None)

    for part in parts.items():
        threading.Thread(target=run, args=part, daemon=True).start()
    try:
        for _ in parts:
            while (row := rows.get()) is not None:
                yield row
    finally:
        for group in list(RUNNING):
            kill(group)


def written(path: Path, about: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Write the table, whole or not at all."""
    half = path.with_name(f"{path.name}.part")
    half.write_text(json.dumps({**about, "rows": [asdict(row) | {"short": row.short} for row in rows]}, indent=1) + "\n")
    half.replace(path)
