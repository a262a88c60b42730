"""D0, what a sample is: where windows lie, what follows each token, and that values arrive as they were written."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..bench import Bench
from ..case import Case, Leg
from ..cases import mixture, one_source
from ..corpora import CorpusSpec, windows
from ..coverage import expect_all_seen
from ..driver import Array, Phase, Settings
from ..judging import served
from ..registry import Scale, check
from ..resuming import stops
from ..trace import Sample, Trace
from ..verdict import Broken, NotApplicable


def of_one_corpus(spec: CorpusSpec, seq_len: int = 4, samples: int | None = None, boundaries: bool = False) -> Case:
    """Return a case that serves one corpus, for one epoch where no number of samples is given."""
    n = (spec.tokens - 1) // seq_len
    settings = Settings(1, seq_len, {spec.name: [spec.name]}, [Phase(samples or n, {spec.name: "1"})], boundaries=boundaries)
    return Case((spec,), settings, (Leg(),))


def single(scale: Scale) -> Iterable[Case]:
    """One corpus at a time: without a tail, with the longest, of one window, in several shards, in two bytes, at other lengths, far."""
    yield of_one_corpus(CorpusSpec("one", (5,)))
    yield of_one_corpus(CorpusSpec("exact", (13, 8)))
    yield of_one_corpus(CorpusSpec("tail", (13, 8, 3)))
    yield of_one_corpus(CorpusSpec("shards", (7, 9, 10, 6, 9), shard_tokens=10))
    yield of_one_corpus(CorpusSpec("short", (30, 7), dtype="uint16"), seq_len=1)
    yield of_one_corpus(CorpusSpec("long", windows(9, 32, 5), dtype="uint16", shard_tokens=100), seq_len=32)
    yield of_one_corpus(CorpusSpec("two", (13, 12), shard_tokens=14))
    # More tokens than two bytes can count.
    yield of_one_corpus(CorpusSpec("far", (80_000, 3), shard_tokens=78_000), seq_len=5000)
    if scale.full:
        for _ in range(20):
            seq_len = scale.random.randint(1, 40)
            documents = [scale.random.randint(1, 3 * seq_len) for _ in range(scale.random.randint(1, 20))]
            spec = CorpusSpec("random", (*documents, seq_len + 1), scale.random.choice(["uint16", "uint32"]), scale.random.randint(9, 200))
            yield of_one_corpus(spec, seq_len)
        yield of_one_corpus(CorpusSpec("large", windows(2000, 16, 40), shard_tokens=4000), seq_len=16)


def everywhere(scale: Scale) -> Iterable[Case]:
    """One corpus at a time, and then on several ranks, with accumulation, with workers, and in the second epoch."""
    yield from single(scale)
    for leg in (Leg(2, 2), Leg(1, 1, 3), Leg(3, 1, 2), Leg(1, 2, workers=2)):
        yield one_source(24, leg=leg)
    yield one_source(12, samples=24, leg=Leg(1, 2))
    if scale.full:
        for leg in (Leg(8, 1, 2), Leg(16, 3), Leg(2, 2, 2, workers=3)):
            yield one_source(96, samples=192, leg=leg)


def resumed(scale: Scale) -> Iterable[Case]:
    """Stopped and resumed on one rank and on two, with accumulation, in the first epoch and in the second."""
    yield stops(one_source(24, leg=Leg(1, 2)), 3)
    yield stops(one_source(24, leg=Leg(2, 1, 2)), 2)
    if scale.full:
        yield stops(one_source(12, samples=36, leg=Leg(1, 2)), 2, 5)


def several(scale: Scale) -> Iterable[Case]:
    """Unions and mixtures whose corpora have tails, so that a window across two of them would be possible."""
    for order in (["x", "y"], ["y", "x"]):
        corpora = (CorpusSpec("x", (11, 7)), CorpusSpec("y", (5, 18)))
        yield Case(corpora, Settings(2, 4, {"union": order}, [Phase(9, {"union": "1"})]))
    shards = (CorpusSpec("x", (11, 7, 9), shard_tokens=7), CorpusSpec("y", (5, 18, 9), shard_tokens=6))
    yield Case(shards, Settings(2, 4, {"union": ["x", "y"]}, [Phase(13, {"union": "1"})]))
    yield mixture({"x": 9, "y": 6}, {"x": "0.6", "y": "0.4"}, 15)
    yield mixture({"x": 15, "y": 15}, {"x": "0.6", "y": "0.4"}, 15)
    yield mixture({"x": 15, "y": 15}, {"x": "0.6", "y": "0.4"}, 15, leg=Leg(2, 1, 2))
    if scale.full:
        specs = tuple(CorpusSpec(f"c{i:02}", windows(1 + i % 5, 4, 1 + i % 3)) for i in range(30))
        names = [spec.name for spec in specs]
        yield Case(specs, Settings(3, 4, {"union": names}, [Phase(90, {"union": "1"})]))


def _windows_of(trace: Trace) -> list[Sample]:
    samples = served(trace)
    for sample in samples:
        if trace.identity.place(sample.first) is None:
            raise Broken("a token that is on disk", f"token {sample.first}", trace, sample)
    return samples


@check("D0.1", "on-the-grid", everywhere, faults=(41, 42), judges_trace=True)
def on_the_grid(bench: Bench, case: Case) -> None:
    """The inputs of each sample are tokens kL to kL + L - 1 of its corpus, and one more follows."""
    _expect_stride(bench, "L")
    trace, size = bench.play(case), case.settings.seq_len
    for sample in _windows_of(trace):
        place = trace.identity.place(sample.first)
        assert place is not None
        last = (trace.identity.specs[place.corpus].tokens - 1) // size - 1
        if place.token % size or place.token // size > last:
            raise Broken(
                f"a first token that is a multiple of {size}, at most {last * size}",
                f"token {place.token} of {place.corpus}",
                trace,
                sample,
            )
        if not _consecutive(sample.inputs):
            raise Broken(
                f"tokens {place.token} to {place.token + size - 1}", _in_words(sample.inputs - sample.first + place.token), trace, sample
            )


@check("D0.1", "every-window", single, faults=(41,))
def every_window(bench: Bench, case: Case) -> None:
    """A run of one epoch shows all (T - 1) // L windows."""
    _expect_stride(bench, "L")
    expect_all_seen(bench.play(case))


