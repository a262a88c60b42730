"""C3, determinism: the same plan and position give the same bits, whoever asks, and the order is a real shuffle."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..asking import narrowed
from ..bench import Bench
from ..case import Case, Leg
from ..cases import mixture, one_source
from ..chance import is_mixed, is_run_by_chance
from ..driver import Phase
from ..judging import expect_same_sequence, named, per_source, served
from ..order import Permutation, word
from ..play import Failed
from ..registry import Scale, check
from ..trace import Trace
from ..verdict import Broken, NotApplicable

SINGLY = 65
"""Windows up to which a source's order is judged in steps of one sample."""
STEP = 8


def surroundings(scale: Scale) -> Iterable[Case]:
    """One run in fresh processes of other surroundings: a leg for each, of which every one begins anew."""
    environments = [{"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "31", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu"}]
    if scale.full:
        environments += [{"PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "1", "LC_ALL": "C"}, {"PYTHONHASHSEED": "random", "PYTHONUTF8": "0"}]
    # What a hash of names decides shows in a mixture, and what one of numbers does in any source.
    for case in (one_source(24, leg=Leg(micro_batch=2)), mixture({"a": 9, "b": 5}, {"a": "0.7", "b": "0.3"}, 24, leg=Leg(micro_batch=2))):
        yield case.with_legs(*(replace(case.legs[0], environment=environment) for environment in environments))


@check("C3.1", "other-surroundings", surroundings, faults=(18,))
def other_surroundings(bench: Bench, case: Case) -> None:
    """The same run under other hash seeds, locales and time zones, in other processes and folders: equal bit by bit."""
    traces = [bench.play(case.with_legs(leg)) for leg in case.legs]
    for trace in traces[1:]:
        _expect_equal_bits(traces[0], trace)


@check("C3.1", "again-in-one-process", lambda scale: [one_source(12, leg=Leg(2, 2))], faults=(18,), judges_trace=True)
def again_in_one_process(bench: Bench, case: Case) -> None:
    """The same run twice, one after the other: nothing of the first is left to change the second."""
    _expect_equal_bits(bench.play(case), bench.play(case))


def layouts(scale: Scale) -> Iterable[Case]:
    """Layouts of one run that make up the same batch, a leg for each; the first is one rank."""
    shapes = [Leg(1, 6), Leg(2, 3), Leg(3, 1, 2), Leg(1, 2, 3), *([Leg(6), Leg(2, 1, 3)] if scale.full else [])]
    yield mixture({"a": 40, "b": 30, "c": 7}, {"a": "0.5", "b": "0.4", "c": "0.1"}, 192).with_legs(*shapes)
    yield one_source(50, samples=120, documents=2).with_legs(*shapes)
    if scale.full:
        yield one_source(150, samples=384).with_legs(Leg(1, 64), Leg(64), Leg(16, 2, 2), Leg(8, 8))


@check("C3.2", "any-layout", layouts, needs="layout epochs", faults=(16,))
def any_layout(bench: Bench, case: Case) -> None:
    """Every layout of a batch serves the sets of samples that one rank serves, step by step."""
    if len({leg.batch_size for leg in case.legs}) > 1:
        raise NotApplicable("expected layouts of one batch size")
    _expect_alike(bench, case)


def batch_sizes(scale: Scale) -> Iterable[Case]:
    """Batch sizes of one run, a leg for each; the first takes sample by sample."""
    shapes = [Leg(), Leg(2, 3), Leg(1, 2, 2), *([Leg(8), Leg(64), Leg(5, 3, 2), Leg(16, 1, 3)] if scale.full else [])]
    yield mixture({"a": 40, "b": 30, "c": 7}, {"a": "0.5", "b": "0.4", "c": "0.1"}, 192).with_legs(*shapes)
    yield one_source(50, samples=120, documents=2).with_legs(*shapes)


@check("C3.2", "any-batch-size", batch_sizes, needs="layout any_batch epochs", faults=(16,))
def any_batch_size(bench: Bench, case: Case) -> None:
    """Steps of every size serve the sequence that steps of one sample serve."""
    _expect_alike(bench, case)


def _expect_alike(bench: Bench, case: Case) -> None:
    whole = bench.play(case.with_legs(case.legs[0]))
    for leg in case.legs[1:]:
        expect_same_sequence(whole, bench.play(case.with_legs(leg)))


@check(
    "C3.2",
    "any-number-of-workers",
    lambda scale: [one_source(40, leg=Leg(2, 2, workers=n)) for n in (1, 2, 4)],
    needs="workers any_workers",
    faults=(17,),
)
def any_number_of_workers(bench: Bench, case: Case) -> None:
    """Readers of the loader's own change nothing."""
    leg = case.legs[0]
    if not leg.workers:
        raise NotApplicable("expected a leg with workers")
    expect_same_sequence(bench.play(case.with_legs(replace(leg, workers=0))), bench.play(case))


def permutations(scale: Scale) -> Iterable[Case]:
    """Sources of 1, 2, 3 ... windows and of sizes around powers of two and four, beyond one epoch where that is short; large seeds."""
    sizes = [1, 2, 3, 5, 15, 16, 17, 63, 64, 65, 255, 256, 257, 4097] + (
        [*range(1, 301), 1023, 1024, 1025, 65535, 65537, 2**20 - 1, 2**20, 2**20 + 1] if scale.full else []
    )
    for n in sizes:
        # A step costs more than its samples: larger ones are served in steps of several, and but a little of their second epoch.
        leg, samples = (Leg(), 2 * n + 1) if n <= SINGLY else (Leg(micro_batch=STEP), n + 2 * STEP if n <= 300 else 5 * STEP)
        yield one_source(n, samples, seq_len=4 if n == 63 else 1, documents=1, seed=n, leg=leg)
    for seed in (1 << 32, (1 << 63) + 5, (1 << 64) - 1):
        yield one_source(17, seed=seed)
    # A name is a key as it is written, and not as somebody's alphabet would have it.
    for name in ("Data", "größe"):
        yield one_source(17).with_settings(sources={name: ["data"]}, phases=[Phase(17, {name: "1"})])


@check("C3.3", "exact-order", permutations, needs="order epochs", faults=(24, 25, 26, 28, 29, 30))
def exact_order(bench: Bench, case: Case) -> None:
    """Sample by sample, the windows that A2 gives."""
    if len(case.settings.sources) != 1 or len(case.settings.phases) != 1 or len(case.corpora) != 1:
        raise NotApplicable("expected one source of one corpus")
    # Without this promise the order within a step is free.
    trace = bench.play(case if "rows" in bench.declaration().promises else narrowed(case))
    (source,) = case.settings.sources
    stride = bench.declaration().stride
    n, size = case.windows(source, stride), case.settings.seq_len + (stride == "L+1")
    shuffles: dict[int, Permutation] = {}
    for sample in served(trace):
        epoch, offset = divmod(sample.position, n)
        shuffle = shuffles.setdefault(epoch, Permutation(n, case.settings.seed, word(source), epoch))
        expected = (case.corpora[0].name, shuffle(offset) * size)
        if trace.window(sample) != expected:
            raise Broken(f"{named(expected)}, window {shuffle(offset)} of {n} in epoch {epoch}", named(trace.window(sample)), trace, sample)


def long_epochs(scale: Scale) -> Iterable[Case]:
    """An epoch that is long enough for statistics; a uniform shuffle fails them less than once in 10^12 runs."""
    for n in (400, *((1024, 1500) if scale.full else ())):
        yield one_source(n, documents=1, seed=scale.random.randrange(1000))


@check("C3.3", "samples-move-far", long_epochs, needs="shuffle", faults=(30,))
def samples_move_far(bench: Bench, case: Case) -> None:
    """A uniform shuffle moves a sample by a third of the epoch on average; one of blocks or of a buffer by its size."""
    windows = _windows_in_order(bench, case)
    moved = np.abs(windows - np.arange(len(windows))).mean()
    if moved < len(windows) / 5:
        raise Broken(f"samples to move by {len(windows) / 3:.0f} places on average, of {len(windows)}", f"{moved:.1f}")


@check("C3.3", "low-bits-are-mixed", long_epochs, needs="shuffle", faults=(30,))
def low_bits_are_mixed(bench: Bench, case: Case) -> None:
    """The lowest bit of the windows is neither that of their places, nor that of the window before, more often than by chance."""
    if case.legs[0].batch_size > 1:
        raise NotApplicable("expected one sample a step: the order within a step is free")
    bits = _windows_in_order(bench, case) % 2
    if len(bits) != case.windows(next(iter(case.settings.sources)), bench.declaration().stride):
        raise NotApplicable("expected a whole epoch")
    odd, places = int(bits.sum()), np.arange(len(bits)) % 2
    runs = 1 + int((bits[1:] != bits[:-1]).sum())
    for what, agreeing, by_chance in (
        ("its place", bits == places, is_mixed(len(bits), odd, int((bits & places).sum()))),
        ("the window before", bits[1:] == bits[:-1], is_run_by_chance(len(bits) - odd, odd, runs)),
    ):
        if not by_chance:
            raise Broken(f"the lowest bit of a window to agree with that of {what} half the time", f"{agreeing.mean():.0%}")


def equal_sources(scale: Scale) -> Iterable[Case]:
    """Two sources of equal size over several epochs."""
    yield mixture({"a": 18, "b": 18}, {"a": "1", "b": "1"}, 108, seed=7)
    if scale.full:
        yield mixture({"a": 40, "b": 40, "c": 40}, {"a": "1", "b": "1", "c": "1"}, 360, seed=scale.random.randrange(1 << 32))


def one_of_few_epochs(scale: Scale) -> Iterable[Case]:
    """One source, over three epochs."""
    yield one_source(20, samples=60, seed=11)


def keys_never_meet(bench: Bench, case: Case) -> None:
    """No two of the orders of all epochs, all sources, this seed and the next are equal."""
    holders: dict[tuple[int, ...], str] = {}
    for seed in (case.settings.seed, case.settings.seed + 1):
        trace = bench.play(case.with_settings(seed=seed))
        for source, samples in per_source(trace):
            n = case.windows(source, bench.declaration().stride)
            if n < 18:
                raise NotApplicable("expected sources of at least 18 windows: smaller orders can be equal by chance")
            for start in range(0, len(samples) - n + 1, n):
                order = tuple(token for _, (_, token) in samples[start : start + n])
                who = f"source {source!r}, epoch {start // n}, seed {seed}"
                if order in holders:
                    raise Broken(f"another order than that of {holders[order]}", f"the same in {who}", trace, samples[start][0])
                holders[order] = who


check("C3.4", "keys-never-meet", equal_sources, needs="shuffle epochs mixture", faults=(24, 25, 26))(keys_never_meet)
check("C3.4", "one-source", one_of_few_epochs, needs="shuffle epochs", faults=(24,))(keys_never_meet)


@check("C3.4", "wide-seeds", lambda scale: [one_source(20, seed=11)], needs="shuffle", faults=(24,))
def wide_seeds(bench: Bench, case: Case) -> None:
    """The orders of a seed and of one that has the same low 32 bits are not equal, where the loader takes both."""
    if case.settings.length < 18 or case.settings.seed >= 1 << 32:
        raise NotApplicable("expected a seed of 32 bits, and at least 18 samples: fewer can be equal by chance")
    trace = bench.play(case)
    wide = case.settings.seed + (1 << 32)
    try:
        other = bench.play(case.with_settings(seed=wide))
    except Failed as reason:
        # It may be too large for a loader that promises no order of the specification: then there is none to compare.
        raise NotApplicable(f"takes no seed of more than 32 bits: {reason}") from None
    if served(trace) and trace.windows() == other.windows():
        raise Broken(f"another order for seed {wide} than for seed {case.settings.seed}", "the same")


def _windows_in_order(bench: Bench, case: Case) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    if len(case.corpora) != 1:
        raise NotApplicable("expected one corpus")
    trace = bench.play(case)
    if len(served(trace)) < 200:
        raise NotApplicable("expected at least 200 samples: fewer prove nothing")
    step = case.settings.seq_len + (bench.declaration().stride == "L+1")
    return np.array([token // step for _, token in trace.windows()])


def _expect_equal_bits(first: Trace, second: Trace) -> None:
    for (leg, one), (_, other) in zip(first.steps(), second.steps(), strict=False):
        for layout, mine, theirs in zip(leg.leg.layouts(), one.batches, other.batches, strict=True):
            for number, (batch, again) in enumerate(zip(mine, theirs, strict=True)):
                for name in batch:
                    if name not in again or batch[name].dtype != again[name].dtype or not np.array_equal(batch[name], again[name]):
                        raise Broken(
                            f"{name} as in the run before, beginning {batch[name].flat[0]}",
                            f"others, beginning {again[name].flat[0] if name in again else 'nothing'}",
                            step=leg.steps.index(one),
                            rank=layout.rank,
                            micro_batch=number,
                        )
    lengths = [sum(1 for _ in trace.steps()) for trace in (first, second)]
    if lengths[0] != lengths[1]:
        raise Broken(f"{lengths[0]} steps, as in the run before", f"{lengths[1]}")
