"""D0, what a sample is: where documents begin in it (D0.5 to D0.9), held to the lengths that the case gives them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from ..bench import Bench
from ..case import Case, Leg
from ..corpora import CorpusSpec
from ..coverage import expect_all_seen
from ..driver import Array, MicroBatch, Phase, Settings
from ..judging import served
from ..registry import Scale, check
from ..resuming import stops
from ..trace import Sample, Trace
from ..verdict import Broken, NotApplicable
from .d0 import of_one_corpus


def plain(scale: Scale) -> Iterable[Case]:
    """Documents of ordinary lengths, none of which ends where a window does, a row and several rows a micro-batch, in shards."""
    yield _bounded(CorpusSpec("data", (6, 9, 10, 8, 4, 16)), Leg(micro_batch=1))
    yield _bounded(CorpusSpec("data", (6, 9, 10, 8, 4, 16)), Leg(micro_batch=3))
    yield _bounded(CorpusSpec("shards", (6, 9, 10, 8, 4, 16), shard_tokens=16), Leg(micro_batch=2, accumulation=2))
    yield _bounded(CorpusSpec("long", (70, 2, 3, 59), dtype="uint16"), Leg(micro_batch=2), seq_len=32)
    if scale.full:
        for _ in range(20):
            lengths = tuple(scale.random.randint(1, 30) for _ in range(30))
            yield _bounded(CorpusSpec("random", lengths, shard_tokens=scale.random.randint(10, 400)), Leg(micro_batch=2), seq_len=16)


def everywhere(scale: Scale) -> Iterable[Case]:
    """Ordinary documents, and then on several ranks, in a second epoch, in rows of more than 256 tokens, in a union and in a mixture."""
    yield from plain(scale)
    spec = CorpusSpec("data", (6, 9, 10, 8, 4, 16))
    yield _bounded(spec, Leg(2, 2))
    yield _bounded(spec, Leg(3, 1, 2))
    yield of_one_corpus(spec, samples=26, boundaries=True).with_legs(Leg(1, 2))
    yield _bounded(CorpusSpec("wide", (320, 40, 290, 251)), Leg(1), seq_len=300)
    two = (CorpusSpec("x", (6, 9, 10)), CorpusSpec("y", (8, 4, 16)))
    yield Case(two, Settings(2, 4, {"union": ["y", "x"]}, [Phase(12, {"union": "1"})], boundaries=True), (Leg(1, 2),))
    yield Case(two, Settings(2, 4, {"x": ["x"], "y": ["y"]}, [Phase(10, {"x": "1", "y": "1"})], boundaries=True), (Leg(1, 2),))


def resumed(scale: Scale) -> Iterable[Case]:
    """Stopped and resumed, on one rank and on two."""
    for leg in (Leg(1, 2), Leg(2, 1, 2)):
        yield stops(_bounded(CorpusSpec("data", (6, 9, 10, 8, 4, 16)), leg), 1)


def eod_inside(scale: Scale) -> Iterable[Case]:
    """A token inside a document has the id that is declared to end documents, and no document ends in it."""
    for eod in (2, 7, 20) if not scale.full else range(1, 53, 3):
        yield _bounded(CorpusSpec("data", (6, 9, 10, 8, 4, 16), eod=eod), Leg(micro_batch=2))


def awkward(scale: Scale) -> Iterable[Case]:
    """Documents of 0, 1, L and L + 1 tokens, several of 0 in a row, at either end of a shard, and ends where windows end."""
    size = 4
    ends = [(size, size, 1, size - 1, size), (size + 1, size + 1, size - 1, 1, size + 1), (1,) * (3 * size + 1)]
    empty = [(0, 0, 6, 0, 7, 0, 0, 8, 0), (0, size, 0, 0, size + 1, 0, size, 0)]
    for lengths in (*ends, *empty):
        yield _bounded(CorpusSpec("awkward", lengths), Leg(micro_batch=1))
    yield _bounded(CorpusSpec("shards", (*empty[1], *ends[0]), "uint16", shard_tokens=size), Leg(micro_batch=2))
    if scale.full:
        for _ in range(60):
            lengths = tuple(scale.random.choice([0, 0, 1, 1, size - 1, size, size + 1, 2 * size]) for _ in range(40))
            yield _bounded(CorpusSpec("random", (*lengths, size + 1), shard_tokens=scale.random.randint(1, 60)), Leg(micro_batch=2))


def _bounded(spec: CorpusSpec, leg: Leg, seq_len: int = 4) -> Case:
    return of_one_corpus(spec, seq_len, boundaries=True).with_legs(leg)


@check("D0.5", "eod-decides-nothing", eod_inside, needs="boundaries", faults=(45, 49))
def eod_decides_nothing(bench: Bench, case: Case) -> None:
    """Position ids and sequence bounds follow the index, not the id."""
    trace = bench.play(case)
    _expect_positions(trace)
    _expect_bounds(trace)


@check("D0.6", "position-ids", everywhere, needs="boundaries", faults=(46,), judges_trace=True)
def position_ids(bench: Bench, case: Case) -> None:
    """Position ids are counted from the start of each document, or of the sample."""
    _expect_positions(bench.play(case))


def masked(scale: Scale) -> Iterable[Case]:
    """Ordinary documents, and such with the end-of-document id inside."""
    yield from everywhere(scale)
    yield from eod_inside(scale)


@check("D0.6", "resumed", resumed, needs="boundaries resume", faults=(46,), judges_trace=True)
def position_ids_after_a_resume(bench: Bench, case: Case) -> None:
    """They are counted on a run that goes on as on one that begins."""
    _expect_positions(bench.play(case))


@check("D0.7", "loss-mask", masked, needs="boundaries", faults=(47, 49), judges_trace=True)
def loss_mask(bench: Bench, case: Case) -> None:
    """The loss counts exactly where input and target are of one document."""
    _expect_masks(bench.play(case))


@check("D0.7", "resumed", resumed, needs="boundaries resume", faults=(47,), judges_trace=True)
def loss_mask_after_a_resume(bench: Bench, case: Case) -> None:
    """Documents end for a run that goes on where they do for one that begins."""
    _expect_masks(bench.play(case))


@check("D0.8", "sequence-bounds", everywhere, needs="boundaries", faults=(48,), judges_trace=True)
def sequence_bounds(bench: Bench, case: Case) -> None:
    """cu_seqlens are the starts of the runs of one document, row after row, and the end."""
    _expect_bounds(bench.play(case))


@check("D0.8", "resumed", resumed, needs="boundaries resume", faults=(48,), judges_trace=True)
def sequence_bounds_after_a_resume(bench: Bench, case: Case) -> None:
    """Attention sees one document alone also in a run that goes on."""
    _expect_bounds(bench.play(case))


@check("D0.9", "bounded", awkward, needs="boundaries", faults=(50,), judges_trace=True)
def awkward_documents_are_bounded(bench: Bench, case: Case) -> None:
    """Every document, however short, is bounded like any other."""
    trace = bench.play(case)
    _expect_positions(trace)
    _expect_masks(trace)
    _expect_bounds(trace)


def unbounded(scale: Scale) -> Iterable[Case]:
    """The awkward documents, without a word on boundaries."""
    for case in awkward(scale):
        yield case.with_settings(boundaries=False).with_legs(Leg())


@check("D0.9", "served", unbounded, faults=(50,))
def awkward_documents_are_served(bench: Bench, case: Case) -> None:
    """An epoch holds the tokens of every document, however short: consecutive ones in each sample, and every window."""
    trace = bench.play(case)
    for sample in served(trace):
        if (np.diff(sample.inputs.astype(np.int64)) != 1).any():
            raise Broken("consecutive tokens", f"tokens {sample.inputs.tolist()}", trace, sample)
    expect_all_seen(trace, bench.declaration().stride)


def _expect_positions(trace: Trace) -> None:
    for samples, batch in _micro_batches(trace):
        found = _given(batch, "position_ids")
        for sample, row in zip(samples, found, strict=True):
            starts = _starts(_documents(trace, sample)[:-1])
            expected = [t - max(u for u in starts if u <= t) for t in range(len(row))]
            _expect_row(trace, sample, "position id", expected, row)


def _expect_masks(trace: Trace) -> None:
    for samples, batch in _micro_batches(trace):
        found = _given(batch, "loss_mask")
        for sample, row in zip(samples, found, strict=True):
            documents = _documents(trace, sample)
            expected = [int(before == after) for before, after in pairwise(documents)]
            _expect_row(trace, sample, "loss mask", expected, row.astype(np.int64))


def _expect_bounds(trace: Trace) -> None:
    for samples, batch in _micro_batches(trace):
        found = _given(batch, "cu_seqlens").tolist()
        size = trace.case.settings.seq_len
        expected = [row * size + u for row, sample in enumerate(samples) for u in _starts(_documents(trace, sample)[:-1])]
        expected.append(len(samples) * size)
        if found != expected:
            number = next(
                (i for i, pair in enumerate(zip(expected, found, strict=False)) if pair[0] != pair[1]), min(len(expected), len(found))
            )
            at = expected[min(number, len(expected) - 1)]
            sample = samples[min(at // size, len(samples) - 1)]
            raise Broken(f"cu_seqlens {_around(expected, number)}", f"{_around(found, number)} (entry {number})", trace, sample)


def _micro_batches(trace: Trace) -> Iterator[tuple[list[Sample], MicroBatch]]:
    """Yield each micro-batch with its samples."""
    rows: dict[tuple[int, int, int, int], list[Sample]] = {}
    for sample in served(trace):
        rows.setdefault((sample.leg, sample.step, sample.layout.rank, sample.micro), []).append(sample)
    for (leg, step, rank, micro), samples in rows.items():
        yield samples, trace.legs[leg].steps[step].batches[rank][micro]


def _documents(trace: Trace, sample: Sample) -> list[int]:
    """Return the number of the document of each input, and of the token after the last."""
    place = trace.identity.place(sample.first)
    if place is None or place.token + len(sample.inputs) >= trace.identity.specs[place.corpus].tokens:
        raise NotApplicable("expected samples that lie within a corpus, which is for D0.1 to D0.4 to say")
    return [trace.identity.document(place.corpus, place.token + t) for t in range(len(sample.inputs) + 1)]


def _starts(documents: Sequence[int]) -> list[int]:
    """Return where a run of one document begins."""
    return [0] + [t for t in range(1, len(documents)) if documents[t] != documents[t - 1]]


def _given(batch: MicroBatch, name: str) -> Array:
    if name not in batch:
        raise Broken(f"{name}, as promised", f"a micro-batch of {', '.join(sorted(batch))}")
    return batch[name]


def _expect_row(trace: Trace, sample: Sample, what: str, expected: list[int], row: Array) -> None:
    found = row.tolist()
    if found != expected:
        t = next(t for t in range(len(expected)) if found[t] != expected[t])
        raise Broken(f"{what} {expected[t]} at token {t} of the row ({expected})", f"{found[t]} ({found})", trace, sample)


def _around(values: list[int], number: int) -> list[int]:
    return values[max(0, number - 2) : number + 3]