def for_long(scale: Scale) -> Iterable[Case]:
    """The same for eight epochs, in which a window that is read at all comes up."""
    for case in single(scale):
        if case.settings.length <= 40:
            (phase,) = case.settings.phases
            yield case.with_settings(phases=[replace(phase, length=8 * phase.length)]).with_legs(Leg(micro_batch=8))


@check("D0.1", "never-read", for_long, needs="epochs", faults=(41,))
def never_read(bench: Bench, case: Case) -> None:
    """No window stays unread for eight epochs."""
    _expect_stride(bench, "L")
    if case.settings.length < 8 * case.windows(case.corpora[0].name):
        raise NotApplicable("expected a case of eight epochs")
    expect_all_seen(bench.play(case))


def _next_token(bench: Bench, case: Case) -> None:
    """Where a token follows the input in its corpus, it is the target; the last target too."""
    trace = bench.play(case)
    for sample in _windows_of(trace):
        if sample.targets is None:
            raise NotApplicable("gives no targets")
        for number, (token, target) in enumerate(zip(sample.inputs.tolist(), sample.targets.tolist(), strict=True)):
            place, after = trace.identity.place(token), trace.identity.place(token + 1)
            if place and after and place.corpus == after.corpus and target != token + 1:
                raise Broken(f"target {token + 1} for input {number}, {token}", f"target {target}", trace, sample)


check("D0.2", "next-token", everywhere, faults=(43,), judges_trace=True)(_next_token)
check("D0.2", "resumed", resumed, needs="resume", faults=(43,), judges_trace=True)(_next_token)


