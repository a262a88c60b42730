"""Known failures: a file of check ids, each with the reason why it is expected to be broken."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ..errors import UsageError
from .verdict import BROKEN, HOLDS, Finding


def read(path: Path, checks: Iterable[str]) -> dict[str, str]:
    """Return the reason of each listed check. Lines are `CHECK REASON`; empty ones, and what begins with #, are left out.

    Raises UsageError for a check that does not exist, or that has no reason.
    """
    known: dict[str, str] = {}
    existing = set(checks)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as reason:
        raise UsageError(f"expected a file of known failures at {path}: {reason}") from reason
    for number, line in enumerate(lines, 1):
        check, _, why = line.strip().partition(" ")
        if not check or check.startswith("#"):
            continue
        if check not in existing or not why.strip():
            raise UsageError(f"expected the id of a check and a reason at {path}:{number}, found {line.strip()!r}; --list shows the ids")
        known[check] = why.strip()
    return known


def unexpected(findings: Iterable[Finding], known: Mapping[str, str]) -> list[Finding]:
    """Return the findings that fail a run: broken and not known, or listed although the check no longer fails."""
    return [finding for finding in findings if stale(finding, known) or (finding.verdict == BROKEN and not expected(finding, known))]


def expected(finding: Finding, known: Mapping[str, str]) -> bool:
    """Return whether a finding is the failure that is known. That the driver breaks a MUST of its own inside another check is not."""
    return finding.verdict == BROKEN and finding.check in known and finding.check.partition("/")[0] == finding.clause


def stale(finding: Finding, known: Mapping[str, str]) -> str:
    """Return a sentence for a check that is listed and does not fail: it holds, or was not judged at all; empty for others."""
    if finding.check not in known or finding.verdict == BROKEN:
        return ""
    how = "holds" if finding.verdict == HOLDS else f"was not judged, but {finding.verdict}: {finding.reason}"
    return f"{finding.check} is listed as a known failure ({known[finding.check]}), and {how}"
