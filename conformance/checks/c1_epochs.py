"""C1, coverage by plan: epochs are whole (C1.3), and cursors carry over from phase to phase (C1.8)."""

from collections.abc import Iterable

from ..bench import Bench
from ..case import Case, Leg
from ..cases import mixture, one_source
from ..corpora import CorpusSpec, windows
from ..coverage import expect_whole_epochs
from ..driver import Phase, Settings
from ..judging import named, per_source
from ..registry import Scale, check
from ..trace import Sample, SampleKey, Trace
from ..verdict import Broken, NotApplicable
from .c1 import ROOMY


def one_epoch(scale: Scale) -> Iterable[Case]:
    """One source for one epoch: sizes around powers of two and of four, in small steps and in large ones."""
    sizes = [1, 2, 3, 7, 16, 17, 31, 64, 65, 257]
    if scale.full:
        sizes += [*range(4, 300, 5), 255, 256, 1023, 1024, 1025, 4095, 4097]
    for n in sizes:
        yield one_source(n, seq_len=2 if n < 64 else 4, leg=Leg(micro_batch=largest_divisor(n, 40)))
    yield one_source(64, seq_len=2, leg=Leg(1, 8, 2))
    if scale.full:
        yield one_source(64, seq_len=2, leg=Leg(4, 2, 2))


def largest_divisor(n: int, most: int) -> int:
    """Return the largest divisor of n that is at most `most`: few steps make a fast case."""
    return max(size for size in range(1, most + 1) if n % size == 0)


@check("C1.3", "one-epoch", one_epoch, faults=(28, 29, 41), judges_trace=True)
def one_epoch_is_whole(bench: Bench, case: Case) -> None:
    """The first n draws of a source show each of its n windows once."""
    _expect_whole(bench, case)


def epochs(scale: Scale) -> Iterable[Case]:
    """One source for several epochs, a sample a step and several, and steps that end in two epochs at once; and a union."""
    yield one_source(7, 21)
    yield one_source(1, 5)
    yield one_source(10, 30, leg=Leg(1, 2, 2))
    yield one_source(5, 40, leg=Leg(1, 8))
    corpora = (CorpusSpec("x", windows(5, 4, 2)), CorpusSpec("y", (1,)), CorpusSpec("z", windows(3, 4)))
    yield Case(corpora, Settings(3, 4, {"union": ["z", "y", "x"]}, [Phase(24, {"union": "1"})]))
    if scale.full:
        for _ in range(15):
            n = scale.random.randint(2, 120)
            yield one_source(n, 3 * n, leg=Leg(scale.random.choice([1, 2, 3]), scale.random.choice([1, 2, 5])))
        yield one_source(700, 2100, seq_len=2, leg=Leg(1, 50))


@check("C1.3", "several-epochs", epochs, needs="epochs whole_epochs", faults=(27, 28), judges_trace=True)
def several_epochs_are_whole(bench: Bench, case: Case) -> None:
    """So do the next n draws, and the next."""
    _expect_whole(bench, case)


def mixed(scale: Scale) -> Iterable[Case]:
    """Several sources, each through epochs of its own, one of a single window among them."""
    yield mixture({"a": 7, "b": 4, "one": 1}, {"a": "0.5", "b": "0.3", "one": "0.2"}, 60)
    yield mixture({"a": 9, "b": 4}, {"a": "2", "b": "1"}, 48, leg=Leg(1, 4))
    # Ranks that choose sources each for itself come to the end of a source at different steps.
    yield mixture({"a": 40, "b": 16}, {"a": "2", "b": "1"}, 160, leg=Leg(4, 2))
    if scale.full:
        sizes = {f"s{i:03}": 1 + i % 4 for i in range(200)}
        yield mixture(sizes, dict.fromkeys(sizes, "1"), 1200, leg=Leg(2, 3, 1))
        for _ in range(10):
            sizes = {f"s{i}": scale.random.randint(1, 20) for i in range(scale.random.randint(2, 6))}
            yield mixture(sizes, {name: str(scale.random.randint(1, 9)) for name in sizes}, 200)


@check("C1.3", "mixed-epochs", mixed, needs="epochs mixture mixed_epochs", faults=(27, 28, 39), judges_trace=True)
def mixed_epochs_are_whole(bench: Bench, case: Case) -> None:
    """In a mixture too, each source counts its own epochs."""
    _expect_whole(bench, case)


