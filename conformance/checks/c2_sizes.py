"""C2, no overlap: sizes that do not divide are refused (C2.7)."""

from collections.abc import Iterable
from dataclasses import replace

from ..asking import beyond
from ..bench import Bench
from ..case import Case, Leg
from ..cases import one_source
from ..play import Refused
from ..registry import Scale, check
from ..verdict import Broken, NotApplicable


def misfits(scale: Scale) -> Iterable[Case]:
    """Batch sizes that the layout does not make up."""
    for batch_size, leg in ((2, Leg()), (10, Leg(4, 1, 2)), (10, Leg(5, 1, 3)), (9, Leg(2, 2, 2)), (1, Leg(2))):
        yield one_source(40, leg=leg).with_settings(batch_size=batch_size)


@check("C2.7", "sizes-that-do-not-fit", misfits, needs="batch_size")
def sizes_that_do_not_fit(bench: Bench, case: Case) -> None:
    """Refused before the first step, and the fitting layout is served."""
    asked, leg = case.settings.batch_size, case.legs[0]
    if asked is None or asked == leg.batch_size:
        raise NotApplicable("expected a layout that does not fit")
    fitting = case.with_legs(Leg(1, asked, 1, steps=1))
    try:
        bench.play(fitting)
    except Refused:
        if not beyond(fitting, bench.declaration().promises, bench.declaration().stride):
            raise
    try:
        bench.play(case.with_legs(Leg(leg.dp_size, leg.micro_batch, leg.accumulation, steps=1)))
    except Refused:
        return
    raise Broken(
        f"a refusal of {leg.dp_size} ranks * {leg.micro_batch} samples * {leg.accumulation} for a batch size of {asked}",
        f"a step of {leg.batch_size} samples",
        leg=0,
        step=0,
    )


def misfits_after_a_resume(scale: Scale) -> Iterable[Case]:
    """A run that is stopped on the layout that fits, and resumed on one that does not."""
    for fits, leg in ((Leg(1, 10), Leg(4, 1, 2)), (Leg(1, 4, 2), Leg(1, 3, 2))):
        yield one_source(40).with_settings(batch_size=fits.batch_size).with_legs(replace(fits, steps=1), replace(leg, steps=1))


@check("C2.7", "resumed", misfits_after_a_resume, needs="batch_size resume layout rebatch")
def sizes_that_do_not_fit_after_a_resume(bench: Bench, case: Case) -> None:
    """Refused, as before the first step."""
    asked, last = case.settings.batch_size, case.legs[-1]
    if len(case.legs) != 2 or case.legs[0].batch_size != asked or last.batch_size == asked or not case.legs[0].steps:
        raise NotApplicable("expected a stop on a layout that fits, and a resume on one that does not")
    with bench.open(case) as play:
        play.run(case.legs[0])
        try:
            play.open(last)
            play.begin()
        except Refused:
            return
    raise Broken(
        f"a refusal of {last.dp_size} ranks * {last.micro_batch} samples * {last.accumulation} for a batch size of {asked}",
        f"a step of {last.batch_size} samples",
        leg=1,
        step=0,
    )
