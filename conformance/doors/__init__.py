"""The two doors to a loader: a driver inside this process, and a process for each rank that speaks messages over its pipes."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from ..driver import Array, Driver, Layout
from .host import answer, find
from .process import Process
from .replies import DriverFault, opened


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
        return [Here(self._made(layout.rank), layout.rank, self.limit) for layout in layouts]

    def _made(self, number: int) -> Driver:
        try:
            return self.driver()
        except Exception as reason:
            raise DriverFault("V2", f"could not be started: {type(reason).__name__}: {reason}", number) from reason


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
        except SystemExit as reason:
            raise DriverFault("V2", f"ended the process, with status {reason.code}", self.number) from None

    def reply(self) -> tuple[Any, list[Array]]:
        """Return what came back."""
        return opened(*self._reply, self.number)

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


def host_command(name: str) -> list[str]:
    """Return the command that serves a driver in Python, and finds it where this process does."""
    return [sys.executable, "-P", "-m", "fivepoint.conformance.doors.host", name, os.pathsep.join(map(os.path.abspath, sys.path))]


class _Late(BaseException):
    """The time limit has passed. Not an Exception, so that no handler of the loader's takes it for one of its own."""


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def late(_signal: int, _frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    start = time.monotonic()
    others, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        # Whoever runs the suite may have an alarm of its own, as test runners do: it goes on.
        signal.setitimer(signal.ITIMER_REAL, max(others - (time.monotonic() - start), 0.001) if others else 0)
        signal.signal(signal.SIGALRM, before)
