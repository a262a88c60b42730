"""The matrix: which check catches which broken loader. It is written down in matrix.json, and a test keeps it current."""

import inspect
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from ..errors import UsageError
from . import broken
from .bench import Bench
from .console import sized
from .doors import InProcess
from .doors.replies import DriverFault
from .driver import Driver
from .registry import TIMED
from .suite import collected, declaration, judge, run, undeclared
from .verdict import BROKEN, Finding

FILE = Path(__file__).with_name("matrix.json")
MEMORY = Path("/dev/shm")
ROOM = 1 << 28
LONG = (*TIMED, "C4.9", "C5.2", "C5.3", "C3.1/other-surroundings", "C4.1/elsewhere", "V2/answers")
"""Clauses and checks that start processes and wait: they take most of the suite's time, and look at what few loaders do."""


@dataclass(frozen=True)
class Row:
    """One broken loader: what it says of itself, the clauses found broken, and the checks that found it."""

    clause: str
    fault: int | None
    also: tuple[str, ...]
    broken: tuple[str, ...]
    caught_by: tuple[str, ...]


def loaders() -> dict[str, type[Any]]:
    """Return every broken loader as `module.Class`: the classes in conformance/broken that name the clause that they break."""
    found = {}
    for module in iter_modules(broken.__path__):
        for name, kind in inspect.getmembers(import_module(f"{broken.__name__}.{module.name}"), inspect.isclass):
            if issubclass(kind, Driver) and kind.__module__.endswith(f".{module.name}") and bool(getattr(kind, "clause", "")):
                found[f"{module.name}.{name}"] = kind
    return found


def measure(name: str, thorough: bool = False) -> Row:
    """Return the row of one broken loader, in quick mode, with seed 0 and nothing made smaller.

    Checks of the clauses that cannot hold look at all of their cases. Others look at the first, and those that take long are left out,
    unless it is to be `thorough`: what they do not see is looked for once, not at every change.
    """
    kind = loaders()[name]
    expected = {kind.clause, *getattr(kind, "also", ())}
    with _bench(kind) as bench:
        if kind.clause.startswith("V"):
            # The suite gives up on a driver at fault; without that, each check could cost the time limit.
            return _row(kind, run(bench, ["V1", "V2", "V3", *expected], shrinking=0))
        declared = declaration(bench)
        findings = [
            judge(bench, check, declared, shrinking=0, most=None if thorough or check.clause in expected else 1)
            for check in collected()
            if check.clause in expected or not (check.id in LONG or check.clause in LONG) or (thorough and check.clause not in TIMED)
        ]
    return _row(kind, findings)


def caught_again(name: str, row: Row) -> tuple[str, ...]:
    """Return those of the checks in a row that catch the loader again."""
    kind = loaders()[name]
    wanted = [check for check in collected() if check.id in row.caught_by]
    with _bench(kind) as bench:
        try:
            declared = declaration(bench)
        except DriverFault as fault:
            return (undeclared(fault).check,)
        findings = [judge(bench, check, declared, shrinking=0) for check in wanted]
    return _row(kind, findings).caught_by


def _bench(kind: type[Any]) -> Bench:
    # Drivers that never answer cost the time limit each time.
    door = InProcess(f"{kind.__module__}:{kind.__name__}", 10 if kind.clause.startswith("V") else 30)
    # What is read from a disk, and how fast, is seen on a disk.
    return Bench(door, None if kind.clause.startswith("C5") else _parent())


def _row(kind: type[Any], findings: list[Finding]) -> Row:
    proofs = [finding for finding in findings if finding.verdict == BROKEN]
    clauses, caught = sorted({finding.clause for finding in proofs}), sorted(finding.check for finding in proofs)
    return Row(kind.clause, getattr(kind, "fault", None), tuple(getattr(kind, "also", ())), tuple(clauses), tuple(caught))


def _parent() -> Path | None:
    """Return a folder in memory where there is one with room: most of the time goes into files that reach the disk."""
    return MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM else None


def named(names: Iterable[str]) -> list[str]:
    """Return the broken loaders that are named by themselves or by their module, all where nothing is named; raises UsageError."""
    wanted = list(names)
    found = [name for name in loaders() if not wanted or name in wanted or name.partition(".")[0] in wanted]
    known = {part for name in loaders() for part in (name, name.partition(".")[0])}
    if unknown := [name for name in wanted if name not in known]:
        raise UsageError(f"expected modules of conformance/broken, or MODULE.Class, found {', '.join(unknown)}")
    return found


def measured(names: Sequence[str], thorough: bool = False, heard: Callable[[str], None] = lambda name: None) -> dict[str, Row]:
    """Return the rows of broken loaders, made on every core; `heard` is told of each."""
    rows = {}
    # Workers start afresh: what a loader leaves behind in one is not inherited by the others.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for name, row in zip(names, pool.map(partial(measure, thorough=thorough), names), strict=True):
            rows[name] = row
            heard(name)
    return rows


def written(rows: Mapping[str, Row]) -> str:
    """Return the text of matrix.json."""
    value = {"format": "fivepoint-matrix", "version": 1, "loaders": {name: asdict(row) for name, row in rows.items()}}
    return json.dumps(value, indent=1) + "\n"


def read() -> dict[str, Row]:
    """Return the matrix that was written down."""
    held = json.loads(FILE.read_text(encoding="utf-8"))["loaders"]
    return {
        name: Row(row["clause"], row["fault"], tuple(row["also"]), tuple(row["broken"]), tuple(row["caught_by"]))
        for name, row in held.items()
    }


def astray(rows: Mapping[str, Row]) -> dict[str, str]:
    """Return the broken loaders that are not caught by their clause, or break one that has nothing to do with it, and in what."""
    found = {}
    for name, row in rows.items():
        unrelated = [clause for clause in row.broken if clause not in (row.clause, *row.also)]
        if row.clause not in row.broken:
            found[name] = f"no check of {row.clause} catches it"
        elif unrelated:
            found[name] = f"breaks {', '.join(unrelated)} too"
    return found


def idle(rows: Iterable[Row]) -> list[str]:
    """Return the checks that catch no broken loader."""
    caught = {check for row in rows for check in row.caught_by}
    return [check.id for check in collected() if check.id not in caught]


def print_matrix(rows: Mapping[str, Row]) -> None:
    """Print a row for each broken loader, then the checks that catch none."""
    table = Table(box=SIMPLE)
    for heading in ("broken loader", "clause", "fault", "caught by"):
        table.add_column(heading, overflow="fold")
    for name, row in rows.items():
        own = [check for check in row.caught_by if check.startswith(f"{row.clause}/")]
        others = [check for check in row.caught_by if check not in own]
        table.add_row(name, row.clause, "" if row.fault is None else str(row.fault), "  ".join([*own, *others]) or "nothing")
    console = sized(Console())
    console.print(table)
    for name, what in astray(rows).items():
        console.print(f"{name} {what}")
    if left := idle(rows.values()):
        console.print(f"checks that catch no broken loader: {', '.join(left)}")
