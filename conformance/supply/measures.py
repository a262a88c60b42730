"""What is measured of a loader in every round: supply from a warm and from a cold cache, the first batch, memory and bytes read."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..doors.caches import below, forget, warm
from ..driver import Array, Layout
from .contestant import Contestant
from .data import Data
from .dropping import KEPT, resident
from .seat import Pulled, Seat, Unmeasured

LOOKED_AT = 2
"""Steps whose rows are looked at before a loader is timed."""
MANY = 1 << 30
"""Steps, where the time alone ends a measurement."""
MIB = 1 << 20


@dataclass(frozen=True)
class Effort:
    """How much is asked for: seconds of one measurement at the most, tokens a second that a rank demands, and how reads are slowed."""

    rounds: int = 5
    seconds: float = 2.0
    demand: float = 250_000.0
    latency: float = 0.03
    stall: float = 0.5
    steps: int = 24
    """Steps of a consumer with a period."""
    reach: float = 10.0
    """Seconds in which the run that is resumed is to come as far as it can."""


def prepare(one: Contestant, data: Data) -> None:
    """Have the data brought into the loader's form, and look at the rows of its first steps; raises Unmeasured."""
    with one.seat() as (seat, _):
        run = one.run_over(data)
        seat.prepare(run, one.workdir)
        seat.build(run, one.workdir, one.layout())
        for _ in range(LOOKED_AT):
            if said := data.unlike(seat.step()):
                raise Unmeasured(said)
            seat.ask("commit")
        seat.close()


def opened(seat: Seat, run: Data, workdir: Path, layout: Layout, states: Sequence[Array] = ()) -> float:
    """Build the loader and take its first step; return the seconds from the request to build it to that step."""
    begun = time.perf_counter()
    seat.build(run, workdir, layout, states)
    if not seat.pull(1).rows:
        raise Unmeasured("served nothing: the run was over")
    return time.perf_counter() - begun


def round_of(one: Contestant, data: Data, effort: Effort, first: bool) -> None:
    """Measure a round, a process for each number of workers: from a cold cache while nothing has mapped the files, then from a warm one.

    The share of a demand is measured in the `first` round alone: a consumer with a period takes its time.
    """
    for workers in one.workers:
        names = [f"{name} {workers}" for name in ("warm", "cold", "demand")]
        with one.kept(*(["start"] if not workers else names)), one.seat(workers) as (seat, started):
            if not workers:
                one.add("start", started)
            _cold(one, seat, data, effort, workers)
            warm(below(data.corpus, one.workdir))
            _warm(one, seat, data, effort, workers)
            if first:
                with one.kept(f"demand {workers}"):
                    opened(seat, one.run_over(data), one.workdir, one.layout(workers))
                    one.add(f"demand {workers}", *met(seat, one, data, effort))
                    seat.close()


def _cold(one: Contestant, seat: Seat, data: Data, effort: Effort, workers: int) -> None:
    """Measure from the opening on, over half the corpus at the most, and what the rank holds and has read by then."""
    with one.kept(f"cold {workers}") as wanted:
        if not wanted:
            return
        held = seat.memory()
        files = below(data.corpus, one.workdir)
        forget(files)
        stayed = resident(files) > KEPT
        before, begun = seat.bytes_read(), time.perf_counter()
        first = opened(seat, one.run_over(data), one.workdir, one.layout(workers))
        found: Pulled = seat.pull(data.windows("L") // 2 // one.rows, seconds=effort.seconds)
        passed = time.perf_counter() - begun
        fetched, rows = seat.bytes_read() - before, one.rows + found.rows
        one.add(f"memory {workers}", seat.memory())
        one.add(f"memory_of_run {workers}", seat.memory() - held)
        seat.close()
        if data.never_cold or stayed or not fetched:
            raise Unmeasured(data.never_cold or f"not cold: {'its pages stay in memory' if stayed else 'no disk gave a byte'}")
        one.add(f"cold {workers}", rows / passed)
        one.add(f"first_batch_cold {workers}", first)
        one.add(f"bytes_read {workers}", fetched / (rows * data.window_bytes), f"{fetched / MIB:.0f} MiB for {rows:,} samples")


def _warm(one: Contestant, seat: Seat, data: Data, effort: Effort, workers: int) -> None:
    """Measure supply and the time to the first batch."""
    with one.kept(f"warm {workers}") as wanted:
        if not wanted:
            return
        first = opened(seat, one.run_over(data), one.workdir, one.layout(workers))
        # What is read ahead after the first step, and whatever else begins late, is not the supply of a long run.
        seat.pull(MANY, seconds=effort.seconds / 4)
        one.add(f"warm {workers}", seat.pull(MANY, seconds=effort.seconds).supply)
        one.add(f"first_batch_warm {workers}", first)
        seat.close()


def met(seat: Seat, one: Contestant, data: Data, effort: Effort) -> tuple[float, str]:
    """Return the share of the demand that a loader meets, 0 to 1, and how long the consumer waited."""
    period = period_of(one, data, effort)
    found = seat.pull(effort.steps, period, seconds=4 * effort.steps * period)
    if not found.rows:
        raise Unmeasured("served nothing: the run was over")
    waits = found.waits
    worked = period * len(waits)
    return worked / (worked + float(waits.sum())), f"waits of {1e3 * float(waits.mean()):.0f} ms, {1e3 * float(waits.max()):.0f} at most"


def period_of(one: Contestant, data: Data, effort: Effort) -> float:
    """Return the seconds in which a rank that demands so many tokens a second works on a step."""
    return one.rows * data.settings.seq_len / effort.demand
