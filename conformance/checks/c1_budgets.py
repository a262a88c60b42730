"""C1, coverage by plan: how often a run may repeat a source (C1.4, C1.5), and inside a step (C1.11). Each case says what it asks for, and
the judge works out whether that must be refused; there are cases on both sides.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from ..bench import Bench
from ..case import Case, Leg
from ..cases import mixture, one_source
from ..corpora import CorpusSpec, Identity, windows
from ..driver import Phase, Settings
from ..order import draws, source_of_each
from ..refusing import expect_admission
from ..registry import Scale, check
from ..verdict import NotApplicable

ONE_STEP = Leg(steps=1)


def within(n: int, samples: int, most: int | None, signed_off: bool = True) -> Case:
    """Return a case of one source of `n` windows and a budget."""
    return one_source(n, samples, leg=ONE_STEP).with_settings(max_epochs={} if most is None else {"data": most}, signed_off=signed_off)


def budgets(scale: Scale) -> Iterable[Case]:
    """One sample below, at and above one epoch and three, with a skip, over phases, and one corpus in the sources of two phases."""
    yield within(7, 7, 1)
    yield within(7, 8, 1)
    yield within(7, 21, 3)
    yield within(7, 22, 3)
    yield within(7, 6, 1).with_settings(skips=[(2, 1)])
    yield within(7, 6, 1).with_settings(skips=[(2, 2)])
    two = mixture({"a": 6, "b": 20}, {"a": "1"}, 4, leg=ONE_STEP)
    for last in (2, 3):
        phases = [Phase(4, {"a": "1"}), Phase(5, {"b": "1"}), Phase(last, {"a": "1"})]
        yield two.with_settings(phases=phases, max_epochs={"a": 1})
    for most in (1, 2):
        yield one_corpus_in_turn(most)
    # In a mixture, in which the order of the specification says how often each source is drawn.
    for samples in (24, 25, 26, 28):
        yield mixture({"a": 6, "b": 40}, {"a": "1", "b": "3"}, samples, leg=ONE_STEP).with_settings(max_epochs={"a": 1})
    if scale.full:
        for _ in range(20):
            n, most = scale.random.randint(1, 40), scale.random.randint(1, 6)
            yield within(n, max(1, n * most + scale.random.randint(-1, 1)), most)


def one_corpus_in_turn(most: int) -> Case:
    """Two sources hold one corpus, and each begins an epoch of it, in phases of their own."""
    corpora = (CorpusSpec("data", windows(10, 4)), CorpusSpec("copy", windows(10, 4), first=0))
    phases = [Phase(4, {"first": "1"}), Phase(4, {"second": "1"})]
    settings = Settings(1, 4, {"first": ["data"], "second": ["copy"]}, phases, max_epochs={"first": most})
    return Case(corpora, settings, (ONE_STEP,))


@check("C1.4", "max-epochs", budgets, needs="budgets", faults=(37,))
def max_epochs(bench: Bench, case: Case) -> None:
    """A run that begins one epoch more than the budget is refused, one that ends with it is served."""
    if len({len(phase.weights) for phase in case.settings.phases} - {1}) and "order" not in bench.declaration().promises:
        raise NotApplicable("expected phases of one source each, in which any loader draws the same number")
    budget = case.settings.max_epochs
    expect_admission(
        bench,
        case,
        (
            f"{' and '.join(map(repr, group))} begin {begun} epochs of one corpus, and {min(limits)} are allowed"
            for group, passes in _passes(bench, case)
            if (limits := [budget[name] for name in group if name in budget])
            and (begun := sum(-(-each.numerator // each.denominator) for each in passes)) > min(limits)
        ),
    )


def signatures(scale: Scale) -> Iterable[Case]:
    """At one epoch, at four and one sample above, with and without a signature."""
    for samples, signed_off in ((7, False), (28, False), (29, False), (29, True), (60, True)):
        yield within(7, samples, None, signed_off)
    yield within(1, 4, None, False)
    yield within(1, 5, None, False)
    yield within(7, 28, None, False).with_settings(skips=[(3, 1)])
    if scale.full:
        for n in range(2, 30, 3):
            yield within(n, 4 * n, None, False)
            yield within(n, 4 * n + 1, None, False)


@check("C1.5", "signature", signatures, needs="budgets", faults=(37,))
def signature(bench: Bench, case: Case) -> None:
    """A run through a source of more than four epochs is refused unless somebody signed."""
    expect_admission(
        bench,
        case,
        (
            f"{' and '.join(map(repr, group))} are drawn for {float(sum(passes)):.3f} epochs, and nobody signed for more than 4"
            for group, passes in _passes(bench, case)
            if not case.settings.signed_off and sum(passes) > 4
        ),
    )


def _passes(bench: Bench, case: Case) -> list[tuple[list[str], list[Fraction]]]:
    """Return, for the sources that hold one corpus between them, how often the run passes through each."""
    drawn, groups = draws(case), []
    for content in sorted(set(contents(case).values())):
        names = [name for name, corpora in case.settings.sources.items() if any(contents(case)[corpus] == content for corpus in corpora)]
        if names:
            stride = bench.declaration().stride
            groups.append((names, [Fraction(drawn[name], case.windows(name, stride)) for name in names]))
    return groups


def contents(case: Case) -> dict[str, tuple[object, ...]]:
    """Return what two corpora must share to be one collection: their tokens, their dtype and how they are cut."""
    first = Identity(case.corpora).first
    return {spec.name: (first[spec.name], spec.tokens, spec.dtype, spec.shard_tokens) for spec in case.corpora}


def crowded(scale: Scale) -> Iterable[Case]:
    """A source of one window, and of three, at shares of as many samples a step and of one more, signed and unsigned."""
    for n, batch_size, signed_off in ((1, 2, False), (1, 4, False), (1, 4, True), (3, 6, False), (3, 8, False)):
        case = mixture({"small": n, "large": 300}, {"small": "1", "large": "1"}, batch_size, leg=Leg(1, batch_size, steps=1))
        yield case.with_settings(signed_off=signed_off, batch_size=batch_size)


@check("C1.11", "repeats-in-a-step", crowded, needs="admission order mixture batch_size")
def repeats_in_a_step(bench: Bench, case: Case) -> None:
    """A run of which one step draws a source more often than it has windows is refused unless somebody signed."""
    size, run = case.settings.batch_size, source_of_each(case)
    if size != case.legs[0].batch_size or len(run) < size or any(sum(passes) > 4 for _, passes in _passes(bench, case)):
        raise NotApplicable("expected whole steps, and no more than four epochs")
    steps = [Counter(run[at : at + size]) for at in range(len(run) - size + 1)]
    most = {name: max(step[name] for step in steps) for name in case.settings.sources}
    windows = {name: case.windows(name, bench.declaration().stride) for name in case.settings.sources}
    expect_admission(
        bench,
        case,
        (
            f"{name!r} has {windows[name]} windows and is drawn {most[name]} times in a step, which nobody signed for"
            for name in case.settings.sources
            if not case.settings.signed_off and most[name] > windows[name]
        ),
    )
