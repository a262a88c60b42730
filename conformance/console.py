"""What `fivepoint conform` shows and reads beside its report."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from ..errors import printable

if TYPE_CHECKING:
    from .registry import Check

Item = TypeVar("Item")

PAGE = 160
"""Characters of a line where no terminal says how many it has."""


def print_checks(checks: "Iterable[Check]") -> None:
    """Print what each check judges, which promises it needs and which faults it sees."""
    table = Table(box=SIMPLE)
    for heading in ("check", "needs", "faults", "judges"):
        table.add_column(heading, overflow="fold")
    for check in checks:
        said = (check.judge.__doc__ or "").strip().splitlines()
        table.add_row(check.id, " ".join(sorted(check.needs)), " ".join(map(str, check.faults)), said[0] if said else "")
    sized(Console()).print(table)


def sized(console: Console) -> Console:
    """Return a console for tables: where nobody looks, rows are folded to what a page holds, or to COLUMNS where they are more."""
    asked = os.environ.get("COLUMNS", "")
    return console if console.is_terminal else Console(width=max(PAGE, int(asked) if asked.isdecimal() else 0))


def parts(items: Iterable[Item], width: Callable[[Item], int], room: int) -> list[list[Item]]:
    """Return the items in order, in parts that each fit into `room` characters; what is wider by itself is a part of its own."""
    found: list[list[Item]] = []
    left = 0
    for item in items:
        if not found or left < width(item):
            found.append([])
            left = room
        found[-1].append(item)
        left -= width(item)
    return found


def say(line: str) -> None:
    """Print a line in mid-run, to whom it may concern: where nobody reads, or the disk is full, the work goes on."""
    with suppress(SystemExit, OSError):
        Console().print(Text(printable(line)), soft_wrap=True)


@contextmanager
def progress(total: int) -> Iterator[Callable[[str, str], None]]:
    """Yield a function that hears of each part that is done, and how; a bar on standard error shows it, where that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        bar = bars.add_task("checks", total=total)

        def heard(what: str, how: str) -> None:
            bars.update(bar, advance=1, description=f"{what} {how}")

        yield heard
