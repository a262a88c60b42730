"""The two doors to a loader: a driver inside this process, and a process for each rank that speaks messages over its pipes."""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from .driver import MUSTS, Array, Driver, Layout, Refusal
from .host import answer, find
from .wire import LONGEST_LINE, Rubbish, receive, send


class DriverFault(Exception):  # noqa: N818 it is a finding
    """The driver broke a MUST of DRIVERS.md, so nothing can be said about the loader: `must` is V1, V2 or V3."""

    def __init__(self, must: str, found: str, rank: int | None = None) -> None:
        super().__init__(f"{MUSTS[must]} Found: {'' if rank is None else f'process {rank} '}{found}")
        self.must, self.found, self.rank = must, found, rank


class LoaderError(Exception):
    """The loader raised an error where it should have served, refused or said that the run is over."""


class Rank(Protocol):
    """One process of the loader, or what stands for it. All ranks are asked before any is heard, so that they can meet."""

    number: int

    def ask(self, request: dict[str, Any], frames: Sequence[Array] = ()) -> None:
        """Send a request."""

    def reply(self) -> tuple[Any, list[Array]]:
        """Return what came back; raises Refusal, LoaderError or DriverFault."""

    def kill(self) -> None:
        """End it as a power failure would: nothing is closed, flushed or said."""

    def end(self) -> None:
        """End it, and whatever it left running."""


class Door(Protocol):
    """Opens ranks."""

    def open(self, layouts: Sequence[Layout], workdir: Path, environment: dict[str, str], fresh: bool) -> list[Rank]:
        """Return a new rank for each layout."""


class InProcess:
    """Drivers as objects of this process: fast, and enough for what needs no process of its own. Where one is asked for, it is opened."""

    def __init__(self, name: str, limit: float = 30.0) -> None:
        """`name` as for `host.find`; `limit` is the time for one request, in seconds."""
        self.name, self.limit = name, limit
        self.driver = find(name)

    def open(self, layouts: Sequence[Layout], workdir: Path, environment: dict[str, str], fresh: bool) -> list[Rank]:
        """Return a new rank for each layout."""
        if fresh or environment:
            return Processes(host_command(self.name), self.limit).open(layouts, workdir, environment, fresh)
        return [Here(self.driver(), layout.rank, self.limit) for layout in layouts]


class Here:
    """A rank inside this process."""

    def __init__(self, driver: Driver, number: int, limit: float) -> None:
        self.number = number
        self._driver, self._limit = driver, limit
        self._reply: tuple[dict[str, Any], list[Array]] = ({}, [])

    def ask(self, request: dict[str, Any], frames: Sequence[Array] = ()) -> None:
        """Do it at once, within the time limit."""
        try:
            with _alarm(self._limit):
                self._reply = answer(self._driver, request, list(frames))
        except _Late:
            raise DriverFault("V2", f"did not answer within {self._limit:g} s", self.number) from None

    def reply(self) -> tuple[Any, list[Array]]:
        """Return what came back."""
        return _opened(*self._reply, self.number)

    def kill(self) -> None:
        """Forget the driver: it is not closed."""

    def end(self) -> None:
        """Nothing runs on."""


class Processes:
    """A process for each rank, started by a command that speaks the messages of DRIVERS.md."""

    def __init__(self, command: Sequence[str], limit: float = 60.0) -> None:
        """`limit` is the time for one request, in seconds; the first one pays for the imports."""
        self.command, self.limit = list(command), limit

    def open(self, layouts: Sequence[Layout], workdir: Path, environment: dict[str, str], fresh: bool) -> list[Rank]:
        """Return a new process for each layout, with the variables by which launchers tell ranks who they are."""
        world = str(len(layouts))
        return [
            Process(
                self.command,
                layout.rank,
                workdir,
                self.limit,
                os.environ
                | {"RANK": str(layout.rank), "LOCAL_RANK": str(layout.rank), "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world}
                | environment,
            )
            for layout in layouts
        ]


class Process:
    """A rank as a process in a session of its own, so that it can be ended with all its children."""

    def __init__(self, command: Sequence[str], number: int, workdir: Path, limit: float, environment: dict[str, str]) -> None:
        self.number, self._limit = number, limit
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 lives as long as the process
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                cwd=workdir,
                env=environment,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as reason:
            raise DriverFault("V2", f"could not be started: {reason.strerror or reason}: {' '.join(command)}", number) from reason
        self._ahead = b""
        self._deadline = 0.0

    def ask(self, request: dict[str, Any], frames: Sequence[Array] = ()) -> None:
        """Send a request; the time for its answer begins now."""
        self._deadline = time.monotonic() + self._limit
        assert self._process.stdin is not None
        try:
            send(self._process.stdin, request, frames)  # type: ignore[arg-type] # an unbuffered pipe writes bytes like any other
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
        return _opened(message, frames, self.number)

    def kill(self) -> None:
        """SIGKILL to the process and its children."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        """Let it end by itself, kill what is left of its session, and close the pipes."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self.kill()
        self._process.stdout.close()
        self._said.close()

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
        assert self._process.stdout is not None
        left = self._deadline - time.monotonic()
        if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
            raise DriverFault("V2", f"did not answer within {self._limit:g} s", self.number)
        data = os.read(self._process.stdout.fileno(), 1 << 20)
        self._ahead += data
        return bool(data)

    def _epitaph(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self._said.seek(0)
        last = self._said.read()[-400:].decode(errors="replace").strip().splitlines()
        return f"ended with status {self._process.returncode}" + (f", saying: {last[-1]}" if last else "")


def host_command(name: str) -> list[str]:
    """Return the command that serves a driver in Python."""
    return [sys.executable, "-P", "-m", "fivepoint.conformance.host", name]


def _opened(message: dict[str, Any], frames: list[Array], number: int) -> tuple[Any, list[Array]]:
    if "refused" in message:
        raise Refusal(message["refused"])
    if "error" in message:
        raise LoaderError(f"process {number}: {message['error']}")
    if "ok" not in message:
        raise DriverFault("V2", f"answered without ok, refused or error: {str(message)[:80]}", number)
    return message["ok"], frames


class _Late(BaseException):
    """The time limit has passed. Not an Exception, so that no handler of the loader's takes it for one of its own."""


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def late(_signal: int, _frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
