"""Make a failing case smaller: try one reduction after the other, keep what still fails, until nothing does or time is up."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from .case import Case, Leg
from .driver import Phase
from .verdict import ERROR, REFUSAL, Finding


def smallest(found: Finding, still_broken: Callable[[Case], Finding | None], seconds: float) -> Finding:
    """Return the finding on the smallest case that `still_broken` finds broken in the same way, within `seconds`."""
    end = time.monotonic() + seconds
    while True:
        for case in reductions(Case.from_json(found.case)):
            if time.monotonic() > end:
                return found
            if again := still_broken(case):
                found = again
                break
        else:
            return found


def reductions(case: Case) -> Iterator[Case]:
    """Yield cases that are a little smaller, the boldest first."""
    yield from _fewer_legs(case)
    yield from _fewer_sources(case)
    yield from _fewer_phases(case)
    yield from _smaller_legs(case)
    yield from _shorter_corpora(case)


def _fewer_legs(case: Case) -> Iterator[Case]:
    for i in range(len(case.legs)):
        if len(case.legs) > 1:
            yield case.with_legs(*case.legs[:i], *case.legs[i + 1 :])


def _fewer_sources(case: Case) -> Iterator[Case]:
    for name in case.settings.sources:
        if len(case.settings.sources) > 1:
            sources = {source: corpora for source, corpora in case.settings.sources.items() if source != name}
            phases = [Phase(phase.length, {n: w for n, w in phase.weights.items() if n != name}) for phase in case.settings.phases]
            phases = [phase for phase in phases if any(float(weight) for weight in phase.weights.values())]
            kept = {corpus for corpora in sources.values() for corpus in corpora}
            if phases:
                smaller = replace(case, corpora=tuple(spec for spec in case.corpora if spec.name in kept))
                yield smaller.with_settings(sources=sources, phases=phases, max_epochs={})


def _fewer_phases(case: Case) -> Iterator[Case]:
    if case.settings.skips:
        yield case.with_settings(skips=case.settings.skips[:-1])
    phases = case.settings.phases
    for i, phase in enumerate(phases):
        if len(phases) > 1:
            yield _within(case.with_settings(phases=[*phases[:i], *phases[i + 1 :]]))
        if phase.length > 1:
            yield _within(case.with_settings(phases=[*phases[:i], replace(phase, length=phase.length // 2), *phases[i + 1 :]]))


def _within(case: Case) -> Case:
    """Leave out the skips that lie past the run's end."""
    return case.with_settings(skips=[skip for skip in case.settings.skips if skip[0] < case.settings.length])


def _smaller_legs(case: Case) -> Iterator[Case]:
    for i, leg in enumerate(case.legs):
        for smaller in _smaller_leg(leg):
            yield case.with_legs(*case.legs[:i], smaller, *case.legs[i + 1 :])


def _smaller_leg(leg: Leg) -> Iterator[Leg]:
    for name in ("dp_size", "micro_batch", "accumulation", "tp", "pp", "cp"):
        if getattr(leg, name) > 1:
            yield replace(leg, **{name: getattr(leg, name) // 2})
    for name, least in (("steps", 1), ("workers", 0), ("ahead", 0)):
        if (getattr(leg, name) or 0) > least:
            yield replace(leg, **{name: getattr(leg, name) // 2})


def _shorter_corpora(case: Case) -> Iterator[Case]:
    for i, spec in enumerate(case.corpora):
        if len(spec.documents) > 1:
            shorter = [spec.documents[: len(spec.documents) // 2], (spec.tokens,)]
        else:
            half = spec.tokens // 2 + case.settings.seq_len
            shorter = [(half,)] if half < spec.tokens else []
        for documents in shorter:
            if sum(documents) <= case.settings.seq_len:
                continue  # a corpus without a window is another fault
            smaller = replace(spec, documents=tuple(documents), eod=None)
            yield replace(case, corpora=(*case.corpora[:i], smaller, *case.corpora[i + 1 :]))


def kind(finding: Finding) -> str:
    """Return in what way a case fails, without what differs between a case and a smaller one: numbers, lists, and names in it."""
    case = Case.from_json(finding.case)
    said = f"{finding.expected}; {finding.got}"
    if finding.got.startswith(ERROR):
        # The first words of an error are its type; the rest may name whatever it met.
        said = f"{finding.expected}; {' '.join(finding.got.split(':')[:1])}"
    if finding.got.startswith(REFUSAL):
        said = finding.got.partition(":")[0]
    names = sorted({*case.settings.sources, *(spec.name for spec in case.corpora)}, key=len, reverse=True)
    said = re.sub(rf"\b({'|'.join(map(re.escape, names))})\b", "NAME", said)
    return re.sub(r"\{.*\}|\[[^]]*\]|\d[\d.]*", "#", said)
