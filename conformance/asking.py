"""What a case asks of a loader: the promises without which it need not serve the case at all, and what more it may refuse."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import asdict, replace
from fractions import Fraction
from itertools import pairwise

from .case import Case, Leg
from .driver import Settings


def asked(case: Case, stride: str = "L") -> set[str]:
    """Return the promises that a case's settings and layouts presuppose, whatever the check that plays it."""
    return _resumed(case.legs).union(*(_asked(case, settings, stride) for settings in _settings(case)))


SHORT = 4
"""Tokens of a sample below which a loader may refuse to serve any."""


def beyond(case: Case, promises: Set[str] = frozenset(), stride: str = "L") -> list[str]:
    """Return, in words, what a case asks for that not everybody must serve (DRIVERS.md) and that none of the promises covers.

    Such a case is played nevertheless: a loader that serves it is judged, and one that refuses it has broken nothing.
    """
    legs, versions = case.legs, [replace(case, settings=settings) for settings in _settings(case)]
    held = {name: one for one in versions for name in _weighed(one)}
    windows = {name: one.windows(name, stride) for name, one in held.items()}
    found = {
        "several ranks": "layout" not in promises and any(leg.dp_size > 1 for leg in legs),
        "several rows a micro-batch": "layout" not in promises and any(leg.micro_batch > 1 for leg in legs),
        "several micro-batches a step": "layout" not in promises and any(leg.accumulation > 1 for leg in legs),
        f"a sequence length below {SHORT}": any(one.settings.seq_len < SHORT for one in versions),
        "a source of fewer windows than a step has samples": any(leg.batch_size > min(windows.values(), default=1) for leg in legs),
        "a source of several corpora": any(len(one.settings.sources[name]) > 1 for name, one in held.items()),
        "documents without a token": "boundaries" not in promises and any(0 in spec.documents for spec in case.corpora),
        # Without shares at every prefix, nobody knows how often each source is drawn.
        "a mixture that could pass through a source": promises.isdisjoint({"epochs", "prefix", "order"})
        and any(most > windows[name] for one in versions for name, most in _most(one).items()),
    }
    return [what for what, needed in found.items() if needed]


def narrowed(case: Case) -> Case:
    """Return the case on one rank, in steps of one sample, with its stops in the same positions: for who refuses larger ones.

    A case that asks for a size of the batch is about just that, and stays as it is.
    """
    if case.settings.batch_size is not None:
        return case
    return case.with_legs(*(_narrow(leg) for leg in case.legs))


def _narrow(leg: Leg) -> Leg:
    steps = None if leg.steps is None else leg.steps * leg.batch_size
    return replace(leg, dp_size=1, micro_batch=1, accumulation=1, steps=steps, ahead=leg.ahead * leg.batch_size)


def _weighed(case: Case) -> set[str]:
    """Return the sources that are drawn from and whose corpora are there."""
    present = {spec.name for spec in case.corpora}
    names = {name for phase in case.settings.phases for name, weight in phase.weights.items() if Fraction(weight)}
    return {name for name in names if present.issuperset(case.settings.sources.get(name, ["?"]))}


def _most(case: Case) -> dict[str, int]:
    """Return how many samples could be drawn from each source that shares a phase with others, whatever the luck."""
    found: dict[str, int] = {}
    for name in _weighed(case):
        phases = [phase for phase in case.settings.phases if Fraction(phase.weights.get(name, 0))]
        if any(sum(bool(Fraction(weight)) for weight in phase.weights.values()) > 1 for phase in phases):
            found[name] = sum(phase.length for phase in phases) + sum(count for _, count in case.settings.skips)
    return found


def _settings(case: Case) -> list[Settings]:
    """Return the settings that the case begins with, and those that each leg goes on with."""
    found = [case.settings]
    for leg in case.legs:
        if leg.settings:
            found.append(Settings.from_json(asdict(found[-1]) | leg.settings))
    return found


def _resumed(legs: Sequence[Leg]) -> set[str]:
    """Return the promises that going on from one leg to the next presupposes; a leg to the end of the run leaves nothing to go on with."""
    pairs = [(one, other) for one, other in pairwise(legs) if one.steps is not None]
    found = {
        "resume": bool(pairs),
        "elastic": any(one.dp_size != other.dp_size for one, other in pairs),
        "rebatch": any(rebatched(one, other) for one, other in pairs),
    }
    return {name for name, needed in found.items() if needed}


def rebatched(one: Leg, other: Leg) -> bool:
    """Whether the batch size changes, or the ranks that stay as many share it otherwise."""
    shares = one.micro_batch != other.micro_batch or one.accumulation != other.accumulation
    return one.batch_size != other.batch_size or (one.dp_size == other.dp_size and shares)


def _asked(case: Case, settings: Settings, stride: str) -> set[str]:
    found = {
        "mixture": len({name for phase in settings.phases for name, weight in phase.weights.items() if Fraction(weight)}) > 1,
        "phases": len(settings.phases) > 1,
        "skips": bool(settings.skips),
        "boundaries": settings.boundaries,
        "batch_size": settings.batch_size is not None,
        "peers": any(leg.tp * leg.pp * leg.cp > 1 for leg in case.legs),
        "workers": any(leg.workers for leg in case.legs),
        "epochs": any(draws > windows for draws, windows in _draws(replace(case, settings=settings), stride)),
    }
    return {name for name, needed in found.items() if needed}


def _draws(case: Case, stride: str) -> Iterator[tuple[Fraction, int]]:
    """Yield for each source its share of the run, what is skipped included, and how many windows it has."""
    present = {spec.name for spec in case.corpora}
    skipped = sum(count for _, count in case.settings.skips)
    shares: dict[str, Fraction] = {}
    for phase in case.settings.phases:
        weights = {name: Fraction(weight) for name, weight in phase.weights.items()}
        total = sum(weights.values())
        for name, weight in weights.items():
            if weight:
                shares[name] = shares.get(name, Fraction(skipped)) + phase.length * weight / total
    for source, corpora in case.settings.sources.items():
        if present.issuperset(corpora):
            yield shares.get(source, Fraction(skipped)), case.windows(source, stride)
