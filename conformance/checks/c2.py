"""C2, no overlap: who reads what in one step."""

from collections import Counter
from collections.abc import Iterable
from itertools import chain, groupby

from ..bench import Bench
from ..case import Case, Leg
from ..cases import mixture, one_source
from ..judging import expect_peers_agree, expect_same_sequence, named, served
from ..registry import Scale, check
from ..trace import Sample, SampleKey, Trace
from ..verdict import Broken, NotApplicable


def ranks(scale: Scale) -> Iterable[Case]:
    """One epoch of one source, on few and on many ranks, with and without accumulation; and a mixture."""
    sizes = [(1, 1, 1), (2, 1, 1), (3, 2, 1), (4, 1, 2), (9, 1, 1)]
    if scale.full:
        sizes += [(16, 1, 1), (5, 3, 2), (16, 2, 1), (64, 1, 1)]
    for dp_size, micro_batch, accumulation in sizes:
        yield one_source(4 * dp_size * micro_batch * accumulation, leg=Leg(dp_size, micro_batch, accumulation))
    yield mixture({"a": 30, "b": 20}, {"a": "0.6", "b": "0.4"}, 48, leg=Leg(4, 2, 1))


@check("C2.1", "one-rank-each", ranks, faults=(20, 21), judges_trace=True)
def one_rank_each(bench: Bench, case: Case) -> None:
    """In an epoch every sample stands once, so two ranks that hold one in a step have read the same position."""
    trace = bench.play(case)
    for step in _first_epochs(bench, trace):
        holders: dict[SampleKey, int] = {}
        for sample in step:
            key = trace.window(sample)
            if holders.setdefault(key, sample.layout.dp_rank) != sample.layout.dp_rank:
                raise Broken(f"{named(key)} on one rank", f"it on ranks {holders[key]} and {sample.layout.dp_rank}", trace, sample)


@check("C2.2", "all-of-the-step", ranks, needs="layout", faults=(20, 21), judges_trace=True)
def all_of_the_step(bench: Bench, case: Case) -> None:
    """The ranks together against one rank that takes whole steps."""
    leg = case.legs[0]
    expect_same_sequence(bench.play(case.with_legs(Leg(1, leg.batch_size))), bench.play(case))


def peers(scale: Scale) -> Iterable[Case]:
    """8 samples on one dp rank and on two of several peers each; with accumulation, and through two epochs."""
    shapes = [(1, 2, 1, 1), (2, 2, 1, 1), (2, 1, 2, 1)] + ([(2, 2, 2, 2), (4, 1, 1, 4)] if scale.full else [])
    for dp_size, tp, pp, cp in shapes:
        yield one_source(8, leg=Leg(dp_size, tp=tp, pp=pp, cp=cp))
    yield one_source(12, leg=Leg(1, 1, 3, tp=2))
    yield one_source(16, leg=Leg(2, 1, 2, cp=2))
    yield one_source(6, samples=16, leg=Leg(1, 2, pp=2))


@check("C2.3", "peers-agree", peers, needs="peers", faults=(19,), judges_trace=True)
def peers_agree(bench: Bench, case: Case) -> None:
    """Every peer of a dp rank gets what the first one gets, and the dp ranks still cover the epoch."""
    trace = bench.play(case)
    expect_peers_agree(trace)
    if case.legs[0].dp_size == 1 and trace.legs[-1].ended and case.settings.length <= _epoch(bench, case):
        # With one dp rank no other fault can take samples away: peers that were counted as ranks did.
        _expect_distinct(trace, case.settings.length)


def tails(scale: Scale) -> Iterable[Case]:
    """Lengths of the run that the batch size does not divide."""
    for n, leg in (
        (9, Leg(4, 2)),
        (10, Leg(4)),
        (7, Leg(2, 1, 2)),
        (11, Leg(3, 2)),
        *([(130, Leg(64)), (33, Leg(16, 2))] if scale.full else []),
    ):
        yield one_source(n, leg=leg)


@check("C2.4", "ranks-end-together", tails, needs="whole_steps", faults=(23,), judges_trace=True)
def ranks_end_together(bench: Bench, case: Case) -> None:
    """No rank has a step that another has not, and none goes on past the end of the run."""
    leg = bench.play(case).legs[0]
    if leg.ended_early:
        raise Broken(
            "every rank to serve the same steps",
            f"ranks {leg.ended_early} to end before the others",
            step=len(leg.steps),
            rank=leg.ended_early[0],
        )
    if leg.endless:
        raise Broken(f"the run to end after {case.settings.length} samples", f"{len(leg.steps)} steps and no end", step=len(leg.steps))


@check("C2.5", "no-padding", tails, needs="whole_steps", faults=(22,), judges_trace=True)
def no_padding(bench: Bench, case: Case) -> None:
    """An epoch that the batch size does not divide ends with a whole step of new samples; no sample comes twice."""
    trace = bench.play(case)
    whole = case.settings.length // case.legs[0].batch_size
    _expect_new(trace, chain.from_iterable(_first_epochs(bench, trace)))
    if len(trace.legs[0].steps) > whole:
        raise Broken(f"{whole} whole steps of {case.settings.length} samples", f"{len(trace.legs[0].steps)}", step=whole)


