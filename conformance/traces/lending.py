"""Judges recorded traces: a bench that plays nothing, and lends what was recorded to the checks that take any trace."""

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..asking import asked, rebatched
from ..bench import Bench, Declaration
from ..case import Case
from ..corpora import CorpusSpec
from ..judging import per_source
from ..registry import Check
from ..suite import tried
from ..trace import Trace
from ..verdict import NOT_APPLICABLE, REFUSED, WORST_FIRST, Finding, NotApplicable


class Recorded(Bench):
    """A bench that plays nothing: it lends the traces that were recorded, each once in a judgement."""

    def __init__(self, traces: Sequence[Trace], declared: Declaration) -> None:
        """Begin with all traces; `judging` names the one that is judged."""
        self.traces = traces
        self._declared = declared
        self.judging: Trace = traces[0]
        self._left: list[Trace] = []
        self._before: Trace | None = None

    def judge(self, seen: Trace, trace: Trace, before: Trace | None = None) -> Case:
        """Make `seen` the one that is judged, which is all or a part of `trace`, and return its case.

        `before` is what stands in for the run without a stop where there is none.
        """
        self.judging, self._left = seen, [seen, *(other for other in self.traces if other is not trace)]
        self._before = before
        return seen.case

    def close(self) -> None:
        """Nothing was made."""

    def expect_room(self) -> None:
        """Nothing is written."""

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
        if not same and _is_whole(case) and case != self.judging.case:
            others = [trace for trace in self._left if trace is not self.judging]
            same = [trace for trace in others if _is_whole(trace.case) and _data(trace.case) == _data(case)]
            if not same and self._before is not None and _data(self._before.case) == _data(case):
                return self._before
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
    findings = [_on(recorded, check, trace, declared) for trace in recorded.traces]
    return min(findings, key=lambda finding: WORST_FIRST.index(finding.verdict))


def _on(recorded: Recorded, check: Check, trace: Trace, declared: Declaration) -> Finding:
    # What comes after a restart is judged as a resumption; everything else, by the first leg alone.
    seen = trace if "resume" in check.needs else first_leg(trace)
    if "boundaries" in check.needs and not trace.case.settings.boundaries:
        return Finding(check.id, check.clause, NOT_APPLICABLE, "the case asks for no boundaries")
    if missing := sorted(exercised(seen, declared.stride) - declared.promises):
        return Finding(check.id, check.clause, REFUSED, f"the trace takes what is not promised: {', '.join(missing)}")
    stops: list[Trace | None] = [*before_restarts(trace)] if "resume" in check.needs else []
    findings = [tried(recorded, check, recorded.judge(seen, trace, before), declared) for before in stops or [None]]
    return min(findings, key=lambda finding: WORST_FIRST.index(finding.verdict))


def before_restarts(trace: Trace) -> list[Trace]:
    """Return for each leg whose last steps were lost by a restart, the trace as it was before it: those steps come twice, and alike."""
    found = []
    for number, leg in enumerate(trace.legs):
        if any(step.lost for step in leg.steps):
            steps = [replace(step, lost=False) for step in leg.steps]
            legs = [*trace.legs[:number], replace(leg, steps=steps)]
            found.append(Trace(trace.case.with_legs(*(each.leg for each in legs)), legs))
    return found


def first_leg(trace: Trace) -> Trace:
    """Return the trace up to its first restart, with the steps that were lost by it."""
    leg = trace.legs[0]
    steps = [replace(step, lost=False) for step in leg.steps]
    return Trace(trace.case.with_legs(leg.leg), [replace(leg, steps=steps)])


def exercised(trace: Trace, stride: str) -> set[str]:
    """Return the promises without which a loader need not have served what was recorded."""
    legs = trace.case.legs
    skipped = sum(count for _, count in trace.case.settings.skips)
    drawn = {name: len(samples) + skipped for name, samples in per_source(trace)}
    found = {
        "epochs": any(count > trace.case.windows(source, stride) for source, count in drawn.items()),
        "resume": len(legs) > 1,
        "elastic": len({leg.dp_size for leg in legs}) > 1,
        "layout": len({(leg.dp_size, leg.micro_batch, leg.accumulation) for leg in legs}) > 1,
        "any_batch": len({leg.batch_size for leg in legs}) > 1,
        "rebatch": any(rebatched(one, other) for one, other in pairwise(legs)),
    }
    return (asked(trace.case, stride) - {"epochs", "boundaries"}) | {name for name, needed in found.items() if needed}
