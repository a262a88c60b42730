"""C1, coverage by plan: whose turn it is at each position (C1.1, C1.2, C1.6)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import lcm

from ..bench import Bench
from ..case import Case, Leg
from ..cases import mixture
from ..chance import is_luck
from ..driver import Phase
from ..judging import served
from ..order import integer_weights, source_of_each
from ..registry import Scale, check
from ..trace import Sample, Trace
from ..verdict import Broken, NotApplicable

ROOMY = 300
"""Windows of a source that is not meant to be passed through: from 256 on a permutation needs few passes, so these cases are fast."""
PRINTED = {"a": "0.6", "b": "0.15", "c": "0.1", "d": "0.1", "e": "0.05"}
"""The weights whose sequence algorithms.md prints."""


def mixtures(scale: Scale) -> Iterable[Case]:
    """Even and uneven weights, one source, many, a weight of 0, a rare source, sources that share a deadline.

    Ranks come in only where there is time: who reads what is for C2 to find.
    """
    yield weighed(12, {"a": "1"})
    yield weighed(40, {"a": "1", "b": "0", "c": "2"})
    yield weighed(60, PRINTED, Leg(1, 4, 3))
    yield weighed(40, {"rare": "0.001", "common": "0.999"})
    yield weighed(1100, {"rare": "0.001", "common": "0.999"}, Leg(1, 20, 1))
    yield weighed(60, {f"s{i:02}": "1" for i in range(12)})
    if scale.full:
        yield weighed(2000, {"rare": "0.001", "common": "0.999"})
        yield weighed(600, {f"s{i:03}": str(1 + i % 7) for i in range(300)}, Leg(1, 4))
        for _ in range(8):
            weights = [scale.random.choice([1, 1, 2, 3, 5, 17, 100, 1000]) for _ in range(scale.random.randint(2, 12))]
            leg = Leg(scale.random.choice([1, 2, 4]), scale.random.choice([1, 3]), scale.random.choice([1, 2]))
            yield weighed(scale.random.randint(50, 400), {f"s{i:02}": str(weight) for i, weight in enumerate(weights)}, leg)


def weighed(samples: int, weights: dict[str, str], leg: Leg | None = None) -> Case:
    """Return a case of roomy sources, mixed by `weights`."""
    size = max(ROOMY, samples) if len(weights) < 10 else 20
    return mixture(dict.fromkeys(weights, size), weights, samples, leg=leg)


@check("C1.1", "within-one", mixtures, needs="mixture prefix", faults=(33,), judges_trace=True)
def within_one(bench: Bench, case: Case) -> None:
    """Wherever a step ends, each source is within one sample of its share of the phase, and one of weight 0 is never seen."""
    _expect_shares(bench.play(case), lambda m: Fraction(1))


@check("C1.1", "tightest", mixtures, needs="mixture prefix order", faults=(33, 35), judges_trace=True)
def tightest(bench: Bench, case: Case) -> None:
    """With rule earliest-deadline it is within 1 - 1/(2m - 2)."""
    if case.settings.rule != "earliest-deadline":
        raise NotApplicable("expected rule earliest-deadline")
    _expect_shares(bench.play(case), lambda m: 1 - Fraction(1, 2 * m - 2) if m > 1 else Fraction(0))


def _expect_shares(trace: Trace, bound: Callable[[int], Fraction]) -> None:
    samples = served(trace)
    if trace.case.settings.skips:
        raise NotApplicable("expected a case without skips: what they pass over cannot be counted")
    ends = {end for _, end, _ in trace.blocks()}
    start = 0
    for phase in trace.case.settings.phases:
        # A phase that begins inside a step cannot be told from the one before.
        if start and start not in ends:
            return
        _expect_phase(trace, phase, samples[start : start + phase.length], {end - start for end in ends}, bound)
        start += phase.length


def _expect_phase(trace: Trace, phase: Phase, samples: list[Sample], ends: set[int], bound: Callable[[int], Fraction]) -> None:
    shares = {name: Fraction(phase.weights.get(name, 0)) for name in trace.case.settings.sources}
    unit = lcm(*(share.denominator for share in shares.values()))
    weights = {name: int(share * unit) for name, share in shares.items()}
    total, most = sum(weights.values()), bound(sum(weight > 0 for weight in weights.values()))
    limit = most.numerator * total // most.denominator
    counts: Counter[str] = Counter()
    for taken, sample in enumerate(samples, 1):
        counts[_source(trace, sample)] += 1
        if taken not in ends:
            continue
        for name, weight in weights.items():
            if abs(counts[name] * total - weight * taken) > (limit if weight else 0):
                raise Broken(
                    f"{name!r} within {float(most if weight else 0):.4g} of its share, {weight * taken / total:.4g} of {taken} samples",
                    f"{counts[name]}",
                    trace,
                    sample,
                    source=name,
                )


def exact(scale: Scale) -> Iterable[Case]:
    """Both rules, on weights where sources tie, where floats round, and that change in mid-run."""
    for case in _adversarial(scale):
        yield case
        yield case.with_settings(rule="furthest-behind")
    case = weighed(60, {"a": "0.5", "b": "0.3", "c": "0.2"})
    yield case.with_settings(phases=[Phase(25, {"a": "0.5", "b": "0.3"}), Phase(35, {"b": "3", "a": "1", "c": "1"})])


def _adversarial(scale: Scale) -> Iterator[Case]:
    # Sums of tenths are no tenths in binary, and equal sources tie at every turn.
    yield weighed(50, {"a": "0.1", "b": "0.2", "c": "0.3", "d": "0.4"})
    yield weighed(30, {"c": "1", "b": "1", "a": "1"})
    # By their bytes the capital comes first, and what is no ASCII last.
    yield weighed(30, {"a": "1", "B": "1", "ä": "1"})
    yield weighed(60, PRINTED, Leg(1, 4, 3))
    yield weighed(20, {"rare": "0.001", "common": "0.999"})
    if scale.full:
        for _ in range(8):
            parts = [scale.random.randint(1, 99) for _ in range(scale.random.randint(2, 8))]
            yield weighed(150, {f"s{i}": f"0.{part:02}" for i, part in enumerate(parts)})
        yield weighed(600, {f"s{i:03}": str(1 + i % 7) for i in range(300)}, Leg(1, 4))


@check("C1.2", "sources", exact, needs="mixture order", faults=(34, 35), judges_trace=True)
def sources(bench: Bench, case: Case) -> None:
    """Each step draws from the sources that A4 names for its positions; on one sample a step that is the whole sequence."""
    trace = bench.play(case)
    samples = served(trace)
    wanted = source_of_each(case)
    for start, end, _ in trace.blocks():
        found = [_source(trace, sample) for sample in samples[start:end]]
        missing = Counter(wanted[start:end]) - Counter(found)
        if missing:
            extra = Counter(found) - Counter(wanted[start:end])
            number = next(i for i, name in enumerate(found) if name in extra)
            raise Broken(
                f"source {next(iter(missing))!r} in positions {start} to {end - 1}", f"{found[number]!r}", trace, samples[start + number]
            )


def exhausted(scale: Scale) -> Iterable[Case]:
    """A small source at a constant share, which the run passes through several times, alone small or among others."""
    yield mixture({"small": 5, "large": ROOMY}, {"small": "0.3", "large": "0.7"}, 120)
    yield mixture({"small": 1, "large": ROOMY}, {"small": "0.2", "large": "0.8"}, 160, leg=Leg(1, 2, 2))
    yield mixture({"a": 6, "b": 8, "large": ROOMY}, {"a": "0.3", "b": "0.3", "large": "0.4"}, 120)
    if scale.full:
        for _ in range(10):
            size = scale.random.randint(1, 12)
            yield mixture({"small": size, "large": ROOMY}, {"small": "0.4", "large": "0.6"}, 40 * size)


@check("C1.6", "constant-share", exhausted, needs="mixture epochs", faults=(38, 39), judges_trace=True)
def constant_share(bench: Bench, case: Case) -> None:
    """The run goes on to its end when a source has been passed through, and the source keeps about its share."""
    trace = bench.play(case)
    samples = served(trace)
    if len(case.settings.phases) > 1 or len(case.settings.phases[0].weights) < 2 or case.settings.skips:
        raise NotApplicable("expected a mixture in one phase, without skips")
    drawn: Counter[str] = Counter()
    sizes = {name: case.windows(name, bench.declaration().stride) for name in case.settings.sources}
    passed = None
    for sample in samples:
        drawn[name := _source(trace, sample)] += 1
        if name in sizes and drawn[name] == sizes[name]:
            # The order within a step is free, so the rest begins where it ends.
            passed = next(end for _, end, _ in trace.blocks() if end > sample.position)
            break
    if passed is None:
        raise NotApplicable("expected a run that passes through a source")
    whole = case.settings.length - case.settings.length % case.legs[-1].batch_size
    if len(samples) < whole and trace.legs[-1].ended:
        raise Broken(f"{whole} samples", f"{len(samples)}, the run ends after a source was passed through", trace, samples[-1])
    weights = integer_weights(case.settings.phases[0].weights)
    rest = Counter(_source(trace, sample) for sample in samples[passed:])
    for name, weight in weights.items():
        share = Fraction(weight, sum(weights.values()))
        # Wide enough for a loader that draws at random: C1.1 is about the rest.
        if not is_luck(rest[name], len(samples) - passed, share):
            raise Broken(
                f"about {float(share * (len(samples) - passed)):.1f} of the last {len(samples) - passed} samples from {name!r}",
                f"{rest[name]}, after {_source(trace, samples[passed - 1])!r} was passed through",
                trace,
                samples[passed - 1],
                source=name,
            )


def _source(trace: Trace, sample: Sample) -> str:
    corpus, _ = trace.window(sample)
    return next((name for name, corpora in trace.case.settings.sources.items() if corpus in corpora), "?")
