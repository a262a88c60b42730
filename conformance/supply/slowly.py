"""How a loader supplies a rank whose files are read slowly: a latency for each read, and one stall of all."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np

from .contestant import Contestant
from .data import Data
from .measures import Effort, met, opened, period_of
from .mounting import missing, slow
from .seat import Unmeasured

AFTER = 4
"""Steps of a consumer before the stall."""


def slowly(one: Contestant, data: Data, effort: Effort) -> None:
    """Measure the time to the first batch and the share of the demand under latency, then the longest wait in a stall without it.

    The corpus and what the loader makes of it lie on the slow file system; nothing of them is in memory when the loader is opened.
    """
    with one.kept(*(f"{name} {workers}" for workers in one.workers for name in ("demand_slow", "stall"))):
        if reason := missing():
            raise Unmeasured(reason)
        here, there = one.folder / "slow", one.folder / "mounted"
        try:
            _copy(data, here, there)
            seen = Data(there / "corpus", data.tokens, data.settings)
            run = seen.of_length(min(data.windows(one.stride), one.run_over(data).settings.length))
            with slow(here, there), one.seat() as (seat, _):
                seat.prepare(run, there / "workdir")
            for workers in one.workers:
                with one.kept(f"demand_slow {workers}", f"stall {workers}"):
                    _served(one, here, run, effort, workers)
        finally:
            shutil.rmtree(here, ignore_errors=True)


def _copy(data: Data, here: Path, there: Path) -> None:
    try:
        for each in (here / "workdir", there):
            each.mkdir(parents=True)
        shutil.copytree(data.corpus, here / "corpus")
    except (OSError, shutil.Error) as reason:
        raise Unmeasured(f"no slow files: {getattr(reason, 'strerror', None) or reason}") from reason


def _served(one: Contestant, here: Path, run: Data, effort: Effort, workers: int) -> None:
    """Measure with so many workers; the files are mounted anew, so that nothing of them is in memory."""
    mountpoint = run.corpus.parent
    with slow(here, mountpoint) as files, one.seat(workers) as (seat, _):
        files.latency(effort.latency)
        one.add(f"first_batch_slow {workers}", opened(seat, run, mountpoint / "workdir", one.layout(workers)))
        one.add(f"demand_slow {workers}", *met(seat, one, run, effort))
        files.latency(0)
        with one.kept(f"stall {workers}"):
            period = period_of(one, run, effort)
            with stalled(files, AFTER * period, effort.stall):
                found = seat.pull(effort.steps, period)
            if len(found.waits) <= AFTER:
                raise Unmeasured("was not far enough for the stall")
            note = f"waits of {1e3 * float(np.median(found.waits)):.0f} ms otherwise"
            one.add(f"stall {workers}", float(found.waits.max()), note)
            seat.close()


class Stalling(Protocol):
    """Files whose reads can be held."""

    def stall(self, seconds: float) -> None:
        """Have no read answered before so many seconds are over."""


@contextmanager
def stalled(files: Stalling, after: float, seconds: float) -> Iterator[None]:
    """Have the files stall so many seconds after the beginning of the `with` block; raises Unmeasured where they did not."""
    failed: list[Unmeasured] = []

    def stall() -> None:
        try:
            files.stall(seconds)
        except Unmeasured as reason:
            failed.append(reason)

    later = threading.Timer(after, stall)
    later.start()
    try:
        yield
    finally:
        later.cancel()
        later.join()
    if failed:
        raise failed[0]