def switched(scale: Scale) -> Iterable[Case]:
    """1:1 and then 2:1, a source that pauses, one that comes late, none that is passed through, and many short phases."""
    roomy = mixture({"a": 30, "b": 24}, {"a": "1", "b": "1"}, 24)
    yield _phases(roomy, (24, {"a": "1", "b": "1"}), (24, {"a": "2", "b": "1"}))
    yield _phases(roomy, (13, {"a": "1", "b": "1"}), (9, {"a": "1"}), (40, {"a": "1", "b": "2"}))
    yield _phases(roomy, (10, {"a": "1"}), (36, {"b": "2", "a": "1"}), (24, {"a": "1"}))
    yield _phases(roomy, (24, {"a": "1", "b": "1"}), (24, {"a": "2", "b": "1"})).with_legs(Leg(1, 4))
    yield _phases(mixture({"a": 36, "b": 36}, {}, 1), (18, {"a": "1", "b": "1"}), (18, {"a": "2", "b": "1"}))
    if scale.full:
        for _ in range(12):
            parts = [
                (scale.random.randint(1, 30), {name: str(scale.random.randint(1, 5)) for name in scale.random.sample(["a", "b", "c"], 2)})
                for _ in range(scale.random.randint(3, 8))
            ]
            yield _phases(mixture({"a": 20, "b": 11, "c": 33}, {}, 1), *parts)


def _phases(case: Case, *parts: tuple[int, dict[str, str]]) -> Case:
    used = {name for _, weights in parts for name in weights}
    sources = {name: corpora for name, corpora in case.settings.sources.items() if name in used}
    return case.with_settings(phases=[Phase(length, weights) for length, weights in parts], sources=sources)


@check("C1.8", "cursors", switched, needs="phases mixture mixed_epochs", faults=(14,), judges_trace=True)
def cursors_carry_over(bench: Bench, case: Case) -> None:
    """Over all phases together, n draws of a source show each of its windows once: nothing is repeated early, nothing left out."""
    if len(case.settings.phases) < 2:
        raise NotApplicable("expected several phases")
    _expect_whole(bench, case, least=0)


def in_one_pass(scale: Scale) -> Iterable[Case]:
    """Phases of one source and of two, the first of which goes on alone."""
    yield _phases(mixture({"a": 20, "b": ROOMY}, {}, 1), (8, {"a": "1"}), (20, {"b": "1"}), (12, {"a": "1"}))
    yield _phases(mixture({"a": 5, "b": ROOMY}, {}, 1), (7, {"a": "1"}), (8, {"b": "1"}), (13, {"a": "1"}))


@check("C1.8", "one-pass", in_one_pass, needs="phases mixture", faults=(14,))
def one_pass(bench: Bench, case: Case) -> None:
    """A source that pauses goes on as if it had not: its samples are, in order, those of a run that leaves the pause out."""
    if {len(phase.weights) for phase in case.settings.phases} != {1} or case.legs[0].batch_size > 1:
        raise NotApplicable("expected phases of one source each, and one sample a step")
    trace = bench.play(case)
    name = next(iter(case.settings.phases[0].weights))
    alone = [phase for phase in case.settings.phases if name in phase.weights]
    if len(alone) == len(case.settings.phases):
        raise NotApplicable("expected a pause")
    # The other source comes after all of the first one, so that both runs hold the same sources.
    others = [phase for phase in case.settings.phases if name not in phase.weights]
    whole = bench.play(case.with_settings(phases=[*alone, *others]))
    paired = zip(_drawn(whole, name), _drawn(trace, name), strict=False)
    for number, ((_, before), (sample, after)) in enumerate(paired):
        if before != after:
            raise Broken(f"{named(before)} as draw {number} of {name!r}, as without the pause", named(after), trace, sample, source=name)


def _drawn(trace: Trace, source: str) -> list[tuple[Sample, SampleKey]]:
    return dict(per_source(trace))[source]


def _expect_whole(bench: Bench, case: Case, least: int = 1) -> None:
    promises, stride = bench.declaration().promises, bench.declaration().stride
    tails = [name for name in case.settings.sources if case.windows(name, stride) % case.legs[0].batch_size]
    if tails and "any_batch" not in promises and case.settings.length > min(case.windows(name, stride) for name in tails):
        raise NotApplicable("may leave out what of an epoch makes no whole step, as its order may depend on the batch size")
    trace = bench.play(case)
    if expect_whole_epochs(trace, stride) < least:
        raise NotApplicable("expected a case of a whole epoch")
