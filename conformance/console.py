"""What `fivepoint conform` shows and reads beside its report."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

if TYPE_CHECKING:
    from .registry import Check

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
