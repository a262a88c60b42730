"""Which loader a command line names, and the door to it."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from .doors import Door, InProcess, Processes, host_command
from .report.words import plain


@dataclass(frozen=True)
class Opened:
    """The door to a loader, the loader's name, and the words of a command line that name it."""

    door: Door
    loader: str
    asked: str


def opened(names: Sequence[str], process: str | None = None, processes: bool = False, limit: float | None = None) -> Opened:
    """Return the one loader that is named, or the command of one; raises UsageError."""
    if len(names) + (process is not None) != 1:
        found = ", ".join([*names, *([f"--process {process}"] if process is not None else [])]) or "none"
        raise UsageError(f"expected one loader, or --process COMMAND, found {found}")
    seconds = {} if limit is None else {"limit": limit}
    words = "" if limit is None else f" --limit {limit:g}"
    if process is not None:
        return Opened(Processes(command_of(process), **seconds), process, f"--process {shlex.quote(process)}{words}")
    (loader,) = names
    door = InProcess(loader, **seconds)
    try:
        door.find()
    except LookupError as reason:
        door.close()
        raise UsageError(plain(str(reason))) from reason
    quoted = shlex.quote(loader)
    if not processes:
        return Opened(door, loader, quoted + words)
    door.close()
    return Opened(Processes(host_command(loader), **seconds), loader, f"{quoted} --processes{words}")


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
