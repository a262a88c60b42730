"""Cases that a loader must not serve, and how it is judged when it does."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from .bench import Bench
from .case import SAVE, Case
from .play import Failed, Refused
from .verdict import Broken


def expect_refusal(bench: Bench, case: Case, reason: str, corpus: Path | None = None, errors: bool = False) -> None:
    """Play a case that must be refused, for the `reason` given, and raise Broken where it is served.

    With `errors` an error of the loader's is as good as a refusal: for damage, which it may notice where it pleases.
    """
    try:
        trace = bench.play(case, corpus)
    except Refused:
        return
    except Failed:
        if errors:
            return
        raise
    samples = list(trace.samples())
    raise Broken(f"a refusal, because {reason}", f"{len(samples)} samples", trace, samples[0] if samples else None)


def expect_admission(bench: Bench, case: Case, reasons: Iterable[str]) -> None:
    """Play the first step of a case: it must be refused where there is a reason, and served where there is none."""
    case = case.with_legs(replace(case.legs[0], steps=1, stop=SAVE))
    reason = next(iter(reasons), None)
    if reason is not None:
        expect_refusal(bench, case, reason)
    elif not list(bench.play(case).samples()):
        raise Broken("a first step", "none")
