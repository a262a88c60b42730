"""A rank as a process: what is sent and heard, what it started, and how it ends."""

import os
import select
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..driver import Array
from . import procfs
from .nursery import MARK, Forked, Nursery
from .replies import DriverFault, opened
from .wire import LONGEST_LINE, Rubbish, packed, receive

__all__ = ["MARK", "Process"]


class Process:
    """A rank as a process in a session of its own, so that it can be ended with all its children."""

    def __init__(
        self,
        command: Sequence[str],
        number: int,
        workdir: Path,
        limit: float,
        environment: Mapping[str, str],
        name: str = MARK,
        nursery: Nursery | None = None,
    ) -> None:
        """`name` is the variable of the mark: MARK for the process of one rank, which a `nursery` may fork in place of the command."""
        self.number, self._limit = number, limit
        self._mark = f"{name}={uuid.uuid4().hex}"
        self._kin: dict[int, int] = {}
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 lives as long as the process
        environment = {**environment, name: self._mark.partition("=")[2]}
        self._process: subprocess.Popen[bytes] | Forked
        try:
            self._process = (
                nursery.fork(self._said, workdir, environment)
                if nursery
                else subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._said,
                    cwd=workdir,
                    env=environment,
                    start_new_session=True,
                    bufsize=0,
                )
            )
        except OSError as reason:
            raise DriverFault("V2", f"could not be started: {reason.strerror or reason}: {' '.join(command)}", number) from reason
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        self._ahead = b""
        self._frame = -1
        self._allowed, self._deadline = limit, 0.0

    @property
    def pid(self) -> int:
        """Number of the process in the system."""
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def members(self) -> list[int]:
        """Return the numbers of the process and of everything that it started, as far as they run.

        They carry its mark, or were its descendants when this was last asked: a child without variables has its parent alone to tell.
        """
        known = {member for member, began in self._kin.items() if procfs.started(member) == began}
        known |= {*procfs.carrying(self._mark), *([self.pid] if self.runs else ())}
        began = {member: procfs.started(member) for member in {*known, *procfs.descendants(known)}}
        self._kin = {member: ticks for member, ticks in began.items() if ticks is not None}
        return sorted(self._kin)

    def ask(self, request: dict[str, Any], frames: Sequence[Array] = (), limit: float | None = None) -> None:
        """Send a request; the time for its answer begins now, `limit` seconds in place of the usual ones."""
        self._allowed = self._limit if limit is None else limit
        self._deadline = time.monotonic() + self._allowed
        if self._ahead or (select.select([self._stdout], [], [], 0)[0] and self._more()):
            raise DriverFault("V2", f"said what it was not asked for: {self._ahead[:80]!r}", self.number)
        try:
            for data in packed(request, frames):
                self._write(data)
        except BrokenPipeError:
            raise DriverFault("V2", self._epitaph(), self.number) from None

    def reply(self) -> tuple[Any, list[Array]]:
        """Return what came back within the time limit."""
        return opened(*self.hear(), self.number)

    def hear(self) -> tuple[dict[str, Any], list[Array]]:
        """Return the message that came back within the time limit, whatever it says."""
        self._frame = -1
        try:
            return receive(self._read_line, self._read)
        except Rubbish as reason:
            raise DriverFault("V2", f"answered with no message: {reason}", self.number) from reason
        except EOFError:
            raise DriverFault("V2", self._epitaph(), self.number) from None

    def kill(self) -> None:
        """SIGKILL to the process and everything that it started."""
        if self.runs:
            # Children that do not carry the mark are found as long as their parent runs.
            self.members()
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
        self.members()
        self._process.kill()
        self._process.wait()

    def release(self) -> None:
        """Close its standard input, at which it has to end."""
        if not self._stdin.closed:
            self.members()
            with suppress(OSError):
                self._stdin.close()

    def leave(self, seconds: float) -> bool:
        """Release it, and return whether it ended by itself within `seconds`."""
        self.release()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(seconds, 0))
        return self._process.returncode is not None

    def end(self, seconds: float = 0.0) -> bool:
        """Release it, kill what is left of it after `seconds`, close the pipes, and return whether it ended by itself."""
        ended = self.leave(seconds)
        self.kill()
        self._stdout.close()
        self._said.close()
        return ended

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            left = self._deadline - time.monotonic()
            if left <= 0 or not select.select([], [self._stdin], [], left)[1]:
                raise DriverFault("V2", f"did not read what it was asked within {self._allowed:g} s", self.number)
            rest = rest[os.write(self._stdin.fileno(), rest) :]

    def _read_line(self) -> bytes:
        while b"\n" not in self._ahead:
            if len(self._ahead) > LONGEST_LINE:
                raise Rubbish(f"a line of more than {LONGEST_LINE} bytes")
            if not self._more(f", but for {len(self._ahead)} bytes of a line that does not end" if self._ahead else ""):
                return b""
        line, _, self._ahead = self._ahead.partition(b"\n")
        return line + b"\n"

    def _read(self, size: int) -> bytes:
        parts = [self._ahead[:size]]
        self._ahead, missing = self._ahead[size:], size - len(parts[0])
        self._frame += 1
        while missing:
            if not self._more(f", but for {size - missing} of {size} bytes of frame {self._frame}"):
                raise Rubbish(f"the stream ended {missing} bytes before the end of a frame")
            parts.append(self._ahead[:missing])
            missing -= len(parts[-1])
            self._ahead = self._ahead[len(parts[-1]) :]
        return b"".join(parts)

    def _more(self, came: str = "") -> bool:
        left = self._deadline - time.monotonic()
        if left <= 0 or not select.select([self._stdout], [], [], left)[0]:
            raise DriverFault("V2", f"did not answer within {self._allowed:g} s{came}", self.number)
        data = os.read(self._stdout.fileno(), 1 << 20)
        self._ahead += data
        return bool(data)

    def _epitaph(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        if self._process.returncode is None:
            return "closed its standard output, and runs on"
        self._said.seek(max(self._said.seek(0, os.SEEK_END) - 400, 0))
        last = self._said.read().decode(errors="replace").strip().splitlines()
        return _ended(self._process.returncode) + (f", saying: {last[-1]}" if last else "")


def _ended(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"
