"""The report for continuous integration: JUnit XML, a test case for each check."""

import re
import xml.etree.ElementTree as Xml
from pathlib import Path

from ...reference.files import write_whole
from ..known import stale
from ..verdict import BROKEN, HOLDS, Finding
from . import Outcome
from .proof import text, title
from .words import plain

UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""


def to_xml(outcome: Outcome) -> str:
    """Return the report: broken is a failure, refused and not applicable are skipped with the reason, as is a known failure."""
    suite = Xml.Element("testsuite", name=f"fivepoint conform {outcome.loader}", tests=str(len(outcome.findings)))
    counts = {"failures": 0, "skipped": 0, "errors": 0}
    for finding in outcome.findings:
        chapter_and_clause = f"fivepoint.{finding.clause.partition('.')[0]}.{finding.clause}"
        case = Xml.SubElement(suite, "testcase", classname=chapter_and_clause, name=finding.check, time=f"{finding.seconds:.3f}")
        if finding in outcome.unexpected:
            counts["failures"] += 1
            _failure(outcome, finding, case)
        elif finding.verdict != HOLDS:
            counts["skipped"] += 1
            why = f"known: {outcome.known[finding.check]}" if finding.verdict == BROKEN else f"{finding.verdict}: {finding.reason}"
            Xml.SubElement(case, "skipped", message=_clean(why))
    for name, count in counts.items():
        suite.set(name, str(count))
    suite.set("time", f"{sum(finding.seconds for finding in outcome.findings):.3f}")
    suites = Xml.Element("testsuites")
    suites.append(suite)
    Xml.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(suites, encoding="unicode") + "\n"


def _failure(outcome: Outcome, finding: Finding, case: Xml.Element) -> None:
    if said := stale(finding, outcome.known):
        Xml.SubElement(case, "failure", message=_clean(said))
        return
    failure = Xml.SubElement(case, "failure", message=_clean(title(finding)))
    failure.text = _clean(text(finding, outcome.command(finding)))


def _clean(said: str) -> str:
    return UNPRINTABLE.sub("?", plain(said))


def write_junit(outcome: Outcome, path: Path) -> None:
    """Write the report, whole or not at all."""
    write_whole(path, to_xml(outcome).encode())
