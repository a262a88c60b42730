"""The report as one HTML page that needs nothing else: loaders beside clauses, and behind each verdict its proof."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from ... import __version__
from ...reference.files import write_whole
from ..contract import Clause
from ..verdict import BROKEN, Finding
from .comparison import Comparison, Judged
from .proof import proof
from .terminal import SIGNS
from .words import plain


@dataclass(frozen=True)
class Cell:
    """A verdict on one loader, and what is behind it."""

    judged: Judged
    clause: Clause

    @property
    def verdict(self) -> str:
        """The word."""
        return self.judged.verdict(self.clause.id)

    @property
    def sign(self) -> str:
        """What stands for the word: colour alone tells nothing to who does not see it."""
        return SIGNS.get(self.verdict, "")

    @property
    def anchor(self) -> str:
        """Where on the page the proof is: the loader's name, what no link holds being escaped, and the clause, which is the row's."""
        letters = (letter if re.fullmatch(r"[\w.:-]", letter, re.ASCII) else f"~{ord(letter):x}~" for letter in self.judged.loader)
        return f"{''.join(letters)}-{self.clause.id}"

    def proofs(self) -> Iterator[tuple[Finding, list[tuple[str, str]]]]:
        """Yield what each check found, the broken ones first, as (finding, its parts as (heading, text))."""
        for finding, command in sorted(self.judged.findings(self.clause.id), key=lambda found: found[0].verdict != BROKEN):
            if finding.verdict == BROKEN:
                yield finding, [part for part in proof(finding, command) if part[0] != "requirement"]
            else:
                yield finding, [("reason", plain(finding.reason))] if finding.reason else []


def page(comparison: Comparison, title: str) -> str:
    """Return the page of reports."""
    environment = Environment(
        loader=PackageLoader("fivepoint.conformance", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    rows = [(clause, [Cell(judged, clause) for judged in comparison.judged]) for clause in comparison.clauses]
    counts = [
        (judged, [(verdict, sum(cells[i].verdict == verdict for _, cells in rows)) for verdict in SIGNS])
        for i, judged in enumerate(comparison.judged)
    ]
    return environment.get_template("page.html").render(
        title=title, rows=rows, judged=comparison.judged, counts=counts, signs=SIGNS, plain=plain, suite=__version__
    )


def write_page(comparison: Comparison, path: Path, title: str) -> None:
    """Write the page, whole or not at all; raises OutputError."""
    write_whole(path, page(comparison, title).encode())
