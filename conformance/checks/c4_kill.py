"""C4, what a kill leaves, and what a restart costs: SIGKILL to real processes, and the time to the first batch."""

import random
import time
from collections.abc import Iterable
from dataclasses import replace

from ..bench import Bench, Play
from ..case import KILL, Case, Leg
from ..cases import mixture, one_source
from ..judging import expect_same_sequence
from ..registry import Scale, check
from ..resuming import expect_uninterrupted, without_stops
from ..trace import Trace
from ..verdict import Broken, NotApplicable

TRIES = 6
"""Measurements of which the quickest counts, before a loader is said to be slow."""


def killed(scale: Scale) -> Iterable[Case]:
    """Killed some steps after the last save, on one rank and on two; a second time, in the full mode, and on other ranks."""
    yield one_source(20, leg=Leg(1, 2)).with_legs(Leg(1, 2, steps=3, stop=KILL, ahead=2), Leg(1, 2))
    yield one_source(24, leg=Leg(2, 2)).with_legs(Leg(2, 2, steps=2, stop=KILL, ahead=1), Leg(2, 2))
    if scale.full:
        for _ in range(4):
            counts = [(scale.random.randint(0, 3), scale.random.randint(0, 3)) for _ in range(3)]
            legs = [Leg(2, 1, 2, steps=steps, stop=KILL, ahead=ahead) for steps, ahead in counts]
            yield one_source(4 * sum(map(sum, counts)) + 9).with_legs(*legs, Leg(2, 1, 2))


@check("C4.9", "killed-after-a-save", killed, needs="resume")
def killed_after_a_save(bench: Bench, case: Case) -> None:
    """Steps that were committed after the last save are served again, no other, and none is missing."""
    expect_uninterrupted(bench, case)


def elastic_kills(scale: Scale) -> Iterable[Case]:
    """Killed on some ranks, and resumed on others."""
    sizes = [(2, 1)] if not scale.full else [(2, 1), (1, 3), (4, 2), (3, 4)]
    for first, last in sizes:
        yield one_source(24).with_legs(Leg(first, 2, steps=2, stop=KILL, ahead=1), Leg(last, 2))


@check("C4.9", "killed-and-resumed-on-other-ranks", elastic_kills, needs="resume elastic rebatch layout", faults=(10,))
def killed_and_resumed_on_other_ranks(bench: Bench, case: Case) -> None:
    """The files that many ranks left serve fewer, and those of few serve more."""
    expect_uninterrupted(bench, case)


def at_any_moment(scale: Scale) -> Iterable[Case]:
    """A long run, of which whatever is built on opening takes a while, killed at moments that the case's seed decides."""
    for seed in range(5 if scale.full else 1):
        legs = [Leg(1 + seed % 2, 2, steps=2, fresh=True), Leg(1 + seed % 2, 2, steps=3, fresh=True)]
        case = mixture({"a": 500, "b": 300}, {"a": "0.6", "b": "0.4"}, 100_000, seed=scale.random.randrange(1000))
        yield case.with_legs(*legs)


@check("C4.9", "killed-at-any-moment", at_any_moment, needs="resume epochs mixture", faults=(53, 56))
def killed_at_any_moment(bench: Bench, case: Case) -> None:
    """Killed while it opens and again while it serves: what it left in its folder is used whole or not at all."""
    if len(case.legs) < 2:
        raise NotApplicable("expected a run that is stopped and resumed")
    moments = random.Random(case.to_json())
    first, last = case.legs[0], case.legs[-1]
    whole, seconds = _undisturbed(bench, case)
    with bench.open(case) as play:
        play.start(first)
        play.ask({"do": "declare"})
        play.build(wait=False)
        time.sleep(moments.uniform(0.3, 0.8) * seconds)
        play.kill()
        # It was given no time for a step.
        play.trace.legs[-1].leg = replace(first, steps=0)
        play.open(first)
        play.steps(first.steps)
        play.save()
        for rank in play.ranks:
            rank.ask({"do": "next"})
        time.sleep(moments.uniform(0, 0.02))
        play.kill()
        play.open(last)
        play.steps(last.steps)
        play.close()
    expect_same_sequence(whole, play.trace)


def _undisturbed(bench: Bench, case: Case) -> tuple[Trace, float]:
    """Return what the case serves where nothing is killed, and the seconds that its first opening takes."""
    leg = without_stops(case).legs[0]
    steps = sum((one.steps or 0) * one.batch_size for one in case.legs) // leg.batch_size
    with bench.open(case) as play:
        play.start(replace(leg, fresh=True))
        play.ask({"do": "declare"})
        start = time.perf_counter()
        play.build()
        seconds = time.perf_counter() - start
        play.steps(steps)
        play.close()
        return play.trace, seconds


def long_runs(scale: Scale) -> Iterable[Case]:
    """Many epochs of a small source in large steps, and one epoch of a large one, stopped after 1 % and after 99 %."""
    steps = 400 if scale.full else 50
    leg = Leg(1, 50)
    for n in (50, (steps + 2) * 50):
        yield one_source(n, samples=(steps + 2) * 50, leg=leg).with_legs(replace(leg, steps=1), replace(leg, steps=steps - 2), leg)


@check("C4.10", "time-to-the-first-batch", long_runs, needs="resume epochs", faults=(12,))
def time_to_the_first_batch(bench: Bench, case: Case) -> None:
    """From the late state it is served as soon as from the early one, up to a small part of what serving all in between took."""
    if len(case.legs) != 3:
        raise NotApplicable("expected a run that is stopped twice")
    with bench.open(case) as play:
        states = []
        for leg in case.legs[:2]:
            start = time.perf_counter()
            play.run(leg)
            states.append((play.states, play.consumed))
        between = time.perf_counter() - start
        early = late = float("inf")
        for _ in range(TRIES):
            early, late = min(early, _first_batch(play, *states[0])), min(late, _first_batch(play, *states[1]))
            if late <= max(3 * early, early + 0.15 * between, early + 0.02):
                return
    raise Broken(
        f"the first batch after {states[1][1]} samples about as soon as after {states[0][1]}, {1000 * early:.1f} ms",
        f"{1000 * late:.1f} ms, where serving the samples in between took {1000 * between:.0f} ms",
        leg=2,
        step=0,
        position=states[1][1],
    )


def _first_batch(play: Play, states: list, consumed: int) -> float:  # type: ignore[type-arg]
    play.states, play.consumed = states, consumed
    play.start(play.case.legs[-1])
    play.ask({"do": "declare"})
    start = time.perf_counter()
    play.build()
    play.begin()
    taken = time.perf_counter() - start
    play.close()
    return taken
