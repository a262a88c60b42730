"""What a case asks of a loader: the promises without which it need not serve the case at all."""

from collections.abc import Iterator
from fractions import Fraction

from .case import Case


def asked(case: Case, stride: str = "L") -> set[str]:
    """Return the promises that a case's settings and layouts presuppose, whatever the check that plays it."""
    settings = case.settings
    found = {
        "mixture": len({name for phase in settings.phases for name, weight in phase.weights.items() if Fraction(weight)}) > 1,
        "phases": len(settings.phases) > 1,
        "skips": bool(settings.skips),
        "boundaries": settings.boundaries,
        "batch_size": settings.batch_size is not None,
        "peers": any(leg.tp * leg.pp * leg.cp > 1 for leg in case.legs),
        "workers": any(leg.workers for leg in case.legs),
        "epochs": any(draws > windows for draws, windows in _draws(case, stride)),
    }
    return {name for name, needed in found.items() if needed}


def _draws(case: Case, stride: str) -> Iterator[tuple[Fraction, int]]:
    """Yield for each source its share of the run, what is skipped included, and how many windows it has."""
    present = {spec.name for spec in case.corpora}
    skipped = sum(count for _, count in case.settings.skips)
    for source, corpora in case.settings.sources.items():
        if present.issuperset(corpora):
            share = Fraction(skipped)
            for phase in case.settings.phases:
                weights = {name: Fraction(weight) for name, weight in phase.weights.items()}
                if weights.get(source):
                    share += phase.length * weights[source] / sum(weights.values())
            yield share, case.windows(source, stride)
