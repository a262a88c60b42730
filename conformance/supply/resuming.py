"""How soon a loader goes on: from states that a run really reached, and from those that a run of 10^9 samples would have at 99 %."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..doors.caches import below, warm
from ..driver import Array, MicroBatch
from .contestant import Contestant
from .data import Data
from .measures import Effort, opened
from .seat import Seat, Unmeasured

BILLION = 10**9
LEAST = 40
"""Steps of a run of which there are a first and a last percent to speak of."""
FEW = 3
"""Steps between the states from which others are foretold."""


@dataclass
class Reached:
    """States of one run, by the percentage at which they were saved, with the step that the run served next."""

    run: Data
    length: int
    """Samples that the loader served in bounded time; 1 % and 99 % are of these."""
    states: dict[int, list[Array]] = field(default_factory=dict)
    following: dict[int, list[MicroBatch]] = field(default_factory=dict)
    consumed: dict[int, int] = field(default_factory=dict)
    early: list[tuple[int, list[Array]]] = field(default_factory=list)
    """(samples, states) at the beginning of the run."""


def reach(one: Contestant, data: Data, effort: Effort) -> Reached | None:
    """Run to 1 % and to 99 % of as many samples as the loader serves in `effort.reach` seconds; None where there is nothing to resume."""
    with one.kept("resume_0", "resume_1", "resume_99") as wanted:
        if not wanted:
            return None
        if "resume" not in one.promises:
            raise Unmeasured("promises no resume")
        if not (supply := one.values.get("warm 0")):
            raise Unmeasured("served nothing to resume")
        longest = one.run_over(data).settings.length // one.rows
        steps = min(longest - 1, int(supply[-1] * effort.reach / one.rows))
        if steps < LEAST:
            raise Unmeasured(f"takes {steps} steps in {effort.reach:g} s, fewer than {LEAST}")
        found = Reached(one.run_over(data), steps * one.rows)
        with one.seat() as (seat, _):
            seat.build(found.run, one.workdir, one.layout())
            done = 0
            for _ in range(2):
                done = _pull(seat, done, done + FEW)
                found.early.append((done * one.rows, seat.save()))
            for percent in (1, 99):
                done = _pull(seat, done, max(done, steps * percent // 100))
                found.consumed[percent] = done * one.rows
                found.states[percent] = seat.save()
                found.following[percent] = seat.step()
                seat.ask("commit")
                done += 1
            seat.close()
        return found
    return None


def _pull(seat: Seat, done: int, wanted: int) -> int:
    """Take steps until so many were taken, in requests that a time limit allows; raises Unmeasured where they do not come."""
    patience = time.monotonic() + 60
    while done < wanted:
        found = seat.pull(wanted - done)
        done += len(found.waits)
        if found.ended or time.monotonic() > patience:
            raise Unmeasured(f"came to {done} of {wanted} steps" + ("" if found.ended else " in 60 s"))
    return done


def resume_round(one: Contestant, reached: Reached, first: bool) -> None:
    """Measure the time to the first batch from the beginning and from each state; in the `first` round what comes is looked at."""
    with one.kept("resume_0", "resume_1", "resume_99") as wanted:
        if not wanted:
            return
        warm(below(reached.run.corpus, one.workdir))
        with one.seat() as (seat, _):
            one.add("resume_0", opened(seat, reached.run, one.workdir, one.layout()))
            seat.close()
            for percent, states in reached.states.items():
                note = f"at {reached.consumed[percent]:,} of {reached.length:,}"
                one.add(f"resume_{percent}", opened(seat, reached.run, one.workdir, one.layout(), states), note)
                seat.close()
            if first:
                for percent, states in reached.states.items():
                    seat.build(reached.run, one.workdir, one.layout(), states)
                    if not _alike(seat.step(), reached.following[percent]):
                        one.differs.append(percent)
                    seat.close()
                one.loader.exact = not one.differs


def resume_long(one: Contestant, reached: Reached | None, rounds: int) -> None:
    """Measure the time to the first batch at 99 % of 10^9 samples, from a state that was not reached, but is known."""
    with one.kept("resume_long"):
        if reached is None:
            raise Unmeasured(one.reason("resume_99"))
        if "epochs" not in one.promises:
            raise Unmeasured("not reached: passes once through the corpus")
        run, position = reached.run.of_length(BILLION), BILLION // 100 * 99 // one.rows * one.rows
        with one.seat() as (seat, _):
            states = _foretold(one, seat, run, reached, position)
            seat.prepare(run, one.workdir)
            for _ in range(rounds):
                one.add("resume_long", opened(seat, run, one.workdir, one.layout(), states))
                seat.close()


def _foretold(one: Contestant, seat: Seat, run: Data, reached: Reached, position: int) -> list[Array]:
    """Return the states at a position that no run came to: made by the driver, or where all numbers in them grow evenly, as they say.

    What is foretold in the same way for 99 % of the run that was made has to be what was saved there.
    """
    try:
        seat.build(reached.run, one.workdir, one.layout())
        _, made = seat.ask("foretold", consumed=reached.consumed[99])
    except Unmeasured:
        made = []
    if made:
        _expect_same(made, reached.states[99])
        seat.close()
        seat.build(run, one.workdir, one.layout())
        _, made = seat.ask("foretold", consumed=position)
        seat.close()
        return [np.array(state) for state in made]
    seat.close()
    if reached.consumed[99] <= reached.run.windows(one.stride):
        raise Unmeasured("not reached, and within one epoch no state tells another")
    _expect_same(_line(reached.early, reached.consumed[99]), reached.states[99])
    return _line(reached.early, position)


def _expect_same(told: list[Array], saved: list[Array]) -> None:
    if [_value(state) for state in told] != [_value(state) for state in saved]:
        raise Unmeasured("not reached, and its states do not tell another")


def _line(early: list[tuple[int, list[Array]]], position: int) -> list[Array]:
    """Return the states at a position on the straight line through two; raises Unmeasured where there is none."""
    (first, before), (second, after) = early
    found = []
    for low, high in zip(before, after, strict=True):
        value = _between(_value(low), _value(high), position - first, second - first)
        found.append(np.frombuffer(json.dumps(value).encode(), np.uint8))
    return found


def _between(low: Any, high: Any, over: int, distance: int) -> Any:
    if isinstance(low, dict) and isinstance(high, dict) and low.keys() == high.keys():
        return {name: _between(low[name], high[name], over, distance) for name in low}
    if isinstance(low, list) and isinstance(high, list) and len(low) == len(high):
        return [_between(one, other, over, distance) for one, other in zip(low, high, strict=True)]
    if low == high:
        return low
    if type(low) is int and type(high) is int and (high - low) * over % distance == 0:
        return low + (high - low) * over // distance
    raise Unmeasured("not reached, and its states do not tell another")


def _value(state: Array) -> Any:
    try:
        return json.loads(state.tobytes())
    except ValueError:
        raise Unmeasured("not reached, and its state is no JSON that tells another") from None


def _alike(one: list[MicroBatch], other: list[MicroBatch]) -> bool:
    return len(one) == len(other) and all(
        here.keys() == there.keys() and all(np.array_equal(here[name], there[name]) for name in here)
        for here, there in zip(one, other, strict=True)
    )
