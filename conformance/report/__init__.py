"""What the suite says at the end: for a terminal, for machines, for continuous integration."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..bench import Declaration
from ..contract import Clause, clauses
from ..known import unexpected
from ..verdict import BROKEN, Finding, worst


@dataclass(frozen=True)
class Outcome:
    """A whole run of the suite. `asked` are the words of the command line that name the loader, `cases` the files of failing cases."""

    loader: str
    asked: str
    mode: str
    seed: int
    declared: Declaration | None
    findings: Sequence[Finding]
    checks: Mapping[str, str] = field(default_factory=dict)
    """The clause of every check that was selected."""
    known: Mapping[str, str] = field(default_factory=dict)
    cases: Mapping[str, Path] = field(default_factory=dict)
    stopped: BaseException | None = None
    """What ended the run before all checks were judged."""
    folder: Path | None = None
    """Where the loader and the cases are found, for commands that are read elsewhere."""

    @property
    def broken(self) -> list[Finding]:
        """Return the findings that are proofs, known ones included."""
        return [finding for finding in self.findings if finding.verdict == BROKEN]

    @property
    def unexpected(self) -> list[Finding]:
        """Return the findings that fail the run."""
        return unexpected(self.findings, self.known)

    def rows(self) -> list[tuple[Clause, str, list[Finding]]]:
        """Return each clause that was asked about with its verdict and the findings of its checks, in the contract's order."""
        found = []
        for clause in clauses().values():
            cited = [finding for finding in self.findings if finding.clause == clause.id]
            if cited or clause.id in self.checks.values():
                found.append((clause, worst([finding.verdict for finding in cited]), cited))
        return found

    def command(self, finding: Finding) -> str:
        """Return the command that gives the finding again."""
        words = [f"cd {shlex.quote(str(self.folder))} &&"] if self.folder else []
        words += ["fivepoint conform", self.asked]
        if finding.check in self.cases:
            words.append(f"--case {shlex.quote(str(self.cases[finding.check]))} --check {finding.check}")
        elif finding.check in self.checks:
            words.append(f"--select {finding.check}" + (f" --{self.mode} --seed {self.seed}" if self.mode in ("quick", "full") else ""))
        return " ".join(words)
