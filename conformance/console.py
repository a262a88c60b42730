"""What `fivepoint conform` shows and reads beside its report."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from ..errors import UsageError
from .case import Case
from .registry import Check


def print_checks(checks: Iterable[Check]) -> None:
    """Print what each check judges, which promises it needs and which faults it sees."""
    table = Table(box=SIMPLE)
    for heading in ("check", "needs", "faults", "judges"):
        table.add_column(heading, overflow="fold")
    for check in checks:
        said = (check.judge.__doc__ or "").strip().splitlines()
        table.add_row(check.id, " ".join(sorted(check.needs)), " ".join(map(str, check.faults)), said[0] if said else "")
    console = Console()
    (console if console.is_terminal else Console(width=1000)).print(table)


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


def read_case(path: Path) -> Case:
    """Return the case in a file that a report wrote; raises UsageError."""
    try:
        return Case.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError) as reason:
        raise UsageError(f"expected a case as the suite writes it at {path}, found none: {reason}") from reason
