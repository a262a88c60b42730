"""C4, elastic resumption: on other ranks and batches, again and again, and from the state of any one rank."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..bench import Bench
from ..case import INSIDE, SAVE, Case, Leg
from ..cases import mixture, one_source
from ..driver import Array
from ..judging import expect_same_sequence
from ..registry import Scale, check
from ..resuming import expect_uninterrupted
from ..verdict import Broken


def resumed_on(n: int, steps: int, first: Leg, last: Leg) -> Case:
    """Return an epoch of `n` samples, begun for `steps` on one layout and ended on another."""
    return one_source(n, leg=last).with_legs(replace(first, steps=steps), last)


def other_ranks(scale: Scale) -> Iterable[Case]:
    """More and fewer ranks, with batch sizes that the place of the restart is no multiple of."""
    yield resumed_on(20, 3, Leg(2), Leg(4))
    yield resumed_on(20, 3, Leg(4), Leg(2))
    yield resumed_on(24, 1, Leg(2, 3), Leg(6))
    yield resumed_on(24, 2, Leg(4, 1, 2), Leg(1, 2, 4))
    yield resumed_on(33, 2, Leg(3), Leg(1, 3))
    if scale.full:
        sizes = (1, 2, 3, 4, 5, 8, 16, 31, 64)
        for first in sizes:
            for last in scale.random.sample(sizes, 3):
                yield resumed_on(2 * first + 3 * last + 1, 2, Leg(first), Leg(last))
        case = mixture({"a": 60, "b": 9}, {"a": "0.8", "b": "0.2"}, 200)
        yield case.with_legs(Leg(8, 1, 2, steps=3), Leg(3, 2))


@check("C4.3", "other-ranks", other_ranks, needs="resume elastic layout rebatch", faults=(9, 10), judges_trace=True)
def on_other_ranks(bench: Bench, case: Case) -> None:
    """The same sequence of samples as on the first layout alone."""
    expect_uninterrupted(bench, case)


def inside_a_step(scale: Scale) -> Iterable[Case]:
    """Stopped when a step was asked for and not committed; more ranks and fewer, and as many samples in a step or not."""
    yield resumed_on(24, 3, Leg(2, stop=INSIDE), Leg(4))
    yield resumed_on(24, 2, Leg(4, stop=INSIDE), Leg(2, 1, 2))
    yield resumed_on(25, 2, Leg(1, 2, 2, stop=INSIDE), Leg(3))


@check("C4.3", "inside-a-step", inside_a_step, needs="resume elastic layout rebatch", faults=(5,))
def inside_a_step_on_other_ranks(bench: Bench, case: Case) -> None:
    """The step that was not committed is served again, whoever serves it."""
    expect_uninterrupted(bench, case)


def same_batch(scale: Scale) -> Iterable[Case]:
    """The batch size stays, and the ranks share it otherwise."""
    yield resumed_on(32, 2, Leg(2, 2), Leg(4, 1))
    yield resumed_on(32, 3, Leg(4, 1), Leg(2, 1, 2))
    yield resumed_on(32, 1, Leg(1, 4), Leg(4, 1))


@check("C4.3", "other-ranks-same-batch", same_batch, needs="resume elastic layout", faults=(10,))
def on_other_ranks_of_the_same_batch(bench: Bench, case: Case) -> None:
    """The steps hold what they held, on more ranks or fewer."""
    expect_uninterrupted(bench, case)


def other_batches(scale: Scale) -> Iterable[Case]:
    """Another micro-batch, accumulation, or both, on as many ranks."""
    yield resumed_on(24, 3, Leg(1, 2), Leg(1, 3))
    yield resumed_on(24, 2, Leg(1, 1, 4), Leg(1, 1, 2))
    yield resumed_on(25, 2, Leg(2, 1), Leg(2, 2, 2))
    if scale.full:
        for _ in range(12):
            leg, last = (Leg(2, scale.random.randint(1, 5), scale.random.randint(1, 4)) for _ in range(2))
            yield resumed_on(3 * leg.batch_size + 3 * last.batch_size + 1, scale.random.randint(1, 3), leg, last)


@check("C4.3", "other-batches", other_batches, needs="resume rebatch layout", faults=(13,))
def with_other_batches(bench: Bench, case: Case) -> None:
    """The samples follow one another as they did, in steps of another size."""
    expect_uninterrupted(bench, case)


def other_workers(scale: Scale) -> Iterable[Case]:
    """Workers that come and go."""
    for first, last in ((0, 2), (2, 0), (3, 1)):
        yield resumed_on(24, 3, Leg(1, 2, workers=first), Leg(1, 2, workers=last))


@check("C4.3", "other-workers", other_workers, needs="resume elastic workers", faults=(4, 17))
def with_other_workers(bench: Bench, case: Case) -> None:
    """The number of workers is in no state."""
    expect_uninterrupted(bench, case)


def chains(scale: Scale) -> Iterable[Case]:
    """Stopped two to five times at random places, also twice in the same place, and in the full mode inside steps."""
    for _ in range(12 if scale.full else 3):
        leg = Leg(scale.random.choice((1, 2)), scale.random.choice((1, 2)))
        counts = [scale.random.randint(1, 3) for _ in range(scale.random.randint(2, 5))]
        ways = (SAVE, SAVE, INSIDE) if scale.full else (SAVE,)
        legs = [replace(leg, steps=count, stop=scale.random.choice(ways)) for count in counts]
        yield one_source((sum(counts) + 3) * leg.batch_size, leg=leg).with_legs(*legs, leg)
    yield one_source(20, leg=Leg(1, 2)).with_legs(Leg(1, 2, steps=2), Leg(1, 2, steps=0), Leg(1, 2, steps=0), Leg(1, 2))


@check("C4.4", "again-and-again", chains, needs="resume", faults=(3,), judges_trace=True)
def again_and_again(bench: Bench, case: Case) -> None:
    """Several resumes in a row on one layout."""
    expect_uninterrupted(bench, case)


def through_epochs(scale: Scale) -> Iterable[Case]:
    """A mixture over several epochs, stopped every few steps."""
    for count in (2, 3) if scale.full else (3,):
        case = mixture({"a": 9, "b": 5}, {"a": "0.7", "b": "0.3"}, 40, leg=Leg(1, 2))
        yield case.with_legs(*[Leg(1, 2, steps=count)] * (18 // count), Leg(1, 2))


@check("C4.4", "through-epochs", through_epochs, needs="resume epochs mixture", faults=(1, 2, 3))
def through_epochs_in_pieces(bench: Bench, case: Case) -> None:
    """A run in many pieces."""
    expect_uninterrupted(bench, case)


def elastic_chains(scale: Scale) -> Iterable[Case]:
    """Other ranks, micro-batches and accumulations after every stop."""
    yield one_source(60).with_legs(Leg(1, 2, steps=2), Leg(4, 1, steps=1), Leg(2, 1, 3, steps=2), Leg(3))
    for _ in range(8 if scale.full else 1):
        sizes = (1, 2, 3, 4, 8, 16, 64) if scale.full else (1, 2, 3, 4)
        legs = [
            Leg(scale.random.choice(sizes), scale.random.randint(1, 2), scale.random.randint(1, 2), steps=scale.random.randint(1, 2))
            for _ in range(4)
        ]
        length = sum((leg.steps or 0) * leg.batch_size for leg in legs)
        yield one_source(length + 6, leg=Leg(2)).with_legs(*legs, Leg(2))


@check("C4.4", "on-other-ranks-each-time", elastic_chains, needs="resume elastic layout rebatch", faults=(3, 9, 10))
def on_other_ranks_each_time(bench: Bench, case: Case) -> None:
    """Several resumes in a row, each on another layout."""
    expect_uninterrupted(bench, case)


def one_of_several(scale: Scale) -> Iterable[Case]:
    """Two to four ranks, and peers; the state of each process in turn."""
    for leg in (Leg(2, 2), Leg(3, 1, 2), Leg(2, 1, tp=2)):
        processes = len(leg.layouts())
        for process in range(processes) if scale.full else (processes - 1,):
            yield one_source(4 * leg.batch_size, leg=leg).with_legs(replace(leg, steps=2, state_of=process), leg)


@check("C4.6", "any-ones-state", one_of_several, needs="resume one_state", faults=(10, 11))
def any_ones_state(bench: Bench, case: Case) -> None:
    """The state of one process, of the last one above all, resumes all as the states of all do."""
    _expect_as_from_all(bench, case)


@check("C4.6", "equal-states", one_of_several, needs="resume one_state", faults=(10,))
def equal_states(bench: Bench, case: Case) -> None:
    """After the same steps every process saves the same, byte for byte, or as JSON value for value."""
    leg = replace(case.legs[0], state_of=None)
    with bench.open(case.with_legs(leg)) as play:
        play.run(leg)
        for number, state in enumerate(play.states):
            if (difference := _difference(play.states[0], state)) is not None:
                raise Broken("the state of process 0 on every process", difference, rank=number, step=leg.steps)


def one_for_others(scale: Scale) -> Iterable[Case]:
    """The state of the last rank, for more ranks and for fewer."""
    for first, last in ((4, 2), (2, 4), (3, 1)):
        yield resumed_on(24, 2, Leg(first, state_of=first - 1), Leg(last))


@check("C4.6", "any-ones-state-on-other-ranks", one_for_others, needs="resume one_state elastic layout rebatch", faults=(10,))
def any_ones_state_on_other_ranks(bench: Bench, case: Case) -> None:
    """One rank's state is enough when there are other ranks than those that saved."""
    _expect_as_from_all(bench, case)


def _expect_as_from_all(bench: Bench, case: Case) -> None:
    from_all = case.with_legs(*(replace(leg, state_of=None) for leg in case.legs))
    expect_same_sequence(bench.play(from_all), bench.play(case))


def _difference(first: Array, other: Array) -> str | None:
    if first.tobytes() == other.tobytes():
        return None
    values: list[Any] = []
    for state in (first, other):
        try:
            values.append(json.loads(state.tobytes()))
        except ValueError:
            return f"{len(other)} bytes that differ from its {len(first)}"
    if values[0] == values[1]:
        return None
    if isinstance(values[0], dict) and isinstance(values[1], dict):
        names = sorted(name for name in values[0].keys() | values[1].keys() if values[0].get(name) != values[1].get(name))
        return f"another {', '.join(names)}"
    return "another value"
