"""What the checks of resumption have in common: the run without a stop, and the comparison with it."""

from dataclasses import asdict
from fractions import Fraction
from itertools import accumulate
from typing import Any

from .bench import Bench
from .case import Case, Leg
from .driver import Settings
from .judging import expect_same_sequence
from .trace import Trace
from .verdict import NotApplicable


def without_stops(case: Case) -> Case:
    """Return the case on its first layout, with as many workers, from beginning to end, with the settings that its last leg has."""
    settings = asdict(case.settings)
    for leg in case.legs:
        settings |= leg.settings
    first = case.legs[0]
    whole = Leg(first.dp_size, first.micro_batch, first.accumulation, workers=first.workers)
    return Case(case.corpora, Settings.from_json(settings), (whole,))


def expect_uninterrupted(bench: Bench, case: Case) -> Trace:
    """Play the case, and return its trace where it serves what a run without stops serves; raises Broken where it does not."""
    if len(case.legs) < 2:
        raise NotApplicable("expected a run that is stopped and resumed")
    trace = bench.play(case)
    expect_same_sequence(bench.play(without_stops(case)), trace)
    return trace


def cut(settings: Settings, consumed: int) -> dict[str, Any]:
    """Return what decides the first `consumed` positions, by name (formats.md, F3)."""
    phases, start = [], 0
    for phase in settings.phases:
        if start < consumed:
            weights = {name: Fraction(weight) for name, weight in phase.weights.items() if Fraction(weight)}
            total = sum(weights.values())
            phases.append((min(phase.length, consumed - start), {name: weight / total for name, weight in weights.items()}))
        start += phase.length
    return {
        "seed": settings.seed,
        "seq_len": settings.seq_len,
        "rule": settings.rule,
        "sources": {name: settings.sources.get(name) for name in sorted({name for _, weights in phases for name in weights})},
        "lengths of phases": [length for length, _ in phases],
        "weights": [weights for _, weights in phases],
        "skips": sorted(skip for skip in settings.skips if skip[0] < consumed),
    }


def changed(case: Case) -> Settings:
    """Return the settings that the last leg has; raises NotApplicable where a case that was made smaller does not fit together."""
    settings = without_stops(case).settings
    corpora = {spec.name for spec in case.corpora}
    for one in (case.settings, settings):
        weighed = {name for phase in one.phases for name in phase.weights}
        if not weighed <= one.sources.keys() or any(not corpora.issuperset(names) for names in one.sources.values()):
            raise NotApplicable("expected every source with a weight to have its corpora")
        if any(not 0 <= at < one.length for at, _ in one.skips):
            raise NotApplicable("expected skips within the run")
    return settings


def stops(case: Case, *steps: int, stop: str = "save", last: Leg | None = None) -> Case:
    """Return the case with its leg stopped after each of `steps`, resumed, and at last (on the layout of `last`) run to the end."""
    leg = case.legs[0]
    legs = [_part(leg, count, stop) for count in steps]
    return case.with_legs(*legs, last or leg)


def borders(case: Case) -> set[int]:
    """Return the positions at which an epoch of the one source, a phase or the run ends."""
    phases = set(accumulate(phase.length for phase in case.settings.phases))
    if len(case.settings.sources) > 1:
        return phases
    n = case.windows(next(iter(case.settings.sources)))
    return phases | set(range(n, case.settings.length + 1, n))


def _part(leg: Leg, steps: int, stop: str) -> Leg:
    return Leg(**{**asdict(leg), "steps": steps, "stop": stop})
