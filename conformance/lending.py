"""Judges recorded traces: a bench that plays nothing, and lends what was recorded to the checks that take any trace."""

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from .bench import Bench, Declaration
from .case import Case
from .corpora import CorpusSpec
from .registry import Check
from .suite import attempt
from .trace import Trace
from .verdict import BROKEN, HOLDS, NOT_APPLICABLE, REFUSED, Finding, NotApplicable


class Recorded(Bench):
    """A bench that plays nothing: it lends the traces that were recorded, each once in a judgement."""

    def __init__(self, traces: Sequence[Trace], declared: Declaration) -> None:
        """Begin with all traces; `judging` names the one that is judged."""
        self.traces = traces
        self._declared = declared
        self.judging: Trace = traces[0]
        self._left: list[Trace] = []

    def judge(self, trace: Trace) -> Case:
        """Make `trace` the one that is judged, and return its case."""
        self.judging, self._left = trace, list(self.traces)
        return trace.case

    def close(self) -> None:
        """Nothing was made."""

    def declaration(self) -> Declaration:
        """Return what the traces promise."""
        assert self._declared is not None
        return self._declared

    def corpora(self, specs: Sequence[CorpusSpec]) -> Path:
        """Say that there is no loader to give them to."""
        raise NotApplicable("asks the loader itself, and there is only a trace")

    def play(self, case: Case, corpus: Path | None = None) -> Trace:
        """Return the trace of exactly this case; for a run without a stop, any trace without a stop of the same data and settings."""
        same = [trace for trace in self._left if trace.case == case]
        if not same and _is_whole(case):
            others = [trace for trace in self._left if trace is not self.judging]
            same = [trace for trace in others if _is_whole(trace.case) and _data(trace.case) == _data(case)]
        if not same or corpus is not None:
            raise NotApplicable("asks for a run of which no trace was given")
        found = next((trace for trace in same if trace is self.judging), same[0])
        self._left = [trace for trace in self._left if trace is not found]
        return found


def _is_whole(case: Case) -> bool:
    return len(case.legs) == 1 and case.legs[0].steps is None and not case.legs[0].settings and not case.legs[0].environment


def _data(case: Case) -> tuple[Any, ...]:
    return case.corpora, asdict(case.settings)


def judge(recorded: Recorded, check: Check) -> Finding:
    """Return the finding of a check on all traces: broken at the first that proves it."""
    start = time.monotonic()
    return replace(_judge(recorded, check), seconds=time.monotonic() - start)


def _judge(recorded: Recorded, check: Check) -> Finding:
    declared = recorded.declaration()
    if not check.judges_trace:
        return Finding(check.id, check.clause, NOT_APPLICABLE, "asks the loader itself, and there is only a trace")
    if missing := sorted(check.needs - declared.promises):
        return Finding(check.id, check.clause, REFUSED, f"does not promise {', '.join(missing)}")
    findings = [attempt(recorded, check, recorded.judge(trace), declared) for trace in recorded.traces]
    return min(findings, key=lambda finding: (BROKEN, HOLDS, REFUSED, NOT_APPLICABLE).index(finding.verdict))
