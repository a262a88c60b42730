"""The command `fivepoint conform`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError

if TYPE_CHECKING:
    from .doors import Door

CASES = Path("fivepoint-cases")
File = typer.Option(metavar="FILE")


def conform(
    loader: Annotated[
        str | None, typer.Argument(metavar="LOADER", help="An entry point of the group fivepoint.loaders, or module:Class of a driver.")
    ] = None,
    process: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="The command of a loader that speaks the messages of DRIVERS.md.")
    ] = None,
    full: Annotated[bool, typer.Option("--full/--quick", help="Every case, in minutes, or the small ones, in seconds.")] = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the random cases.")] = 0,
    select: Annotated[
        list[str] | None, typer.Option(metavar="CLAUSE", help="A clause (C2.1), a chapter (C2) or a check; may be repeated.")
    ] = None,
    processes: Annotated[
        bool, typer.Option("--processes/--in-process", help="Give every rank a process, also where a check needs none.")
    ] = False,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the report as JSON.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as JUnit XML.")] = None,
    known: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Known failures, a line each: the check and the reason. One that passes is an error."),
    ] = None,
    cases: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the cases that fail are written.")] = CASES,
    case: Annotated[Path | None, typer.Option(metavar="FILE", help="Judge one case, with --check, in place of the suite's.")] = None,
    check: Annotated[str | None, typer.Option(metavar="ID", help="The check that judges --case.")] = None,
    list_checks: Annotated[bool, typer.Option("--list", help="Print the checks, and leave.")] = False,
) -> None:
    """Hold a loader to the contract, and print a proof for each clause that it breaks. Exit code 1: something is broken."""
    from . import console
    from .bench import Bench
    from .known import read as read_known
    from .report import Outcome
    from .report.files import write_case
    from .report.junit import write_junit
    from .report.machine import write_json
    from .report.terminal import print_outcome
    from .suite import collected, declared_or_none, replay, run

    if (case is None) != (check is None):
        raise UsageError("expected --case FILE and --check ID together, found one of them")
    names = [check] if check else select or []
    selected = collected(names)
    if unknown := [name for name in names if not collected([name])]:
        raise UsageError(f"expected clauses, chapters or checks, found {', '.join(unknown)}; --list shows them")
    if list_checks:
        console.print_checks(selected)
        return
    expected = read_known(known, [each.id for each in collected()]) if known else {}
    door, name, asked = _door(loader, process, processes)
    mode = "full" if full else "quick"
    with Bench(door) as bench, console.progress(len(selected)) as advance:
        if case is None:
            findings = run(bench, names, mode, seed, advance)
        else:
            mode, findings = "case", [replay(bench, each, console.read_case(case)) for each in selected]
        declared = declared_or_none(bench)
    written = {each.check: path for each in findings if (path := case or write_case(cases, each))}
    checked = {each.id: each.clause for each in selected}
    outcome = Outcome(name, asked, mode, seed, declared, findings, checked, expected, written)
    if json_file:
        write_json(outcome, json_file)
    if junit:
        write_junit(outcome, junit)
    print_outcome(outcome)
    raise typer.Exit(1 if outcome.unexpected else 0)


def _door(loader: str | None, process: str | None, processes: bool) -> tuple[Door, str, str]:
    """Return the door that the command line asks for, the loader's name, and the words that name it."""
    import shlex

    from .doors import InProcess, Processes, host_command

    if (loader is None) == (process is None):
        raise UsageError(f"expected a loader, or --process COMMAND, found {'neither' if loader is None else 'both'}")
    if loader is None:
        assert process is not None
        return Processes(shlex.split(process)), process, f"--process {shlex.quote(process)}"
    try:
        door = InProcess(loader)
    except LookupError as reason:
        raise UsageError(str(reason)) from reason
    return (Processes(host_command(loader)), loader, f"{loader} --processes") if processes else (door, loader, loader)
