"""A rank as a process: what is sent and heard, what it started, and how it ends."""

import os
import select
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..driver import Array
from . import procfs
from .replies import DriverFault, opened
from .wire import LONGEST_LINE, Rubbish, packed, receive

MARK = "FIVEPOINT_CONFORMANCE_RANK"
"""Environment variable by which whatever a rank starts is found again, in whatever session it hides."""


class Process:
    """A rank as a process in a session of its own, so that it can be ended with all its children."""

    def __init__(self, command: Sequence[str], number: int, workdir: Path, limit: float, environment: dict[str, str]) -> None:
        self.number, self._limit = number, limit
        self._mark = uuid.uuid4().hex
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 lives as long as the process
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                cwd=workdir,
                env=environment | {MARK: self._mark},
                start_new_session=True,
                bufsize=0,
            )
        except OSError as reason:
            raise DriverFault("V2", f"could not be started: {reason.strerror or reason}: {' '.join(command)}", number) from reason
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        self._ahead = b""
        self._deadline = 0.0

    @property
    def pid(self) -> int:
        """Number of the process in the system."""
        return self._process.pid

    def members(self) -> list[int]:
        """Return the numbers of the process and of everything that it started, as far as they run."""
        return procfs.carrying(f"{MARK}={self._mark}")

    def ask(self, request: dict[str, Any], frames: Sequence[Array] = ()) -> None:
        """Send a request; the time for its answer begins now."""
        self._deadline = time.monotonic() + self._limit
        if self._ahead or (select.select([self._stdout], [], [], 0)[0] and self._more()):
            raise DriverFault("V2", f"said what it was not asked for: {self._ahead[:80]!r}", self.number)
        try:
            for data in packed(request, frames):
                self._write(data)
        except BrokenPipeError:
            raise DriverFault("V2", self._epitaph(), self.number) from None

    def reply(self) -> tuple[Any, list[Array]]:
        """Return what came back within the time limit."""
        try:
            message, frames = receive(self._read_line, self._read)
        except Rubbish as reason:
            raise DriverFault("V2", f"answered with no message: {reason}", self.number) from reason
        except EOFError:
            raise DriverFault("V2", self._epitaph(), self.number) from None
        return opened(message, frames, self.number)

    def kill(self) -> None:
        """SIGKILL to the process and everything that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        end = time.monotonic() + 1
        while (strays := self.members()) and time.monotonic() < end:
            for stray in strays:
                with suppress(ProcessLookupError):
                    os.kill(stray, signal.SIGKILL)
            time.sleep(0.005)
        self._process.wait()

    def kill_alone(self) -> None:
        """SIGKILL to the process, and to nothing that it started."""
        self._process.kill()
        self._process.wait()

    def leave(self, seconds: float) -> bool:
        """Close its standard input, and return whether it ended by itself within `seconds`."""
        with suppress(OSError):
            self._stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode is not None

    def end(self) -> None:
        """Let it end by itself, kill what is left of it, and close the pipes."""
        self.leave(5)
        self.kill()
        self._stdout.close()
        self._said.close()

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            left = self._deadline - time.monotonic()
            if left <= 0 or not select.select([], [self._stdin], [], left)[1]:
                raise DriverFault("V2", f"did not read what it was asked within {self._limit:g} s", self.number)
            rest = rest[os.write(self._stdin.fileno(), rest) :]

    def _read_line(self) -> bytes:
        while b"\n" not in self._ahead:
            if len(self._ahead) > LONGEST_LINE:
                raise Rubbish(f"a line of more than {LONGEST_LINE} bytes")
            if not self._more():
                return b""
        line, _, self._ahead = self._ahead.partition(b"\n")
        return line + b"\n"

    def _read(self, size: int) -> bytes:
        parts = [self._ahead[:size]]
        self._ahead, missing = self._ahead[size:], size - len(parts[0])
        while missing:
            if not self._more():
                raise Rubbish(f"the stream ended {missing} bytes before the end of a frame")
            parts.append(self._ahead[:missing])
            missing -= len(parts[-1])
            self._ahead = self._ahead[len(parts[-1]) :]
        return b"".join(parts)

    def _more(self) -> bool:
        left = self._deadline - time.monotonic()
        if left <= 0 or not select.select([self._stdout], [], [], left)[0]:
            raise DriverFault("V2", f"did not answer within {self._limit:g} s", self.number)
        data = os.read(self._stdout.fileno(), 1 << 20)
        self._ahead += data
        return bool(data)

    def _epitaph(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self._said.seek(0)
        last = self._said.read()[-400:].decode(errors="replace").strip().splitlines()
        return f"ended with status {self._process.returncode}" + (f", saying: {last[-1]}" if last else "")
