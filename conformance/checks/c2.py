"""C2, no overlap: who reads what in one step."""

from collections.abc import Iterable
from itertools import groupby

from ..bench import Bench
from ..case import Case, Leg
from ..cases import mixture, one_source
from ..judging import named, served
from ..registry import Scale, check
from ..trace import SampleKey
from ..verdict import Broken


def ranks(scale: Scale) -> Iterable[Case]:
    """One epoch of one source, on few and on many ranks, with and without accumulation."""
    sizes = [(1, 1, 1), (2, 1, 1), (3, 2, 1), (4, 1, 2)]
    if scale.full:
        sizes += [(8, 1, 1), (5, 3, 2), (16, 2, 1), (64, 1, 1)]
    for dp_size, micro_batch, accumulation in sizes:
        batch_size = dp_size * micro_batch * accumulation
        yield one_source(4 * batch_size, leg=Leg(dp_size, micro_batch, accumulation))
    yield mixture({"a": 30, "b": 20}, {"a": "0.6", "b": "0.4"}, 48, leg=Leg(4, 2, 1))


@check("C2.1", "one-rank-each", ranks, faults=(20, 21))
def one_rank_each(bench: Bench, case: Case) -> None:
    """In an epoch every sample stands once, so two ranks that hold one in a step have read the same position."""
    trace = bench.play(case)
    for _, step in groupby(served(trace), key=lambda sample: (sample.leg, sample.step)):
        holders: dict[SampleKey, int] = {}
        for sample in step:
            key = trace.key(sample)
            if holders.setdefault(key, sample.layout.dp_rank) != sample.layout.dp_rank:
                raise Broken(f"{named(key)} on one rank", f"it on ranks {holders[key]} and {sample.layout.dp_rank}", trace, sample)
