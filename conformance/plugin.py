"""The pytest plugin: `pytest --pyargs fivepoint.conformance --loader NAME` makes a test of every check.

Nothing but the options is loaded in runs that do not name a loader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .bench import Bench, Declaration
    from .registry import Check
    from .verdict import Finding

HERE = Path(__file__).resolve().parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite."""
    group = parser.getgroup("fivepoint", "conformance of data loaders")
    group.addoption("--loader", metavar="NAME", help="entry point of the group fivepoint.loaders, or module:Class of a driver")
    group.addoption("--conform-process", metavar="COMMAND", help="the command of a loader that speaks the messages of DRIVERS.md")
    group.addoption("--conform-limit", metavar="SECONDS", type=float, help="time for one answer: 30 in Python, 60 by --conform-process")
    group.addoption("--conform-mode", choices=["quick", "full"], default="quick", help="cases in seconds, or in minutes")
    group.addoption("--conform-seed", metavar="N", type=int, default=0, help="seed of the random cases")
    group.addoption("--known-failures", metavar="FILE", type=Path, help="checks that are known to fail, a line each with the reason")


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark of a clause known, and the session where a loader is named."""
    config.addinivalue_line("markers", "clause(id): the clause of spec/contract.md that the test checks")
    if config.getoption("loader") or config.getoption("conform_process") is not None:
        config.stash[SESSION] = Session(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the files of the bench."""
    if SESSION in config.stash:
        config.stash[SESSION].close()


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Stand in for the folder of the suite where a loader is named."""
    if SESSION not in parent.config.stash or path.resolve() != HERE:
        return None
    suite: Suite = Suite.from_parent(parent, path=path, nodeid="fivepoint.conformance")
    return suite


class Session:
    """What the tests of one run share: the bench, what the loader declares, and the known failures."""

    def __init__(self, config: pytest.Config) -> None:
        """Find the loader and read the known failures; raises pytest.UsageError."""
        from ..errors import UsageError
        from .bench import Bench
        from .defaults import CASES
        from .known import read
        from .opening import opened
        from .suite import Patience, collected

        name, command, limit = (config.getoption(option) for option in ("loader", "conform_process", "conform_limit"))
        self.mode: str = config.getoption("conform_mode")
        self.seed: int = config.getoption("conform_seed")
        self.cases = config.invocation_params.dir / CASES
        self.checks = collected()
        self.patience = Patience()
        listed: Path | None = config.getoption("known_failures")
        try:
            if limit is not None and limit <= 0:
                raise UsageError(f"expected --conform-limit to be more than 0 seconds, found {limit:g}")
            self.known = read(config.invocation_params.dir / listed, [check.id for check in self.checks]) if listed else {}
            found = opened([name] if name else [], command, False, limit)
        except UsageError as reason:
            raise pytest.UsageError(str(reason)) from reason
        self.loader, self.asked = found.loader, found.asked
        self.bench: Bench = Bench(found.door)

    def close(self) -> None:
        """Remove the files of the bench."""
        self.bench.close()

    def declared(self) -> Declaration | None:
        """Return what the loader declares, None where that cannot be understood."""
        from .suite import declared_or_none

        return declared_or_none(self.bench)

    def judge(self, check: Check) -> Finding:
        """Return the finding of a check."""
        from .suite import judge

        return self.patience.finding(check, lambda check: judge(self.bench, check, self.bench.declaration(), self.mode, self.seed))

    def proof(self, finding: Finding) -> str:
        """Return the proof of a finding, with its case in a file."""
        from .report import Outcome
        from .report.files import case_folder, case_path, write_case
        from .report.proof import text

        cases = {}
        if finding.case:
            cases = {finding.check: case_path(case_folder(self.cases, self.loader, self.seed), finding)}
            write_case(cases[finding.check], finding)
        outcome = Outcome(self.loader, self.asked, self.mode, self.seed, None, [finding], cases=cases)
        return text(finding, outcome.command(finding))


SESSION = pytest.StashKey[Session]()


class Proof(Exception):  # noqa: N818 it is a finding
    """A check found its clause broken, or a known failure that is none any more; the message is all there is to say."""


class Suite(pytest.Directory):
    """The folder of the suite: a test for what the driver declares, and one for each check."""

    def collect(self) -> Iterable[pytest.Item]:
        """Return the tests."""
        yield DeclarationTest.from_parent(self, name="declaration")
        for check in self.config.stash[SESSION].checks:
            yield CheckTest.from_parent(self, name=check.id, check=check)


class SuiteTest(pytest.Item):
    """A test of the suite, which fails with a proof and not with a traceback."""

    title = "what the driver declares"

    @property
    def session_of_suite(self) -> Session:
        """What the tests share."""
        return self.config.stash[SESSION]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the proof."""
        return str(excinfo.value) if isinstance(excinfo.value, Proof) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Say what the test is called."""
        # Not the name alone: pytest would write the point in a clause's id as it writes the one between class and method.
        return HERE, None, f"{self.name} ({self.title})"


class DeclarationTest(SuiteTest):
    """Whether the driver declares promises, stride and version."""

    def runtest(self) -> None:
        """Ask the driver."""
        from .doors.replies import DriverFault
        from .suite import declaration, undeclared

        try:
            declaration(self.session_of_suite.bench)
        except DriverFault as fault:
            raise Proof(self.session_of_suite.proof(undeclared(fault))) from None


class CheckTest(SuiteTest):
    """One check, marked with its clause."""

    def __init__(self, check: Check, **rest: Any) -> None:
        super().__init__(**rest)
        from .contract import clauses

        self.check = check
        self.title = clauses()[check.clause].title
        self.add_marker(pytest.mark.clause(check.clause))

    def runtest(self) -> None:
        """Judge: broken fails; refused, not applicable and known failures are skipped or expected."""
        from .known import expected, stale
        from .report.words import plain

        session = self.session_of_suite
        if session.declared() is None:
            pytest.skip("the driver declares nothing that can be understood")
        finding = session.judge(self.check)
        if said := stale(finding, session.known):
            raise Proof(plain(said))
        if expected(finding, session.known):
            pytest.xfail(f"known: {plain(session.known[finding.check])}")
        if finding.verdict == "broken":
            raise Proof(session.proof(finding))
        if finding.verdict != "holds":
            pytest.skip(plain(f"{finding.verdict}: {finding.reason}"))


def pytest_report_header(config: pytest.Config) -> Iterator[str]:
    """Name the loader."""
    if SESSION in config.stash:
        session = config.stash[SESSION]
        yield f"fivepoint conformance: {session.loader}, {session.mode} mode, seed {session.seed}"
