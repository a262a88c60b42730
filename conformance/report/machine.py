"""The report for machines: JSON, held to spec/schemas/conformance.schema.json."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...reference.files import write_whole
from ..verdict import Finding
from . import Outcome


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Return the report as a JSON object; times are whole milliseconds."""
    declared = outcome.declared
    return {
        "format": "fivepoint-conformance",
        "version": 1,
        "loader": outcome.loader,
        "loader_version": declared.version if declared else "",
        "promises": sorted(declared.promises) if declared else [],
        "stride": declared.stride if declared else "",
        "mode": outcome.mode,
        "seed": outcome.seed,
        "clauses": [
            {"clause": clause.id, "sentence": clause.sentence, "verdict": verdict, "checks": [finding.check for finding in findings]}
            for clause, verdict, findings in outcome.rows()
        ],
        "findings": [_finding(outcome, finding) for finding in outcome.findings],
    }


def not_judged(loader: str, mode: str, seed: int, reason: str) -> dict[str, Any]:
    """Return the report on a loader that could not be judged, as a JSON object."""
    return to_json(Outcome(loader, loader, mode, seed, None, [])) | {"not_judged": reason}


def _finding(outcome: Outcome, finding: Finding) -> dict[str, Any]:
    found = finding.to_json()
    found.pop("seconds", None)
    found["milliseconds"] = round(1000 * finding.seconds)
    if "where" in found:
        found["where"] = {name: value for name, value in found["where"].items() if value is not None}
    if finding.case:
        found["case"] = json.loads(finding.case)
        found["reproduce"] = outcome.command(finding)
    if finding.check in outcome.known:
        found["known"] = outcome.known[finding.check]
    return found


def write_json(outcome: Outcome, path: Path) -> None:
    """Write the report, whole or not at all."""
    write_whole(path, dumped(to_json(outcome)))


def dumped(report: Mapping[str, Any]) -> bytes:
    """Return a report as the bytes of its file."""
    return (json.dumps(report, indent=2) + "\n").encode()
