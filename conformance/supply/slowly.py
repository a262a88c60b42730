"""How a loader supplies a rank whose files are read slowly: a latency for each read, and one stall of all."""

import shutil
import threading

import numpy as np

from .contestant import Contestant
from .data import Data
from .measures import Effort, met, opened, period_of
from .mounting import missing, slow
from .seat import Unmeasured

NAMES = ("first_batch_slow", "demand_slow", "stall")
AFTER = 4
"""Steps of a consumer before the stall."""


def slowly(one: Contestant, data: Data, effort: Effort) -> None:
    """Measure the time to the first batch and the share of the demand under latency, then the longest wait in a stall without it.

    The corpus and what the loader makes of it lie on the slow file system; nothing of them is in memory when the loader is opened.
    """
    with one.kept(*NAMES) as wanted:
        if not wanted:
            return
        if reason := missing():
            raise Unmeasured(reason)
        here, there = one.folder / "slow", one.folder / "mounted"
        for each in (here / "workdir", there):
            each.mkdir(parents=True)
        shutil.copytree(data.corpus, here / "corpus")
        seen = Data(there / "corpus", data.tokens, data.settings)
        length = min(data.windows(one.stride), one.run_over(data).settings.length)
        run, workdir = seen.of_length(length), there / "workdir"
        try:
            with slow(here, there), one.seat() as (seat, _):
                seat.prepare(run, workdir)
            # Mounted anew, nothing of it is in memory.
            with slow(here, there) as files, one.seat() as (seat, _):
                files.latency(effort.latency)
                one.add("first_batch_slow", opened(seat, run, workdir, one.layout()))
                one.add("demand_slow", *met(seat, one, run, effort))
                files.latency(0)
                period = period_of(one, data, effort)
                later = threading.Timer(AFTER * period, files.stall, [effort.stall])
                later.start()
                found = seat.pull(effort.steps, period)
                later.join()
                if len(found.waits) <= AFTER:
                    raise Unmeasured("was not far enough for the stall")
                one.add("stall", float(found.waits.max()), f"waits of {1e3 * float(np.median(found.waits)):.0f} ms otherwise")
                seat.close()
        finally:
            shutil.rmtree(here, ignore_errors=True)
