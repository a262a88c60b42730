"""What is measured of a loader in every round: supply from a warm and from a cold cache, the first batch, memory and bytes read."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ..doors.caches import below, forget, warm
from ..driver import Array, Layout
from .contestant import Contestant
from .data import Data
from .seat import Pulled, Seat, Unmeasured

LOOKED_AT = 2
"""Steps whose rows are looked at before a loader is timed."""
WORKERS = 2
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
    """Measure a round, in one process: from a cold cache while nothing has mapped the files, then from a warm one.

    The share of a demand is measured in the `first` round alone: a consumer with a period takes its time.
    """
    with one.kept("start"), one.seat() as (seat, started):
        one.add("start", started)
        _cold(one, seat, data, effort)
        warm(below(data.corpus, one.workdir))
        for workers in (0, WORKERS) if "workers" in one.promises else (0,):
            _warm(one, seat, data, effort, workers)
        if first:
            with one.kept("demand"):
                opened(seat, one.run_over(data), one.workdir, one.layout())
                one.add("demand", *met(seat, one, data, effort))
                seat.close()


def _cold(one: Contestant, seat: Seat, data: Data, effort: Effort) -> None:
    """Measure from the opening on, over half the corpus at the most, and what the rank holds and has read by then."""
    with one.kept("cold", "first_batch_cold", "bytes_read", "memory", "memory_of_run") as wanted:
        if not wanted:
            return
        held = seat.memory()
        forget(below(data.corpus, one.workdir))
        before, begun = seat.bytes_read(), time.perf_counter()
        first = opened(seat, one.run_over(data), one.workdir, one.layout())
        found: Pulled = seat.pull(data.windows("L") // 2 // one.rows, seconds=effort.seconds)
        passed = time.perf_counter() - begun
        fetched, rows = seat.bytes_read() - before, one.rows + found.rows
        one.add("cold", rows / passed)
        one.add("first_batch_cold", first)
        note = f"{fetched / MIB:.0f} MiB for {rows:,} samples" if fetched else "the system counted none"
        one.add("bytes_read", fetched / (rows * data.window_bytes), note)
        one.add("memory", seat.memory())
        one.add("memory_of_run", seat.memory() - held)
        seat.close()


def _warm(one: Contestant, seat: Seat, data: Data, effort: Effort, workers: int) -> None:
    """Measure supply and the time to the first batch, with so many workers."""
    with one.kept(f"warm {workers}") as wanted:
        if not wanted:
            return
        first = opened(seat, one.run_over(data), one.workdir, one.layout(workers))
        # What is read ahead after the first step, and whatever else begins late, is not the supply of a long run.
        seat.pull(MANY, seconds=effort.seconds / 4)
        one.add(f"warm {workers}", seat.pull(MANY, seconds=effort.seconds).supply)
        one.add(f"first_batch_warm {workers}", first)
        seat.close()


def best_of_workers(one: Contestant) -> None:
    """Take the setting with the best supply for the loader's, and say which it is."""
    found = {workers: values for workers in (0, WORKERS) if (values := one.values.get(f"warm {workers}"))}
    if not found:
        with one.kept("warm", "first_batch_warm"):
            raise Unmeasured(one.reason("warm 0", "start"))
        return
    best = max(found, key=lambda workers: median(found[workers]))
    for name in ("warm", "first_batch_warm"):
        one.values[name], one.notes[name] = one.values[f"{name} {best}"], f"{best} workers" if len(found) > 1 else ""


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
