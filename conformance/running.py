"""A run of the suite from the command line: what is to be written is tried before, and what was found is shown however it ends."""

import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from ..errors import OutputError
from ..reference.files import expect_writable, written
from . import console
from .bench import Bench
from .case import Case
from .doors.adopting import adopted
from .opening import Opened
from .registry import Check
from .report import Outcome
from .report.comparison import Comparison, Judged
from .report.files import case_files, write_case
from .report.junit import write_junit
from .report.machine import to_json, write_json
from .report.page import write_page
from .report.terminal import print_outcome
from .suite import declared_or_none, replay, run
from .verdict import Finding

ENDING = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Outputs:
    """The files of a run: its report as JSON, as JUnit XML and as a page, and the folder in which cases that fail get one of their own."""

    json: Path | None = None
    junit: Path | None = None
    html: Path | None = None
    cases: Path | None = None

    def expect_writable(self) -> None:
        """Raise OutputError for what cannot be written, before work is done whose result goes there."""
        for file in (self.json, self.junit, self.html):
            if file:
                expect_writable(file)
        if self.cases:
            folder = self.cases
            while not folder.exists() and folder != folder.parent:
                folder = folder.parent
            with written(self.cases):
                os.rmdir(tempfile.mkdtemp(prefix=".fivepoint-", dir=folder))


def judged(
    opened: Opened,
    checks: Sequence[Check],
    mode: str,
    seed: int,
    known: Mapping[str, str] | None = None,
    case: Case | None = None,
    budget: float | None = None,
) -> Outcome:
    """Return what the checks find, on their own cases or on this one; of a run that was stopped, what they had found.

    `budget` is the time for all checks, in seconds.
    """
    findings: list[Finding] = []
    declared = None
    stopped: BaseException | None = None
    try:
        with _ended_by_signals(), adopted(), Bench(opened.door) as bench, console.progress(len(checks)) as advance:

            def hear(finding: Finding) -> None:
                findings.append(finding)
                advance(finding.check, finding.verdict)

            if case is None:
                run(bench, [each.id for each in checks], mode, seed, hear, budget=budget)
            else:
                mode = "case"
                for each in checks:
                    hear(replay(bench, each, case))
            declared = declared_or_none(bench)
    except (KeyboardInterrupt, SystemExit, OutputError) as reason:
        stopped = reason
    clauses = {each.id: each.clause for each in checks}
    return Outcome(opened.loader, opened.asked, mode, seed, declared, findings, clauses, known or {}, stopped=stopped)


def report(outcome: Outcome, outputs: Outputs, case: Path | None = None) -> None:
    """Print an outcome, then write it; raises what stopped the run, or OutputError for what could not be written."""
    cases = {finding.check: case for finding in outcome.broken} if case else {}
    if outputs.cases and not case:
        cases = case_files(outputs.cases, outcome)
    outcome = replace(outcome, cases=cases)
    carry_out([lambda: print_outcome(outcome), *_writers(outcome, outputs, {} if case else cases)], outcome.stopped)


def carry_out(acts: Iterable[Callable[[], object]], stopped: BaseException | None) -> None:
    """Print and write, each whatever becomes of the others; then raise what `stopped` the run, or else the first that failed."""
    failed: Exception | None = None
    for act in acts:
        try:
            # Where the reader has left, rich ends the program: what was found decides the exit code, not who read it.
            with suppress(SystemExit):
                act()
        except (OSError, OutputError) as reason:
            failed = failed or reason
    if stopped:
        raise stopped
    if failed:
        raise failed


def _writers(outcome: Outcome, outputs: Outputs, cases: Mapping[str, Path]) -> Iterator:  # type: ignore[type-arg]
    for finding in outcome.broken:
        if finding.check in cases:
            yield lambda finding=finding: write_case(cases[finding.check], finding)
    # Half a report would be taken for a whole one.
    if outputs.json and not outcome.stopped:
        yield lambda: write_json(outcome, outputs.json)
    if outputs.junit and not outcome.stopped:
        yield lambda: write_junit(outcome, outputs.junit)
    if outputs.html and not outcome.stopped:
        yield lambda: write_page(Comparison((Judged(to_json(outcome)),)), outputs.html, f"{outcome.loader} and the contract")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End as an exception does where the system asks for it, so that no process and no folder is left."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, end) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
