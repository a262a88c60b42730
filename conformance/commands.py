"""The command `fivepoint conform`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError

if TYPE_CHECKING:
    from .doors import Door
    from .registry import Check
    from .report import Outcome

CASES = Path("fivepoint-cases")


def conform(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LOADER", help="An entry point of the group fivepoint.loaders, or module:Class of a driver. With --trace, files."
        ),
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
    limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.1, help="Time for one answer of a driver: 30 in Python, 60 by --process.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the report as JSON.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as JUnit XML.")] = None,
    known: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Known failures, a line each: the check and the reason. One that passes is an error."),
    ] = None,
    cases: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the cases that fail are written.")] = CASES,
    case: Annotated[Path | None, typer.Option(metavar="FILE", help="Judge this case, with --check, in place of the suite's.")] = None,
    check: Annotated[str | None, typer.Option(metavar="ID", help="The check that judges --case.")] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Judge recorded traces: the names are their files.")] = False,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write corpora and case.json for a training loop; with a loader, also what it serves."),
    ] = None,
    list_checks: Annotated[bool, typer.Option("--list", help="Print the checks, and leave.")] = False,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Print which check catches which broken loader, and write it down; names choose loaders.")
    ] = False,
) -> None:
    """Hold a loader to the contract, and print a proof for each clause that it breaks. Exit code 1: something is broken."""
    from . import console
    from .suite import collected

    chosen = [check] if check else select or []
    if unknown := [name for name in chosen if not collected([name])]:
        raise UsageError(f"expected clauses, chapters or checks, found {', '.join(unknown)}; --list shows them")
    checks = collected(chosen)
    if list_checks:
        console.print_checks(checks)
    elif matrix:
        _matrix(names or [], full)
    elif record is not None:
        _record(_door(names or [], process, processes, limit) if names or process is not None else None, case, record)
    elif trace:
        outcome = _judge_traces([Path(name) for name in names or []], checks)
        _report(outcome, json_file, junit)
    else:
        if (case is None) != (check is None):
            raise UsageError("expected --case FILE and --check ID together, found one of them")
        opened = _door(names or [], process, processes, limit)
        outcome = _judge(opened, checks, "full" if full else "quick", seed, known, cases, case)
        _report(outcome, json_file, junit)


def _judge(
    opened: tuple[Door, str, str], checks: list[Check], mode: str, seed: int, known: Path | None, cases: Path, case: Path | None
) -> Outcome:
    from . import console
    from .bench import Bench
    from .known import read
    from .report import Outcome
    from .report.files import write_case
    from .suite import collected, declared_or_none, replay, run

    expected = read(known, [each.id for each in collected()]) if known else {}
    door, name, asked = opened
    with Bench(door) as bench, console.progress(len(checks)) as advance:
        if case is None:
            findings = run(bench, [each.id for each in checks], mode, seed, lambda each: advance(each.check, each.verdict))
        else:
            mode, findings = "case", [replay(bench, each, console.read_case(case)) for each in checks]
        declared = declared_or_none(bench)
    written = {each.check: path for each in findings if (path := case or write_case(cases, each))}
    return Outcome(name, asked, mode, seed, declared, findings, {each.id: each.clause for each in checks}, expected, written)


def _judge_traces(files: list[Path], checks: list[Check]) -> Outcome:
    import shlex

    from .report import Outcome
    from .traces.lending import Recorded, judge
    from .traces.recorded import declared, read, traces

    if not files:
        raise UsageError("expected the files of recorded traces, found none; formats.md F7 says what they are")
    recordings = [read(file) for file in files]
    bench = Recorded(traces(recordings), declared(recordings))
    findings = [judge(bench, each) for each in checks]
    asked = f"--trace {shlex.join(map(str, files))}"
    return Outcome("traces", asked, "trace", 0, bench.declaration(), findings, {each.id: each.clause for each in checks})


def _record(opened: tuple[Door, str, str] | None, case: Path | None, folder: Path) -> None:
    from . import console
    from .traces.recording import example, record, write_data

    chosen = console.read_case(case) if case else example()
    write_data(folder, chosen)
    typer.echo(f"corpora in {folder / 'corpus'}, the case in {folder / 'case.json'}")
    for file in record(folder, chosen, opened[0]) if opened else ():
        typer.echo(f"recorded {file}")


def _matrix(names: list[str], thorough: bool) -> None:
    from . import console
    from .matrix import FILE, astray, idle, loaders, measured, named, print_matrix, read, written

    wanted = named(names)
    with console.progress(len(wanted)) as advance:
        found = measured(wanted, thorough, lambda name: advance(name, "measured"))
    if not thorough:
        rows = (read() if names else {}) | found
        found = {name: rows[name] for name in loaders() if name in rows}
        FILE.write_text(written(found), encoding="utf-8")
    print_matrix(found)
    raise typer.Exit(1 if astray(found) or (idle(found.values()) and not thorough) else 0)


def _report(outcome: Outcome, json_file: Path | None, junit: Path | None) -> None:
    from .report.junit import write_junit
    from .report.machine import write_json
    from .report.terminal import print_outcome

    if json_file:
        write_json(outcome, json_file)
    if junit:
        write_junit(outcome, junit)
    print_outcome(outcome)
    raise typer.Exit(1 if outcome.unexpected else 0)


def _door(names: list[str], process: str | None, processes: bool, limit: float | None) -> tuple[Door, str, str]:
    """Return the door that the command line asks for, the loader's name, and the words that name it."""
    import shlex

    from .doors import InProcess, Processes, host_command

    if len(names) + (process is not None) != 1:
        found = ", ".join([*names, *([f"--process {process}"] if process is not None else [])]) or "none"
        raise UsageError(f"expected one loader, or --process COMMAND, found {found}")
    seconds = {} if limit is None else {"limit": limit}
    words = "" if limit is None else f" --limit {limit:g}"
    if process is not None:
        return Processes(shlex.split(process), **seconds), process, f"--process {shlex.quote(process)}{words}"
    (loader,) = names
    try:
        door = InProcess(loader, **seconds)
        door.find()
    except LookupError as reason:
        raise UsageError(str(reason)) from reason
    if not processes:
        return door, loader, loader + words
    return Processes(host_command(loader), **seconds), loader, f"{loader} --processes{words}"
