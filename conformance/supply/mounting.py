"""Starts and ends a slow file system (slow_files.py), and says why there is none here."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from .seat import Unmeasured

WITHIN = 20.0
"""Seconds in which a folder is mounted, or unmounted."""


def missing() -> str:
    """Return what a slow file system lacks here, "" where it lacks nothing."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "no FUSE here: /dev/fuse cannot be opened"
    if which("fusermount3") is None:
        return "no FUSE here: no fusermount3 (fuse3)"
    if find_spec("mfusepy") is None:
        return "no FUSE here: no mfusepy (the extra `bench`)"
    return ""


class Slow:
    """A mounted folder; its reads are as fast as the folder's own, until they are told otherwise."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self.folder, self._process = folder, process

    def latency(self, seconds: float) -> None:
        """Have every read take so long from now on."""
        self._tell(f"latency {seconds}")

    def stall(self, seconds: float) -> None:
        """Have no read answered before so many seconds are over."""
        self._tell(f"stall {seconds}")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            said = self._process.stdout.readline().strip()
        except OSError as reason:
            said = f"saying {reason.strerror}"
        if said != "done":
            raise Unmeasured(f"the slow file system ended, {said or 'saying nothing'}")


@contextmanager
def slow(folder: Path, mountpoint: Path) -> Iterator[Slow]:
    """Mount a folder at `mountpoint`, an empty folder, for the `with` block; raises Unmeasured where that cannot be."""
    if reason := missing():
        raise Unmeasured(reason)
    command = [sys.executable, "-P", "-m", "fivepoint.conformance.supply.slow_files", str(folder), str(mountpoint)]
    # What is looked for where this process does: fivepoint may be there by sys.path alone.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in map(os.path.abspath, sys.path) if os.path.exists(path))}
    # Nobody reads what it says to standard error while it runs: a pipe would be full one day, and it would wait.
    errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 closed below
    process = subprocess.Popen(command, text=True, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
    try:
        end = time.monotonic() + WITHIN
        while not os.path.ismount(mountpoint):
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                process.communicate()
                errors.seek(0)
                said = errors.read().strip().splitlines()[-1:] or ["nothing"]
                raise Unmeasured(f"no FUSE here: {said[0]}")
            time.sleep(0.02)
        yield Slow(process, mountpoint)
    finally:
        _end(process, mountpoint)
        errors.close()


def _end(process: "subprocess.Popen[str]", mountpoint: Path) -> None:
    try:
        # Its standard input ends, at which it unmounts.
        process.communicate(timeout=WITHIN)
    except (subprocess.TimeoutExpired, BrokenPipeError):
        process.kill()
        process.communicate()
    if os.path.ismount(mountpoint):
        subprocess.run(["fusermount3", "-u", "-z", str(mountpoint)], check=False, capture_output=True)
