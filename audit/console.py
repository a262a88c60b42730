"""What commands print: tables and JSON on standard output, notes and progress on standard error."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

PAGE = 160
"""Characters of a line where no terminal says how many it has."""


def print_json(value: Any) -> None:
    """Print one JSON value on one line, in ASCII, so that no locale can spoil it."""
    typer.echo(json.dumps(value))


def print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[Any]], most: int | None = None) -> None:
    """Print rows under headings, numbers to the right; of more than `most` rows the first, and how many there are."""
    rows = [list(row) for row in rows]
    shown = rows[:most]
    table = Table(title=Text(title), title_justify="left", box=SIMPLE)
    for column, heading in enumerate(headings):
        numeric = all(isinstance(row[column], int | float | None) for row in shown)
        table.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in shown:
        table.add_row(*(Text(_shown(cell)) for cell in row))
    # Where nobody looks, rows are folded to what a page holds, or to COLUMNS where they are more.
    console, asked = Console(), os.environ.get("COLUMNS", "")
    (console if console.is_terminal else Console(width=max(PAGE, int(asked) if asked.isdecimal() else 0))).print(table)
    if len(shown) < len(rows):
        typer.echo(f"the first {len(shown)} of {len(rows)}; --json gives all")


def note(text: str) -> None:
    """Say something beside the output, on standard error."""
    typer.echo(text, err=True)


def progress() -> Progress:
    """Return bars on standard error; there are none where that is no terminal, or where the output itself shows on one."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=sys.stdout.isatty() or not console.is_terminal)


def _shown(cell: Any) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return "" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell)
