"""C1, coverage by plan: what a skip passes over, and what it leaves as it was (C1.10)."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ..bench import Bench
from ..case import Case, Leg
from ..cases import mixture, one_source
from ..driver import Phase
from ..judging import named
from ..registry import Scale, check
from ..trace import SampleKey, Trace
from ..verdict import Broken, NotApplicable


def one_at_a_time(scale: Scale) -> Iterable[Case]:
    """Skips in a run of one sample a step: in the middle, several, before the first position and the last, at a border of phases."""
    yield one_source(30, 12).with_settings(skips=[(5, 3)])
    yield one_source(30, 10).with_settings(skips=[(0, 2), (4, 1), (9, 4)])
    yield _mixed(20, 16).with_settings(skips=[(7, 5)])
    yield _mixed(12, 12).with_settings(skips=[(12, 4)])
    yield _mixed(12, 12).with_settings(skips=[(11, 4), (12, 2)])
    if scale.full:
        for _ in range(15):
            at = sorted(scale.random.sample(range(30), 4))
            yield _mixed(17, 13).with_settings(skips=[(each, scale.random.randint(1, 20)) for each in at])


def _mixed(*lengths: int) -> Case:
    case = mixture({"a": 60, "b": 40}, {"a": "0.6", "b": "0.4"}, 1)
    weights = [{"a": "0.6", "b": "0.4"}, {"a": "1", "b": "2"}]
    return case.with_settings(phases=[Phase(length, weights[i % 2]) for i, length in enumerate(lengths)])


@check("C1.10", "passed-over", one_at_a_time, needs="skips", faults=(15,))
def passed_over(bench: Bench, case: Case) -> None:
    """What is served, and what is passed over between, is the run that has no skip and serves as many samples more."""
    if not case.settings.skips or case.legs[0].batch_size > 1:
        raise NotApplicable("expected skips, and one sample a step")
    _expect_passed_over(bench.play(case), bench.play(_without_skips(case)))


def in_steps(scale: Scale) -> Iterable[Case]:
    """Steps 2 to 4 are skipped; the run is resumed from before, at and after them."""
    skipped = one_source(300, 60, leg=Leg(1, 4)).with_settings(skips=[(8, 12)])
    yield skipped
    for stop in (1, 2, 3, 4, 5):
        yield skipped.with_legs(Leg(1, 4, steps=stop), Leg(1, 4))
    if scale.full:
        for stop in range(6, 14):
            yield skipped.with_legs(Leg(2, 2, 1, steps=1), Leg(2, 2, 1, steps=stop - 1), Leg(2, 2, 1))


@check("C1.10", "resumed", in_steps, needs="skips resume", faults=(15,))
def passed_over_once(bench: Bench, case: Case) -> None:
    """A step after a skip trains what the plan had for a later one, whether the run was resumed in between or not."""
    sizes = {leg.batch_size for leg in case.legs}
    if not case.settings.skips or len(sizes) > 1 or any(value % min(sizes) for skip in case.settings.skips for value in skip):
        raise NotApplicable("expected skips of whole steps")
    _expect_passed_over(bench.play(case), bench.play(_without_skips(case).with_legs(replace(case.legs[0], steps=None))))


def _without_skips(case: Case) -> Case:
    """Return the run that serves what the case's passes over as well."""
    phases, start = [], 0
    for phase in case.settings.phases:
        passed = sum(count for at, count in case.settings.skips if start <= at < start + phase.length)
        phases.append(replace(phase, length=phase.length + passed))
        start += phase.length
    return case.with_settings(phases=phases, skips=[])


def _expect_passed_over(trace: Trace, plain: Trace) -> None:
    """Compare step by step: the samples from position p on are those of the plain run from p and all that was passed over before."""
    taken, settings = plain.keys(), trace.case.settings
    at = {sample.position: sample for sample in trace.samples()}
    for start, end, found in trace.blocks():
        if end > settings.length:
            # Whether the run ends where it should is for C2.4 and C2.5 to say.
            break
        first = start + sum(count for position, count in settings.skips if position <= start)
        wanted = Counter(taken[first : first + end - start])
        if wanted != found:
            missing, extra = wanted - found, found - wanted
            number = next((p for p in range(start, end) if trace.key(at[p]) in extra), start)
            raise Broken(f"{_named(missing)}, which the run without the skip has there", _named(extra), trace, at[number])
    last = trace.legs[-1]
    if last.leg.steps is None and len(at) <= settings.length - last.leg.batch_size:
        raise Broken(
            f"{settings.length} positions, as many as without the skip",
            f"{len(at)}",
            leg=last.number,
            step=len(last.steps),
            position=len(at),
        )


def _named(keys: "Counter[SampleKey]") -> str:
    return named(min(keys)) if keys else "no sample"
