"""Which loader a command line names, and the door to it."""

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .doors import Door, InProcess, Processes, host_command
from .peers import peers
from .report.words import plain

EXPECTED_THERE = "import sys, numpy; assert sys.version_info >= (3, 11), sys.version"
"""What the interpreter of another environment must be able to do."""


@dataclass(frozen=True)
class Opened:
    """The door to a loader, the loader's name, and the words of a command line that name it."""

    door: Door
    loader: str
    asked: str


def opened(
    names: Sequence[str],
    process: str | None = None,
    processes: bool = False,
    limit: float | None = None,
    python: Path | None = None,
    forks: bool = True,
) -> Opened:
    """Return the one loader that is named, or the command of one; raises UsageError.

    `python` is the interpreter of the environment that the loader is installed in, where that is another one. Without `forks` each rank
    of a peer starts by itself, also where peers.toml has them forked.
    """
    if len(names) + (process is not None) != 1:
        found = ", ".join([*names, *([f"--process {process}"] if process is not None else [])]) or "none"
        raise UsageError(f"expected one loader, or --process COMMAND, found {found}")
    seconds: dict[str, Any] = {} if limit is None else {"limit": limit}
    words = "" if limit is None else f" --limit {limit:g}"
    if process is not None:
        return Opened(Processes(command_of(process), **seconds), process, f"--process {shlex.quote(process)}{words}")
    (loader,) = names
    quoted = shlex.quote(loader)
    if loader in (known := peers()):
        peer = known[loader]
        door = _door(peer.driver, limit or peer.limit, peer.processes or processes, str(peer.python()), peer.forks and forks)
        return Opened(door, loader, quoted + words)
    interpreter = None
    if python is not None:
        interpreter = str(_interpreter(python))
        words = f" --python {shlex.quote(str(python))}{words}"
    door = _door(loader, limit, processes, interpreter)
    return Opened(door, loader, f"{quoted}{' --processes' if processes else ''}{words}")


def _door(driver: str, limit: float | None, processes: bool, python: str | None, forks: bool = False) -> Door:
    """Return the door to a driver in Python; raises UsageError where there is no such driver."""
    seconds: dict[str, Any] = {} if limit is None else {"limit": limit}
    alone = Processes(host_command(driver, python), forks=forks, **seconds)
    door = alone if processes and forks else InProcess(driver, python=python, forks=forks, **seconds)
    try:
        door.find()
    except LookupError as reason:
        door.close()
        raise UsageError(plain(str(reason))) from reason
    if not processes or door is alone:
        return door
    door.close()
    return alone


def _interpreter(python: Path) -> Path:
    """Return the path of an interpreter that can serve drivers; raises UsageError.

    It is not resolved: the interpreter of a virtual environment knows by its path where it belongs.
    """
    path = python.absolute()
    try:
        ended = subprocess.run([path, "-c", EXPECTED_THERE], capture_output=True, text=True, check=False)
    except OSError as reason:
        raise UsageError(f"expected a Python after --python, found {python}: {reason.strerror}") from reason
    if ended.returncode:
        said = ended.stderr.strip().splitlines()[-1:] or ["nothing"]
        raise UsageError(f"expected a Python of version 3.11 or newer with numpy after --python, found {python}, which says {said[0]}")
    return path


def command_of(line: str) -> list[str]:
    """Return the words of a command that can be started from any folder; raises UsageError.

    Ranks run in folders of their own: a program with a slash, and the files among its arguments, are those of the current folder.
    """
    try:
        words = shlex.split(line)
    except ValueError as reason:
        raise UsageError(f"expected a command after --process, found {line!r}: {str(reason).lower()}") from reason
    if not words or not words[0]:
        raise UsageError("expected a command after --process, found none")
    program, *arguments = words
    if "/" in program:
        program = str(Path.cwd() / program)
    return [program, *(str(Path.cwd() / word) if _is_file(word) else word for word in arguments)]


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except (OSError, ValueError):  # too long for a path, or with a zero in it
        return False
