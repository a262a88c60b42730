"""What a check finds: a verdict, and for a broken clause its proof."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from .trace import Sample, Trace

HOLDS, BROKEN, REFUSED, NOT_APPLICABLE = "holds", "broken", "refused", "not applicable"
REFUSAL, ERROR = "a refusal", "an error"
"""How it begins, what came in place of samples."""
OVER = "the budget was used up"
"""The reason of a finding that rests on fewer cases than its check has, or on none."""
WORST_FIRST = (BROKEN, HOLDS, REFUSED, NOT_APPLICABLE)


class Broken(Exception):  # noqa: N818 it is a finding
    """A clause does not hold: what was expected, what was got, and where."""

    def __init__(self, expected: str, got: str, trace: Trace | None = None, sample: Sample | None = None, **where: Any) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.expected, self.got = expected, got
        self.where: dict[str, Any] = dict(where)
        if trace is not None and sample is not None:
            place = trace.identity.place(sample.first)
            self.where = {
                "leg": sample.leg,
                "step": sample.step,
                "rank": sample.layout.rank,
                "position": sample.position,
                "document": None if place is None else f"{place.corpus}:{place.document} (token {place.token})",
            } | where


class NotApplicable(Exception):  # noqa: N818 it is an answer
    """The check means nothing for this loader, or this case; the message says why."""


@dataclass(frozen=True)
class Finding:
    """The verdict of one check. `where` holds the leg, step, rank, position and document that prove it, as far as they apply."""

    check: str
    clause: str
    verdict: str
    reason: str = ""
    expected: str = ""
    got: str = ""
    where: dict[str, Any] = field(default_factory=dict)
    case: str = ""
    """The smallest case found, as JSON."""
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the finding as a JSON object, without what is empty."""
        return {key: value for key, value in asdict(self).items() if value not in ("", {}, None)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Finding":
        """Return the finding that a report holds: its case is an object there, its time whole milliseconds."""
        names = {each.name for each in fields(cls)} - {"case", "seconds"}
        case = json.dumps(value["case"]) if "case" in value else ""
        return cls(**{name: value[name] for name in names if name in value}, case=case, seconds=value["milliseconds"] / 1000)


def worst(verdicts: list[str]) -> str:
    """Return the verdict of a clause from those of its checks: broken if any is, else holds if any does, else refused if any is."""
    return min(verdicts, key=WORST_FIRST.index, default=NOT_APPLICABLE)
