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
COMPARED = 8
"""Steps that are compared after each resume."""
BEFORE = 2
"""Steps before the end of an epoch at which a run is saved, for what comes after it to be compared."""
OVER = "an epoch's end"
TIMED = {"1 %": "resume_1", "99 %": "resume_99"}
"""Points of the run, and the measure of the time to go on from there."""


@dataclass(frozen=True)
class Point:
    """Where a run was saved: after how many samples, what it saved, and the steps that it served next."""

    consumed: int
    states: list[Array]
    following: list[list[MicroBatch]]


@dataclass
class Reached:
    """The points at which one run was saved, at 1 % and at 99 %, and a little before an epoch's end where one lies between them."""

    run: Data
    length: int
    """Samples that the loader served in bounded time; 1 % and 99 % are of these."""
    points: dict[str, Point] = field(default_factory=dict)
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
        steps = min(longest - COMPARED, int(supply[-1] * effort.reach / one.rows))
        if steps < LEAST:
            raise Unmeasured(f"takes {steps} steps in {effort.reach:g} s, fewer than {LEAST}")
        found = Reached(one.run_over(data), steps * one.rows)
        with one.seat() as (seat, _):
            seat.build(found.run, one.workdir, one.layout())
            done = 0
            for _ in range(2):
                done = _pull(seat, done, done + FEW)
                found.early.append((done * one.rows, seat.save()))
            for name, place in _places(steps, found.run.windows(one.stride), one.rows).items():
                done = _pull(seat, done, place)
                states = seat.save()
                found.points[name] = Point(done * one.rows, states, [_taken(seat) for _ in range(COMPARED)])
                done += COMPARED
            seat.close()
        return found
    return None


def _places(steps: int, epoch: int, rows: int) -> dict[str, int]:
    """Return after how many of `steps` steps a run is saved, in its order; `epoch` is in samples, `rows` those of a step."""
    first = max(2 * FEW, steps // 100)
    last = max(first + COMPARED, steps * 99 // 100)
    passes = -(-(first + COMPARED + BEFORE) * rows // epoch)
    over = passes * epoch // rows - BEFORE
    return {"1 %": first} | ({OVER: over} if over + COMPARED <= last else {}) | {"99 %": last}


def _taken(seat: Seat) -> list[MicroBatch]:
    step = seat.step()
    seat.ask("commit")
    return step


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
    """Measure the time to the first batch from the beginning and from each state; in the `first` round compare what comes then."""
    with one.kept("resume_0", "resume_1", "resume_99") as wanted:
        if not wanted:
            return
        warm(below(reached.run.corpus, one.workdir))
        with one.seat() as (seat, _):
            one.add("resume_0", opened(seat, reached.run, one.workdir, one.layout()))
            seat.close()
            for name, measure in TIMED.items():
                point = reached.points[name]
                note = f"at {point.consumed:,} of {reached.length:,}"
                one.add(measure, opened(seat, reached.run, one.workdir, one.layout(), point.states), note)
                seat.close()
            if first:
                for name, point in reached.points.items():
                    seat.build(reached.run, one.workdir, one.layout(), point.states)
                    if not all(_alike(_taken(seat), expected) for expected in point.following):
                        one.differs.append(name)
                    seat.close()
                one.loader.compared = tuple(reached.points)
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
    late = reached.points["99 %"]
    try:
        seat.build(reached.run, one.workdir, one.layout())
        _, made = seat.ask("foretold", consumed=late.consumed)
    except Unmeasured:
        made = []
    if made:
        _expect_same(made, late.states)
        seat.close()
        seat.build(run, one.workdir, one.layout())
        _, made = seat.ask("foretold", consumed=position)
        seat.close()
        return [np.array(state) for state in made]
    seat.close()
    if late.consumed <= reached.run.windows(one.stride):
        raise Unmeasured("not reached, and within one epoch no state tells another")
    _expect_same(_line(reached.early, late.consumed), late.states)
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
