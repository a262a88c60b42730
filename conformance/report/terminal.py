"""The report for people: a row for every clause, each failure as a proof, and what still holds."""

from collections import Counter
from collections.abc import Iterable

from rich.box import SIMPLE
from rich.cells import cell_len
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..console import parts, sized
from ..contract import Clause
from ..known import expected, stale
from ..verdict import BROKEN, HOLDS, NOT_APPLICABLE, REFUSED, Finding
from . import Outcome
from .comparison import Comparison, Judged
from .proof import proof, text, title
from .remarks import remarks
from .words import plain

SIGNS = {HOLDS: "✓", BROKEN: "✗", REFUSED: "-", NOT_APPLICABLE: "·"}
"""What stands for a verdict where there is no room for the word."""
BESIDE = 4
"""Characters that a column of a table takes beside its text."""
STYLES = {HOLDS: "green", BROKEN: "bold red", REFUSED: "yellow", NOT_APPLICABLE: "dim"}


def print_outcome(outcome: Outcome) -> None:
    """Print the whole report."""
    console = Console()
    seen = console.is_terminal
    # Where nobody looks, sentences are left whole.
    console = sized(console)
    console.print(_clauses(outcome))
    for finding, *others in _alike(outcome):
        known = f", as is known: {plain(outcome.known[finding.check])}" if expected(finding, outcome.known) else ""
        if seen:
            console.print(Text(title(finding, *others) + known, style=STYLES[BROKEN]))
            console.print(_proof(outcome, finding))
        else:
            heading, *rest = text(finding, outcome.command(finding), others).splitlines()
            console.print(Text("\n".join([heading + known, *rest, ""])), soft_wrap=True)
    for finding in outcome.findings:
        if said := stale(finding, outcome.known):
            console.print(Text(plain(said), style="bold red"), soft_wrap=True)
    if outcome.stopped:
        said = f"stopped: {len(outcome.findings)} of {len(outcome.checks)} checks were judged"
        console.print(Text(said, style="bold red"), soft_wrap=True)
    console.print(_closing(outcome), soft_wrap=not seen)


def print_comparison(comparison: Comparison) -> None:
    """Print loaders beside clauses, a sign for each verdict, in tables of as many loaders each as a page holds, and who was not judged."""
    console = Console()
    seen = console.is_terminal
    console = sized(console)
    first = max((cell_len(_clause(clause)) for clause in comparison.clauses), default=0) + BESIDE

    def width(judged: Judged) -> int:
        return max(map(cell_len, _heading(judged).split("\n"))) + BESIDE

    for judged in parts(comparison.judged, width, console.width - first):
        console.print(_beside(comparison.clauses, judged))
    console.print(Text(", ".join(f"{sign} {verdict}" for verdict, sign in SIGNS.items()), style="dim"))
    for each in comparison.judged:
        if each.not_judged:
            console.print(Text(plain(f"{each.loader}: not judged, {each.not_judged}"), style="bold red"), soft_wrap=not seen)


def _beside(clauses: Iterable[Clause], judged: Iterable[Judged]) -> Table:
    table = Table(box=SIMPLE)
    table.add_column("clause", no_wrap=True)
    for each in judged:
        table.add_column(Text(_heading(each)), justify="center", overflow="fold")
    for clause in clauses:
        verdicts = [each.verdict(clause.id) for each in judged]
        table.add_row(_clause(clause), *(Text(SIGNS.get(verdict, ""), style=STYLES.get(verdict, "")) for verdict in verdicts))
    return table


def _heading(judged: Judged) -> str:
    return plain(f"{judged.loader}\n{judged.version}".strip())


def _clause(clause: Clause) -> str:
    return f"{clause.id} {clause.title}"


def _alike(outcome: Outcome) -> Iterable[list[Finding]]:
    """Return the findings that are proofs, those together that several checks of a clause found word for word."""
    found: dict[tuple[object, ...], list[Finding]] = {}
    for each in outcome.broken:
        same = (each.clause, each.expected, each.got, str(each.where), each.case, outcome.known.get(each.check))
        found.setdefault(same, []).append(each)
    return found.values()


def _clauses(outcome: Outcome) -> Table:
    version = f" {outcome.declared.version}" if outcome.declared and outcome.declared.version else ""
    heading = Text(plain(f"{outcome.loader}{version}, {outcome.mode} mode, seed {outcome.seed}"))
    table = Table(title=heading, title_justify="left", box=SIMPLE)
    for column in ("clause", "", "verdict", "checks", "seconds", "reason"):
        table.add_column(column, justify="right" if column == "seconds" else "left", overflow="fold")
    for clause, verdict, findings in outcome.rows():
        seconds = sum(finding.seconds for finding in findings)
        reasons = dict.fromkeys(finding.reason for finding in findings if finding.verdict in (REFUSED, NOT_APPLICABLE) and finding.reason)
        table.add_row(
            clause.id,
            clause.title,
            Text(verdict if findings or not outcome.stopped else "", style=STYLES[verdict]),
            _counts(findings) if findings else "not judged" if outcome.stopped else "the driver's fault hides it",
            f"{seconds:.1f}",
            Text(plain("; ".join(reasons)), style="dim"),
        )
    return table


def _counts(findings: list[Finding]) -> str:
    counts = Counter(finding.verdict for finding in findings)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in STYLES if counts[verdict])


def _proof(outcome: Outcome, finding: Finding) -> Padding:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for heading, said in proof(finding, outcome.command(finding)):
        table.add_row(Text(heading, style="dim"), Text(said))
    return Padding(table, (0, 0, 1, 2), expand=False)


def _closing(outcome: Outcome) -> Group:
    by_verdict: dict[str, list[str]] = {verdict: [] for verdict in STYLES}
    for clause, verdict, findings in outcome.rows():
        if findings or not outcome.stopped:
            by_verdict[verdict].append(clause.id)
    still = "still holds" if outcome.broken else "holds"
    lines = [(verdict, still if verdict == HOLDS else verdict, ids) for verdict, ids in by_verdict.items() if ids]
    verdicts = (Text(f"{said}: {' '.join(ids)}", style=STYLES[verdict]) for verdict, said, ids in lines)
    return Group(*verdicts, *(Text(sentence, style="bold") for sentence in remarks(outcome)))
