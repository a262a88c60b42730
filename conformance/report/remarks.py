"""What a report says of itself: on how much the loader was judged, and what kind of demand was broken."""

from collections.abc import Iterator

from ..contract import clauses
from ..driver import MUSTS
from ..verdict import BROKEN, HOLDS, OVER, REFUSED
from . import Outcome

ENOUGH = 0.5
"""Part of the checks that a loader should have been judged on, before a report says nothing of how few they were."""


def remarks(outcome: Outcome) -> Iterator[str]:
    """Yield sentences that a reader of verdicts should know."""
    faulty = sorted({finding.clause for finding in outcome.broken if finding.clause in MUSTS})
    if faulty:
        yield f"The driver does not do what it must ({', '.join(faulty)}): what else is said here may be its doing, not the loader's."
    judged = [finding for finding in outcome.findings if finding.verdict in (HOLDS, BROKEN)]
    refused = [finding for finding in outcome.findings if finding.verdict == REFUSED]
    if len(outcome.findings) > 1 and len(judged) < ENOUGH * len(outcome.findings):
        yield (
            f"Judged on {len(judged)} of {len(outcome.findings)} checks, {len(refused)} were refused: "
            "of what was not judged nothing is known, whatever the exit code."
        )
    if cut := [finding for finding in outcome.findings if OVER in finding.reason]:
        yield f"{len(cut)} of {len(outcome.findings)} checks were not judged on all their cases: the budget was used up."
    should = sorted({finding.clause for finding in outcome.broken if not clauses()[finding.clause].must})
    if should:
        verb = "says" if len(should) == 1 else "say"
        yield (
            f"{', '.join(should)} {verb} SHOULD: a loader may have its reason, which belongs into the file of --known failures. "
            "Until then it counts as broken."
        )
