"""A failure as a proof: the clause and its sentence, where, expected, got, the smallest case, and the command that shows it again."""

from collections.abc import Sequence

from ..case import Case
from ..contract import clauses
from ..verdict import Finding
from .words import describe, plain


def proof(finding: Finding, command: str = "") -> list[tuple[str, str]]:
    """Return the parts of a proof as (heading, text), in the order in which they are read."""
    parts = [("requirement", clauses()[finding.clause].sentence), ("where", _where(finding))]
    parts += [("expected", finding.expected), ("got", finding.got or finding.reason)]
    if finding.case:
        parts.append(("smallest case", "\n".join(describe(Case.from_json(finding.case)))))
    return [(heading, plain(text)) for heading, text in [*parts, ("reproduce", command)] if text]


def title(finding: Finding, *others: Finding) -> str:
    """Return the line above a proof; `others` are those that prove the same."""
    return f"{finding.clause} {clauses()[finding.clause].title} is broken ({', '.join(each.check for each in (finding, *others))})"


def text(finding: Finding, command: str = "", others: Sequence[Finding] = ()) -> str:
    """Return a proof as plain text."""
    lines = [title(finding, *others)]
    for heading, said in proof(finding, command):
        first, *rest = said.splitlines()
        lines += [f"  {heading:<13}  {first}", *(" " * 17 + line for line in rest)]
    return "\n".join(lines)


def _where(finding: Finding) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in finding.where.items() if value is not None)
