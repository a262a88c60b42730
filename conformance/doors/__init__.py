"""The two doors to a loader: drivers that share a process, and a process for each rank. Both speak messages over pipes."""

import os
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from ..driver import Array, Layout
from .nursery import Nursery
from .process import Process
from .replies import DriverFault, opened

SHARED_MARK = "FIVEPOINT_CONFORMANCE_SHARED"
"""Marks the process that ranks share: no rank of its own, so it does not bear the mark of one."""


class Rank(Protocol):
    """One process of the loader, or what stands for it. All ranks are asked before any is heard, so that they can meet."""

    number: int

    def ask(self, request: dict[str, Any], frames: Sequence[Array] = ()) -> None:
        """Send a request."""

    def reply(self) -> tuple[Any, list[Array]]:
        """Return what came back; raises Refusal, LoaderError or DriverFault."""

    def kill(self) -> None:
        """End it as a power failure would: nothing is closed, flushed or said."""

    def release(self) -> None:
        """Let it end by itself."""

    def end(self, seconds: float = 0.0) -> bool:
        """End it after `seconds`, and whatever it left running; return whether it had ended by itself."""


class Door(Protocol):
    """Opens ranks."""

    limit: float
    """Seconds that a rank has for one answer, and to end when its standard input has."""

    def open(self, layouts: Sequence[Layout], workdir: Path, environment: dict[str, str], fresh: bool) -> list[Rank]:
        """Return a new rank for each layout."""

    def close(self) -> None:
        """End what the ranks have in common."""


def end_all(ranks: Sequence[Rank], seconds: float = 0.0) -> list[int]:
    """End ranks, which have `seconds` for it together, and return the numbers of those that had to be killed."""
    for rank in ranks:
        rank.release()
    end = time.monotonic() + seconds
    return [rank.number for rank in ranks if not rank.end(end - time.monotonic())]


class InProcess:
    """Drivers as objects of one process, beside the suite's: fast, and enough for what needs no process of its own.

    Where one is asked for, it is opened. Whatever a driver does to its process, the suite goes on, and starts another one.
    """

    def __init__(self, name: str, limit: float = 30.0, python: str | None = None, forks: bool = False) -> None:
        """`name` as for `host.find`; `limit` is the time for one request, in seconds; `python` as for `host_command`; `forks` as below."""
        self.name, self.limit = name, limit
        self._command = host_command(name, python)
        self._processes = Processes(self._command, limit, forks)
        self._process: Process | None = None
        self._unfound: DriverFault | None = None
        self._opened = 0

    def find(self) -> None:
        """Have the driver found; raises LookupError where there is none. What its import does to a process is heard of by `open`."""
        try:
            self._shared()
        except DriverFault as fault:
            # To import it again could cost the time limit again.
            self._unfound = fault

    def open(self, layouts: Sequence[Layout], workdir: Path, environment: dict[str, str], fresh: bool) -> list[Rank]:
        """Return a new rank for each layout."""
        if fresh or environment:
            return self._processes.open(layouts, workdir, environment, fresh)
        process = self._shared()
        ranks: list[Rank] = []
        for layout in layouts:
            self._opened += 1
            rank = Here(process, layout.rank, self._opened)
            rank.ask({"do": "open"})
            rank.reply()
            ranks.append(rank)
        return ranks

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.end()
        self._process = None
        self._processes.close()

    def _shared(self) -> Process:
        if self._unfound:
            raise self._unfound
        if self._process is None or not self._process.runs:
            self.close()
            self._process = Process([*self._command, "--shared"], 0, Path.cwd(), self.limit, os.environ, SHARED_MARK)
            rank = Here(self._process, 0, 0)
            try:
                rank.ask({"do": "find"})
            except DriverFault as fault:
                raise DriverFault(fault.must, f"{fault.found}, while {self.name} was imported", fault.rank) from None
            rank.reply()
        return self._process


class Here:
    """A rank inside a process that several share."""

    def __init__(self, process: Process, number: int, of: int) -> None:
        """`of` is what the process knows it by."""
        self.number = number
        self._process, self._of = process, of
        self._reply: tuple[dict[str, Any], list[Array]] = ({}, [])

    def ask(self, request: dict[str, Any], frames: Sequence[Array] = ()) -> None:
        """Have it done at once, within the time limit."""
        self._process.number = self.number
        try:
            self._process.ask({**request, "of": self._of}, frames)
            self._reply = self._process.hear()
        except DriverFault:
            # Nobody knows what it says next, and to whom.
            self._process.kill()
            raise

    def reply(self) -> tuple[Any, list[Array]]:
        """Return what came back."""
        if "missing" in self._reply[0]:
            raise LookupError(self._reply[0]["missing"])
        return opened(*self._reply, self.number)

    def kill(self) -> None:
        """Forget the driver: it is not closed."""
        self.end()

    def release(self) -> None:
        """Nothing ends with it."""

    def end(self, seconds: float = 0.0) -> bool:
        """Forget the driver; nothing runs on."""
        if self._process.runs:
            with suppress(DriverFault):
                self.ask({"do": "forget"})
        return True


class Processes:
    """A process for each rank, started by a command that speaks the messages of DRIVERS.md."""

    def __init__(self, command: Sequence[str], limit: float = 60.0, forks: bool = False) -> None:
        """`limit` is the time for one request, in seconds; the first one pays for the imports.

        With `forks` ranks are forked from one process that has imported the driver, but for those that are asked for with variables of
        their own, some of which an interpreter reads when it starts. The command is then one of `host_command`.
        """
        self.command, self.limit = list(command), limit
        self._nursery = Nursery(command, limit) if forks else None

    def find(self) -> None:
        """Have the driver found, where that is of use to more than one rank; raises LookupError where there is none."""
        if self._nursery:
            self._nursery.find()

    def open(self, layouts: Sequence[Layout], workdir: Path, environment: dict[str, str], fresh: bool) -> list[Rank]:
        """Return a new process for each layout, with the variables by which launchers tell ranks who they are, and where they meet."""
        world = str(len(layouts))
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
        return [
            Process(
                self.command,
                layout.rank,
                workdir,
                self.limit,
                os.environ
                | {"RANK": str(layout.rank), "LOCAL_RANK": str(layout.rank), "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world}
                | meeting
                | environment,
                nursery=None if environment else self._nursery,
            )
            for layout in layouts
        ]

    def close(self) -> None:
        """End what ranks are forked from; else they have nothing in common."""
        if self._nursery:
            self._nursery.close()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def host_command(name: str, python: str | None = None) -> list[str]:
    """Return the command that serves a driver in Python, and finds it where this process does.

    `python` is the interpreter of another environment: it has numpy and the loader, need not have fivepoint, and looks for the driver
    in what it has installed and in the current folder.
    """
    if python is None:
        return [
            sys.executable,
            "-P",
            "-m",
            "fivepoint.conformance.doors.host",
            name,
            os.pathsep.join(map(os.path.abspath, [*sys.path, ""])),
        ]
    return [python, "-P", str(Path(__file__).with_name("elsewhere.py")), name, os.getcwd()]
