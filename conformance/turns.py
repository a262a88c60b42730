"""Loaders judged one after the other, and their reports side by side: what one of them does costs none of the others its report."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import OutputError, UsageError
from ..reference.files import write_whole, written
from .opening import opened
from .registry import Check
from .report import Outcome
from .report.comparison import Comparison, Judged
from .report.files import case_files, write_case
from .report.machine import dumped, not_judged, to_json
from .report.page import write_page
from .report.terminal import print_comparison
from .running import Outputs, carry_out, judged

STOPPED = "the run was stopped"


@dataclass(frozen=True)
class Place:
    """The folder of the reports: `NAME.json` for each loader, `report.json` and `index.html` of all, the failing cases in `cases`."""

    folder: Path

    def expect_writable(self, loaders: Sequence[str]) -> None:
        """Make the folder; raises OutputError for what cannot be written there, before work is done whose result goes there."""
        with written(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        Outputs(self.folder / "report.json", html=self.folder / "index.html", cases=self.folder / "cases").expect_writable()
        for loader in loaders:
            Outputs(self._file(loader)).expect_writable()

    def keep(self, report: dict[str, Any]) -> None:
        """Write the report on one loader; raises OutputError."""
        write_whole(self._file(report["loader"]), dumped(report))

    def keep_cases(self, outcome: Outcome) -> Outcome:
        """Write the cases that fail, and return the outcome that names them; raises OutputError."""
        cases = case_files(self.folder / "cases", outcome)
        for finding in outcome.broken:
            if finding.check in cases:
                write_case(cases[finding.check], finding)
        return replace(outcome, cases=cases, folder=Path.cwd())

    def _file(self, loader: str) -> Path:
        return self.folder / f"{loader}.json"


@dataclass(frozen=True)
class Turns:
    """What came of all turns, and what ended the run before the last."""

    comparison: Comparison
    stopped: BaseException | None = None

    def broken(self, loaders: Sequence[str]) -> bool:
        """Whether one of these loaders breaks a clause."""
        return any(each.breaks for each in self.comparison.judged if each.loader in loaders)

    @property
    def missing(self) -> list[str]:
        """Who was not judged, and why."""
        return [f"{each.loader}: {each.not_judged}" for each in self.comparison.judged if each.not_judged]


def in_turn(
    loaders: Sequence[str], checks: Sequence[Check], mode: str, seed: int, budget: float, place: Place, heard: Callable[[str], None]
) -> Turns:
    """Judge each loader for `budget` seconds; its report is in its file before the next has its turn, and `heard` gets a line."""
    found: list[Judged] = []
    stopped: BaseException | None = None
    for loader in loaders:
        if stopped is None:
            try:
                report = _report(loader, checks, mode, seed, budget, place)
                place.keep(report)
                found.append(Judged(report))
                heard(_line(found[-1]))
            except (KeyboardInterrupt, SystemExit, OutputError) as reason:
                stopped = reason
        if stopped is not None:
            found.append(Judged(not_judged(loader, mode, seed, STOPPED)))
    return Turns(Comparison(tuple(found)), stopped)


def finish(turns: Turns, place: Place) -> None:
    """Write the reports side by side, then print them; raises what stopped the run, or OutputError for what could not be written."""
    acts = (
        lambda: turns.comparison.write(place.folder / "report.json"),
        lambda: write_page(turns.comparison, place.folder / "index.html", "Loaders and the contract"),
        lambda: print_comparison(turns.comparison),
    )
    carry_out(acts, turns.stopped)


def _report(loader: str, checks: Sequence[Check], mode: str, seed: int, budget: float, place: Place) -> dict[str, Any]:
    """Return the report on one loader; raises what stopped the run."""
    try:
        door = opened([loader])
    except UsageError as reason:
        return not_judged(loader, mode, seed, str(reason))
    outcome = judged(door, checks, mode, seed, budget=budget)
    if outcome.stopped:
        raise outcome.stopped
    return to_json(place.keep_cases(outcome))


def _line(found: Judged) -> str:
    if found.not_judged:
        return f"{found.loader}: not judged, {found.not_judged}"
    counts = Counter(row["verdict"] for row in found.report["clauses"])
    return f"{found.loader}: {', '.join(f'{count} {verdict}' for verdict, count in counts.items())}, in {found.seconds:.0f} s"
