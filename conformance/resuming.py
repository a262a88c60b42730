"""What the checks of resumption have in common: the run without a stop, and the comparison with it."""

from dataclasses import asdict
from itertools import accumulate

from .bench import Bench
from .case import Case, Leg, settings_from
from .judging import expect_same_sequence
from .trace import Trace


def without_stops(case: Case) -> Case:
    """Return the case on its first layout from beginning to end, with the settings that its last leg has."""
    settings = asdict(case.settings)
    for leg in case.legs:
        settings |= leg.settings
    first = case.legs[0]
    return Case(case.corpora, settings_from(settings), (Leg(first.dp_size, first.micro_batch, first.accumulation),))


def expect_uninterrupted(bench: Bench, case: Case) -> Trace:
    """Play the case, and return its trace where it serves what a run without stops serves; raises Broken where it does not."""
    trace = bench.play(case)
    expect_same_sequence(bench.play(without_stops(case)), trace)
    return trace


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