def several_epochs(scale: Scale) -> Iterable[Case]:
    """Epochs that the batch size does not divide, on one rank and on two, with accumulation and without."""
    yield one_source(9, 36, leg=Leg(1, 2))
    yield one_source(11, 44, leg=Leg(2, 2))
    yield one_source(9, 36, leg=Leg(1, 1, 2))


@check("C2.5", "whole-in-every-epoch", several_epochs, needs="whole_steps epochs", faults=(22,), judges_trace=True)
def whole_in_every_epoch(bench: Bench, case: Case) -> None:
    """Where an epoch ends inside a step, the step is as large as any other: it ends with the next epoch's samples."""
    for leg in bench.play(case).legs:
        if leg.short:
            raise leg.short


def chained_epochs(scale: Scale) -> Iterable[Case]:
    """Two epochs of which the ranks do not divide the first: it ends in a step that has one sample of it, or a few."""
    for n, leg in ((17, Leg(8)), (13, Leg(6)), (25, Leg(4, 3)), *([(49, Leg(24)), (50, Leg(8, 3)), (33, Leg(16))] if scale.full else ())):
        yield one_source(n, samples=2 * n, leg=leg)


@check("C2.5", "no-padding-between-epochs", chained_epochs, needs="whole_steps epochs", faults=(22,))
def no_padding_between_epochs(bench: Bench, case: Case) -> None:
    """The step in which an epoch ends is filled with samples of the next one, not with some of the same again.

    Nobody can tell by the step itself; but then some sample comes more often than two epochs give. It is looked at only where leaving out
    the rest of an epoch cannot do that, and where a loader on one rank does not.
    """
    size, n = case.legs[0].batch_size, _epoch(bench, case)
    if len(case.settings.sources) != 1 or case.settings.length > 2 * n or case.legs[0].dp_size == 1 or not 0 < 2 * (n % size) < size:
        raise NotApplicable("expected two epochs of one source, on ranks that do not divide them")
    if _oftener(bench.play(case.with_legs(Leg())), n):
        raise NotApplicable("repeats samples on one rank too, which is for C1.3 to judge")
    trace = bench.play(case)
    if found := _oftener(trace, n):
        sample, end = found
        most = -(-end // n)
        raise Broken(
            f"{named(trace.window(sample))} at most {most} times in the first {end} samples of {n} windows",
            f"it {most + 1} times, so that some step was filled with samples that were served",
            trace,
            sample,
        )


def _oftener(trace: Trace, n: int) -> tuple[Sample, int] | None:
    """Return a sample that comes more often than whole epochs of n windows give, and the end of the step until which it does."""
    ends, seen, latest = {end for _, end, _ in trace.blocks()}, Counter[SampleKey](), dict[SampleKey, Sample]()
    for sample in trace.samples():
        seen[key := trace.window(sample)] += 1
        latest[key] = sample
        if sample.position + 1 in ends and seen.most_common(1)[0][1] > -(-(sample.position + 1) // n):
            return latest[seen.most_common(1)[0][0]], sample.position + 1
    return None


@check("C2.6", "contiguous-rows", ranks, needs="layout any_batch rows", faults=(16,), judges_trace=True)
def contiguous_rows(bench: Bench, case: Case) -> None:
    """Row by row, micro-batch by micro-batch, rank by rank: the sequence that one rank serves one by one."""
    expect_same_sequence(bench.play(case.with_legs(Leg())), bench.play(case), rows=True)


def _epoch(bench: Bench, case: Case) -> int:
    return min(case.windows(source, bench.declaration().stride) for source in case.settings.sources)


def _first_epochs(bench: Bench, trace: Trace) -> list[list[Sample]]:
    """Return for each step the samples of those sources of which it, and all before it, drew an epoch at most: C1.3 has them differ."""
    case = trace.case
    if case.settings.skips:
        raise NotApplicable("expected a case without skips: what they pass over cannot be counted")
    several = len(case.settings.sources) > 1
    promise = "mixed_epochs" if several else "whole_epochs"
    if promise not in bench.declaration().promises and (several or case.settings.length > _epoch(bench, case)):
        raise NotApplicable("may serve samples again before it has served all")
    left = {source: case.windows(source, bench.declaration().stride) for source in case.settings.sources}
    found = []
    for _, step in groupby(served(trace), key=lambda sample: (sample.leg, sample.step)):
        drawn: dict[str, list[Sample]] = {}
        for sample in step:
            if (corpus := trace.window(sample)[0]) != "?":
                drawn.setdefault(case.source_of(corpus), []).append(sample)
        for source, samples in drawn.items():
            left[source] -= len(samples)
        found.append([sample for source, samples in drawn.items() if left[source] >= 0 for sample in samples])
    if not any(found):
        raise NotApplicable("expected a step within the first epoch of a source")
    return found


def _expect_distinct(trace: Trace, count: int | None) -> None:
    seen = _expect_new(trace, trace.samples())
    batch_size = trace.legs[0].leg.batch_size
    if count is not None and len(seen) < count // batch_size * batch_size:
        raise Broken(f"{count // batch_size * batch_size} different samples", f"{len(seen)}")


def _expect_new(trace: Trace, samples: Iterable[Sample]) -> set[SampleKey]:
    seen: set[SampleKey] = set()
    for sample in samples:
        key = trace.window(sample)
        if key in seen:
            raise Broken(f"{named(key)} once in the epoch", "it again", trace, sample)
        seen.add(key)
    return seen
