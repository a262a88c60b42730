"""The command `fivepoint conform`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from .defaults import CASES

if TYPE_CHECKING:
    from .opening import Opened
    from .registry import Check
    from .report import Outcome
    from .running import Outputs


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
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=1, help="Time for the whole run: what it has no room for is left out, and said.")
    ] = None,
    python: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The interpreter of the environment that the loader is installed in; fivepoint need not be."),
    ] = None,
    limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.1, help="Time for one answer of a driver: 30 in Python, 60 by --process.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the report as JSON.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as JUnit XML.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as one HTML page.")] = None,
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
    from .known import read
    from .opening import opened
    from .reading import read_case
    from .running import Outputs, judged
    from .suite import collected, selected

    checks = selected([check] if check else select or [])
    if list_checks:
        console.print_checks(checks)
    elif matrix:
        _matrix(names or [], full)
    elif record is not None:
        _record(opened(names or [], process, processes, limit, python) if names or process is not None else None, case, record)
    elif trace:
        outputs = Outputs(json_file, junit, html)
        outputs.expect_writable()
        _ended(_judge_traces([Path(name) for name in names or []], checks), outputs)
    else:
        if (case is None) != (check is None):
            raise UsageError("expected --case FILE and --check ID together, found one of them")
        expected = read(known, [each.id for each in collected()]) if known else {}
        given = read_case(case) if case else None
        outputs = Outputs(json_file, junit, html, cases)
        outputs.expect_writable()
        loader = opened(names or [], process, processes, limit, python)
        _ended(judged(loader, checks, "full" if full else "quick", seed, expected, given, budget), outputs, case)


def report(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Reports of `fivepoint conform --json`, or of this command.")],
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one HTML page: behind each verdict its proof.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the reports as one JSON file.")] = None,
    title: Annotated[str, typer.Option(help="The heading of the page.")] = "Loaders and the contract",
) -> None:
    """Put reports on loaders side by side: a table, a file, a page. Of two on one loader the later counts."""
    from .report.comparison import read
    from .report.page import write_page
    from .report.terminal import print_comparison

    comparison = read(files)
    if json_file:
        comparison.write(json_file)
    if html:
        write_page(comparison, html, title)
    # Last: where the reader has left, rich ends the program.
    print_comparison(comparison)


def _judge_traces(files: list[Path], checks: list[Check]) -> Outcome:
    import shlex

    from .report import Outcome
    from .traces.lending import Recorded, judge
    from .traces.recorded import declared, read, traces

    if not files:
        raise UsageError("expected the files of recorded traces, found none; formats.md F7 says what they are")
    recordings = [read(file) for file in files]
    bench = Recorded(traces(recordings), declared(recordings))
    findings = [judge(bench, check) for check in checks]
    asked = f"--trace {shlex.join(map(str, files))}"
    return Outcome("traces", asked, "trace", 0, bench.declaration(), findings, {each.id: each.clause for each in checks})


def _record(loader: Opened | None, case: Path | None, folder: Path) -> None:
    from .reading import read_case
    from .traces.recording import example, record, write_data

    chosen = read_case(case) if case else example()
    write_data(folder, chosen)
    typer.echo(f"corpora in {folder / 'corpus'}, the case in {folder / 'case.json'}")
    for file in record(folder, chosen, loader.door) if loader else ():
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


def _ended(outcome: Outcome, outputs: Outputs, case: Path | None = None) -> None:
    from .running import report

    report(outcome, outputs, case)
    raise typer.Exit(1 if outcome.unexpected else 0)
