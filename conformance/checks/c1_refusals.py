"""C1, coverage by plan: what may not be run because it would not be seen, or seen twice (C1.7, C1.9, C1.12)."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from ..bench import Bench
from ..case import Case
from ..cases import mixture
from ..corpora import CorpusSpec, windows
from ..driver import Phase, Settings
from ..order import draws, source_of_each, vanishing
from ..refusing import expect_admission
from ..registry import Scale, check
from ..trace import UNKNOWN
from ..verdict import Broken, NotApplicable
from .c1_budgets import ONE_STEP, contents, one_corpus_in_turn


def rare(scale: Scale) -> Iterable[Case]:
    """Weights beside 1 that can be kept, and that cannot; one that moves by a third of itself, in a short phase and in a long one."""
    for weight in ("1e-3", "1e-6", "1e-7", "1e-9"):
        yield mixture({"rare": 3, "common": 300}, {"rare": weight, "common": "1"}, 20, leg=ONE_STEP)
    moved = {"rare": "0.0000013", "common": "0.9999987"}
    for length in (1000, 10_000_000):
        yield mixture({"rare": 3, "common": 300}, moved, length, leg=ONE_STEP)


@check("C1.7", "refused", rare, needs="admission order mixture", faults=(36,))
def vanishing_weights_are_refused(bench: Bench, case: Case) -> None:
    """A weight that the reduction of A3 would make 0, or move too far, is refused; others are served."""
    expect_admission(
        bench,
        case,
        (
            f"the weight of {name!r}, {phase.weights[name]}, would vanish or move"
            for phase in case.settings.phases
            for name in vanishing(phase.weights, phase.length)
        ),
    )


def seldom(scale: Scale) -> Iterable[Case]:
    """A rare source around the position of its first draw, which a skip goes up to."""
    for exponent in (4, 6) if scale.full else (4,):
        case = mixture({"rare": 3, "common": 300}, {"rare": f"1e-{exponent}", "common": f"{1 - 10**-exponent:.{exponent}f}"}, 40)
        yield case.with_settings(skips=[(1, 10**exponent // 2 - 20)])


@check("C1.7", "served", seldom, needs="order epochs mixture skips", faults=(36,))
def rare_sources_are_served(bench: Bench, case: Case) -> None:
    """A source of weight 10^-6 is drawn where A4 says, and not rounded away."""
    trace = bench.play(case)
    samples, keys = list(trace.samples()), trace.windows()
    wanted = Counter(in_order := source_of_each(case)[: len(keys)])
    found = Counter(case.source_of(corpus) for corpus, _ in keys if corpus != UNKNOWN)
    if not all(wanted[name] for name in case.settings.sources):
        raise NotApplicable("expected a case in which every source is drawn")
    for name, count in wanted.items():
        if found[name] != count:
            drawn = [case.source_of(corpus) if corpus != UNKNOWN else "" for corpus, _ in keys]
            place = next((i for i, pair in enumerate(zip(in_order, drawn, strict=True)) if pair[0] != pair[1]), 0)
            what = f"{count} samples of {name!r} in {sum(wanted.values())} positions"
            raise Broken(what, f"{found[name]}", trace, samples[place], source=name)


def twins(scale: Scale) -> Iterable[Case]:
    """One collection under two names: in two sources of a phase, in one source, in phases of their own; and two that differ."""
    corpora = (CorpusSpec("data", windows(10, 4)), CorpusSpec("copy", windows(10, 4), first=0))
    other = (CorpusSpec("data", windows(10, 4)), CorpusSpec("copy", windows(10, 4)))
    both = [Phase(8, {"first": "1", "second": "1"})]
    for pair in (corpora, other):
        yield Case(pair, Settings(1, 4, {"first": ["data"], "second": ["copy"]}, both), (ONE_STEP,))
        yield Case(pair, Settings(1, 4, {"union": ["data", "copy"]}, [Phase(8, {"union": "1"})]), (ONE_STEP,))
    yield Case(corpora[:1], Settings(1, 4, {"first": ["data"], "second": ["data"]}, both), (ONE_STEP,))
    yield one_corpus_in_turn(2)


@check("C1.9", "one-collection-once", twins, needs="admission", faults=(40,))
def one_collection_once(bench: Bench, case: Case) -> None:
    """One content twice in a source, or in two sources of one phase, is refused, whatever it is called."""
    known = contents(case)

    def reasons() -> Iterable[str]:
        for phase in case.settings.phases:
            held = [known[corpus] for name in phase.weights for corpus in case.settings.sources[name]]
            if len(set(held)) < len(held):
                yield f"{', '.join(map(repr, phase.weights))} hold one collection twice"

    expect_admission(bench, case, reasons())


def idle(scale: Scale) -> Iterable[Case]:
    """A source of L tokens, and of L + 1; a source whose turn no phase is long enough for, and one for which they just are."""
    for tokens in (4, 5):
        corpora = (CorpusSpec("data", windows(20, 4)), CorpusSpec("short", (tokens,)))
        yield Case(corpora, Settings(1, 4, {"a": ["data"], "b": ["short"]}, [Phase(8, {"a": "9", "b": "1"})]), (ONE_STEP,))
    base = mixture({"rare": 9, "common": 300}, {}, 1, leg=ONE_STEP)
    for length, times in ((4, 2), (4, 3), (5, 2)):
        yield base.with_settings(phases=[Phase(length, {"rare": "1", "common": "9"})] * times)


@check("C1.12", "sources-that-serve", idle, needs="admission order mixture", faults=(36,))
def sources_that_serve(bench: Bench, case: Case) -> None:
    """A source without a window, or with a share of a sample that no position ever serves, is refused."""

    def reasons() -> Iterable[str]:
        without = [name for name in case.settings.sources if case.windows(name, bench.declaration().stride) < 1]
        yield from (f"{name!r} holds no window" for name in without)
        if not without:
            drawn = draws(case)
            for name in case.settings.sources:
                share = sum((_share(phase, name) for phase in case.settings.phases), Fraction(0))
                if share >= 1 and not drawn[name]:
                    yield f"{name!r} has a share of {float(share):.2f} samples and is never drawn"

    expect_admission(bench, case, reasons())


def _share(phase: Phase, name: str) -> Fraction:
    weights = {each: Fraction(weight) for each, weight in phase.weights.items()}
    return phase.length * weights.get(name, Fraction(0)) / sum(weights.values())
