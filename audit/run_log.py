"""The run log: one JSON line for each committed step, safe against a torn last line (formats.md, F5; C4.9, C4.11)."""

import fcntl
import json
import logging
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import OutputError, RunLogError, UsageError
from ..reference.files import sync_folder, written
from .log_lines import Record, check, parse, read, shown

BLOCK = 1 << 16
BEGINNINGS = (b'{"event"', b'{"step"')
"""How every line of a run log begins."""


class RunLog:
    """A run log opened for appending, by one process at a time. `Loader(log=run_log.write)` writes a line a step.

    Each line reaches the disk before `write` returns: a checkpoint written after the step is then never ahead of the log, not even after a
    power failure. That costs a flush to disk (milliseconds) a step. With `fsync_every=n` only each n-th line waits for it: a killed process
    still loses nothing, a machine that fails may lose the last n - 1 lines.
    """

    def __init__(self, path: str | Path, fsync_every: int = 1) -> None:
        """Open the log, or begin one; a torn last line is cut off, `torn` bytes of it.

        The last whole line must be a record; those before it are held to that when they are read, so that a resume costs the same at any
        step (C4.10). Raises RunLogError, and changes nothing, where another process writes the log or that line is no record, OutputError
        where it cannot be written, UsageError for an `fsync_every` under 1.
        """
        self.path = Path(path)
        self.torn = 0
        if fsync_every < 1:
            raise UsageError(f"expected fsync_every of at least 1, found {fsync_every}")
        self._fsync_every, self._waiting, self._last_step = fsync_every, 0, 0
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as reason:
            raise OutputError(f"cannot write {self.path}: {reason.strerror or reason}; correct the path or the rights") from reason
        try:
            self._expect_file()
            self._lock()
            self._cut_torn_line()
            sync_folder(self.path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one record, whole or not at all.

        Raises RunLogError for a record that F5 does not know, and for a start of another run than the log's, OutputError where the disk
        does not take it: the log is then as it was, or, where not even that can be had, closed, and the part that stands in it is cut off
        when it is next opened.
        """
        if self._file < 0:
            raise OutputError(f"cannot write {self.path}: the log is closed; open it again")
        value = dict(record)
        check(value, f"a record for {self.path}")
        if "event" in value:
            self._expect_one_run(value)
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
        before = os.fstat(self._file).st_size
        try:
            _write_all(self._file, line)
            if self._waiting + 1 >= self._fsync_every:
                os.fsync(self._file)
        except OSError as reason:
            self._cut_to(before)
            raise OutputError(
                f"cannot write {self.path}: {reason.strerror or reason}; the line of this step is not in it, make room and resume"
            ) from reason
        self._waiting = (self._waiting + 1) % self._fsync_every
        self._last_step = value["step"]

    def close(self) -> None:
        """Flush what waits, and let another process write the log; raises OutputError where the disk does not take it."""
        if self._file >= 0:
            try:
                if self._waiting:
                    with written(self.path):
                        os.fsync(self._file)
            finally:
                os.close(self._file)
                self._file = -1

    def __enter__(self) -> "RunLog":
        """Return the log, closed at the end of the `with` block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the log."""
        self.close()

    def _expect_file(self) -> None:
        # A device or a pipe can neither be cut back nor be read again.
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise OutputError(f"cannot write {self.path}: expected a regular file, found a device or a pipe; choose another path")

    def _lock(self) -> None:
        # The lock is the kernel's: it ends with the process, however that ends, and leaves no file.
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as reason:
            raise RunLogError(
                f"{self.path} is being written by another process; give log= on one rank only, or choose another file"
            ) from reason

    def _cut_torn_line(self) -> None:
        size = os.fstat(self._file).st_size
        whole = _end_of_last_line(self._file, size)
        if whole:
            begin = _end_of_last_line(self._file, whole - 1)
            self._last_step = parse(os.pread(self._file, whole - begin, begin), f"{self.path}, the last line")["step"]
        self.torn = size - whole
        if self.torn:
            if not whole:
                self._expect_begun()
            os.ftruncate(self._file, whole)
            os.fsync(self._file)
            logging.getLogger(__name__).warning(
                "%s ended in a torn line of %d bytes, left by a crash; it was cut off, and the log goes on after the last whole line",
                self.path,
                self.torn,
            )

    def _expect_one_run(self, start: Record) -> None:
        """Raise RunLogError where the log holds another past than that of the loader that opens it, and tell of steps that it undoes."""
        before = None if "override" in start else self._line_at(start["consumed"])
        if before is not None and before["prefix_hash"] != start["prefix_hash"]:
            raise RunLogError(
                f"{self.path} is the log of another run: up to position {start['consumed']} it was served by plan {before['plan_hash']}, "
                f"whose past is not that of plan {start['plan_hash']}; choose another file for this run"
            )
        if start["step"] < self._last_step:
            logging.getLogger(__name__).warning(
                "%s holds steps up to %d, and this start after step %d undoes those after it; to go on, resume from the last checkpoint",
                self.path,
                self._last_step,
                start["step"],
            )

    def _line_at(self, consumed: int) -> Record | None:
        """Return the last line with this `consumed`; None where there is none. Only lines that the start undoes are read."""
        end = os.fstat(self._file).st_size
        if consumed == 0 and end:
            first = next(read(self.path))
            return first if first["consumed"] == 0 else None
        while end:
            begin = _end_of_last_line(self._file, end - 1)
            record = parse(os.pread(self._file, end - begin, begin), f"{self.path}, byte {begin}")
            if record["consumed"] <= consumed:
                return record if record["consumed"] == consumed else None
            end = begin
        return None

    def _expect_begun(self) -> None:
        """Raise RunLogError unless a file without one whole line is the beginning of a log, or blank: it could be anybody's text."""
        start = os.pread(self._file, max(map(len, BEGINNINGS)), 0)
        if start.strip(b"\0") and not any(known.startswith(start) or start.startswith(known) for known in BEGINNINGS):
            raise RunLogError(
                f"{self.path}: expected a run log or no file, found one line that is no record, "
                f"{shown(start.decode('utf-8', 'backslashreplace'))}; choose another file"
            )

    def _cut_to(self, size: int) -> None:
        try:
            os.ftruncate(self._file, size)
        except OSError:
            # A line after a part of one would be a corrupt line in the middle; the part alone is a torn last one.
            os.close(self._file)
            self._file = -1


def _end_of_last_line(file: int, size: int) -> int:
    """Return how many of the first `size` bytes end in a newline; read from the end, a block at a time."""
    end = size
    while end:
        begin = max(0, end - BLOCK)
        at = os.pread(file, end - begin, begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        end = begin
    return 0


def _write_all(file: int, data: bytes) -> None:
    """Write all of `data`: the system may take less than it is given."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
