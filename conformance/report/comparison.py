"""Reports on several loaders side by side: read from what `conform --json` wrote, and kept in one file."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ...reference.files import write_whole
from ...reference.schema import validate
from ..contract import Clause, clauses
from ..verdict import BROKEN, Finding

FORMAT = "fivepoint-comparison"


@dataclass(frozen=True)
class Judged:
    """The report on one loader, as `conform --json` wrote it."""

    report: Mapping[str, Any]

    @property
    def loader(self) -> str:
        """Name of the loader, as the command line named it."""
        return str(self.report["loader"])

    @property
    def not_judged(self) -> str:
        """Return why nothing was judged, "" where something was."""
        return str(self.report.get("not_judged", ""))

    @property
    def version(self) -> str:
        """Return the loader's version, or that it was not judged."""
        return "not judged" if self.not_judged else str(self.report["loader_version"])

    @property
    def breaks(self) -> bool:
        """Whether it breaks a clause."""
        return any(finding["verdict"] == BROKEN for finding in self.report["findings"])

    @property
    def seconds(self) -> float:
        """How long all its checks took."""
        return float(sum(finding["milliseconds"] for finding in self.report["findings"])) / 1000

    def verdict(self, clause: str) -> str:
        """Return the verdict on a clause, "" where it was not asked about."""
        return next((row["verdict"] for row in self.report["clauses"] if row["clause"] == clause), "")

    def findings(self, clause: str) -> list[tuple[Finding, str]]:
        """Return what the checks found of a clause, and the command that shows each again, "" where nothing was broken."""
        found = [finding for finding in self.report["findings"] if finding["clause"] == clause]
        return [(Finding.from_json(finding), finding.get("reproduce", "")) for finding in found]


@dataclass(frozen=True)
class Comparison:
    """Reports side by side, one a loader."""

    judged: tuple[Judged, ...]

    @property
    def clauses(self) -> list[Clause]:
        """Clauses that at least one report asks about, in the contract's order."""
        return [clause for clause in clauses().values() if any(each.verdict(clause.id) for each in self.judged)]

    def to_json(self) -> dict[str, Any]:
        """Return the reports as one JSON object."""
        return {"format": FORMAT, "version": 1, "reports": [each.report for each in self.judged]}

    def write(self, path: Path) -> None:
        """Write the reports as one JSON file, whole or not at all."""
        write_whole(path, (json.dumps(self.to_json(), indent=1) + "\n").encode())


def read(paths: Iterable[Path]) -> Comparison:
    """Return the reports of files that `conform --json` or `report --json` wrote; a later one on the same loader counts.

    Raises UsageError for any other file.
    """
    judged: dict[str, Judged] = {}
    for path in paths:
        for report in _reports(path):
            validate(report, "conformance", str(path), UsageError)
            judged[report["loader"]] = Judged(report)
    return Comparison(tuple(judged.values()))


def _reports(path: Path) -> list[Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as reason:
        raise UsageError(f"expected a report of `fivepoint conform --json` at {path}: {reason}") from reason
    if isinstance(value, dict) and value.get("format") == FORMAT:
        validate(value, "comparison", str(path), UsageError)
        return list(value["reports"])
    return [value]
