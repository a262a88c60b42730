"""Which positions, steps and dp ranks see a document or a range of tokens (A6; C3.7)."""

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..reference.plan import Plan
from .layout import Layout, Place, place
from .log_lines import Record, expect_same_past, read
from .samples import describe


def where(
    plan: Plan, source: str, corpus: str, tokens: range, layout: Layout, log: Path | None = None, consumed: int | None = None
) -> dict[str, Any]:
    """Return every position that serves one of `tokens` of a corpus, as input or target, with the step, rank and row that it belongs to.

    The time depends on the answer, not on the length of the run. Steps that the run log at `log` covers are named as they were served, the
    others as `layout` will serve them; that reads the log once. `consumed` is a checkpoint's, or else the log's: positions before it are
    `seen`.

    Raises RangeError for tokens that the corpus does not have, RunLogError for a log that is damaged or of another past.
    """
    positions = plan.where(source, corpus, tokens[0], tokens[-1]) if tokens else []
    served, reached = _served(plan, log, positions) if log else ({}, None)
    consumed = reached if consumed is None else consumed
    seen = []
    for position in positions:
        sample = plan.resolve(position)
        span = sample.spans[0]
        common = min(tokens[-1], span.first + span.length - 1) - max(tokens[0], span.first) + 1
        found = describe(sample, served.get(position) or layout.place(position)) | {"asked_tokens": common}
        seen.append(found if consumed is None else found | {"seen": position < consumed})
    return {
        "plan_hash": plan.plan_hash,
        "source": source,
        "corpus": corpus,
        **({"first_token": tokens[0], "last_token": tokens[-1]} if tokens else {}),
        **({} if consumed is None else {"consumed": consumed}),
        "positions": seen,
    }


def _served(plan: Plan, log: Path, positions: Sequence[int]) -> tuple[dict[int, Place], int | None]:
    """Return where the run log says that `positions` were served, and the run's `consumed` at its end.

    A start from a checkpoint undoes what lay behind it, until it is served again.
    """
    lines: dict[int, Record] = {}
    last: dict[int, Record] = {}
    consumed = None
    for record in read(log):
        consumed = record["consumed"]
        if "event" in record:
            lines = {position: line for position, line in lines.items() if position < consumed}
            last = {step: line for step, line in last.items() if line["consumed"] <= consumed}
            continue
        last = {record["step"]: record}
        first = consumed - record["batch_size"]
        for position in positions[bisect_left(positions, first) : bisect_left(positions, consumed)]:
            lines[position] = record
    # The last step's past holds what an earlier log, or none, covers: that too is said to be seen.
    for record in ({line["step"]: line for line in lines.values()} | last).values():
        expect_same_past(plan, record, log)
    found = {
        position: place(
            position, line["step"], line["consumed"] - line["batch_size"], line["batch_size"], line["dp_size"], line["micro_batch"]
        )
        for position, line in lines.items()
    }
    return found, consumed
