"""What a case asks of a loader: the promises without which it need not serve the case at all."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from fractions import Fraction

from .case import Case, settings_from
from .driver import Settings


def asked(case: Case, stride: str = "L") -> set[str]:
    """Return the promises that a case's settings and layouts presuppose, whatever the check that plays it."""
    return set().union(*(_asked(case, settings, stride) for settings in _settings(case)))


def _settings(case: Case) -> list[Settings]:
    """Return the settings that the case begins with, and those that each leg goes on with."""
    found = [case.settings]
    for leg in case.legs:
        if leg.settings:
            found.append(settings_from(asdict(found[-1]) | leg.settings))
    return found


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
