"""C3, ranks that open at the same time, in a folder where nothing was built before."""

from collections.abc import Iterable
from dataclasses import replace

from ..bench import Bench
from ..case import Case, Leg
from ..cases import mixture
from ..judging import expect_same_sequence
from ..registry import Scale, check


def cold(scale: Scale) -> Iterable[Case]:
    """A run that is long enough for whatever is built on opening to take a while, on two processes, and on four."""
    for dp_size in (2, 4, 8) if scale.full else (2,):
        leg = Leg(dp_size, 1, steps=3, fresh=True)
        yield mixture({"a": 500, "b": 300}, {"a": "0.6", "b": "0.4"}, 100_000, leg=leg)


@check("C3.1", "opened-together", cold, needs="epochs mixture layout", faults=(56,))
def opened_together(bench: Bench, case: Case) -> None:
    """All ranks build what they need at once, and serve what one of them alone does."""
    leg = case.legs[0]
    alone = replace(leg, dp_size=1, micro_batch=leg.dp_size * leg.micro_batch, fresh=False)
    expect_same_sequence(bench.play(case.with_legs(alone)), bench.play(case))