def _one_corpus(bench: Bench, case: Case) -> None:
    """The inputs are consecutive and of one corpus, and the last target does not come from another."""
    trace = bench.play(case)
    for sample in _windows_of(trace):
        tokens = sample.inputs.tolist()
        corpus = _corpus(trace, tokens[0])
        foreign = next((token for token in tokens if _corpus(trace, token) != corpus), None)
        if foreign is not None:
            raise Broken(f"tokens of {corpus} alone", f"token {foreign}, of {_corpus(trace, foreign)}", trace, sample)
        if not _consecutive(sample.inputs):
            raise Broken("consecutive tokens", _in_words(sample.inputs), trace, sample)
        if sample.targets is not None and _corpus(trace, tokens[-1] + 1) != corpus:
            # The corpus ends with the last input: no target follows it, whatever was served as one.
            raise Broken(f"a last target of {corpus}", f"inputs up to its last token, {tokens[-1]}", trace, sample)


check("D0.3", "consecutive", everywhere, faults=(44,), judges_trace=True)(_one_corpus)
check("D0.3", "resumed", resumed, needs="resume", judges_trace=True)(_one_corpus)
check("D0.3", "several-corpora", several, needs="mixture", faults=(44,), judges_trace=True)(_one_corpus)


def values(scale: Scale) -> Iterable[Case]:
    """Corpora around the ids at which two and four bytes, signs and known vocabularies end; a union of two bytes and four."""
    uint32 = [0, 65_536, 100_257, 151_643, 1 << 24, 1 << 31]
    for dtype, middles in (("uint16", [128, 256, 1 << 15]), ("uint32", uint32)):
        for middle in middles:
            yield of_one_corpus(CorpusSpec("ids", (9, 13, 11), dtype, 10, first=max(0, middle - 15)))
        end = 1 << (16 if dtype == "uint16" else 32)
        yield of_one_corpus(CorpusSpec("last", (33,), dtype, first=end - 33))
    two = (CorpusSpec("x", (11, 7), "uint16"), CorpusSpec("y", (5, 18), first=100_000))
    for order in (["x", "y"], ["y", "x"]):
        yield Case(two, Settings(2, 4, {"union": order}, [Phase(9, {"union": "1"})]))
    if scale.full:
        for _ in range(30):
            yield of_one_corpus(CorpusSpec("random", windows(20, 4, 3), first=scale.random.randrange((1 << 32) - 200)))


@check("D0.4", "values", values, faults=(51,), judges_trace=True)
def exact_values(bench: Bench, case: Case) -> None:
    """Every id is one of those on disk, and inputs follow one another as the ids on disk do."""
    trace = bench.play(case)
    for sample in served(trace):
        for array in (sample.inputs, sample.targets):
            strange = [] if array is None else [token for token in array.tolist() if trace.identity.place(token) is None]
            if strange:
                raise Broken("ids that are on disk", f"id {strange[0]}, which is not", trace, sample)
        if not _consecutive(sample.inputs):
            raise Broken("the ids of consecutive tokens", _in_words(sample.inputs), trace, sample)


def small(scale: Scale) -> Iterable[Case]:
    """A few samples in two bytes and in four."""
    yield of_one_corpus(CorpusSpec("two", windows(4, 4), dtype="uint16"))
    yield one_source(4)


@check("D0.4", "signed-64-bit", small, faults=(51,))
def signed_64_bit(bench: Bench, case: Case) -> None:
    """Inputs and targets are int64, whatever the dtype on disk."""
    trace = bench.play(case)
    for sample in served(trace):
        for name, array in (("inputs", sample.inputs), ("targets", sample.targets)):
            if array is not None and (array.dtype.kind != "i" or array.dtype.itemsize != 8):
                raise Broken(f"{name} of int64", f"{name} of {array.dtype}", trace, sample)


def _expect_stride(bench: Bench, stride: str) -> None:
    if bench.declaration().stride != stride:
        raise NotApplicable("declares windows that share no token (stride L+1), and D0.1 is about windows that share one")


def _consecutive(tokens: Array) -> bool:
    return bool((np.diff(tokens.astype(np.int64)) == 1).all())


def _corpus(trace: Trace, token: int) -> str:
    place = trace.identity.place(token)
    return "no corpus" if place is None else place.corpus


def _in_words(tokens: Array) -> str:
    listed = tokens.tolist()
    return f"tokens {', '.join(map(str, listed[:6]))}{', ...' if len(listed) > 6 else ''}"
