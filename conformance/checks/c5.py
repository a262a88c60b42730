"""C5, throughput with headroom, as far as the system tells it of any process: time, memory, threads, files and bytes read."""

import statistics
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from ..bench import Bench, Play
from ..case import Case, Leg
from ..cases import one_source
from ..doors import procfs
from ..doors.caches import below, forget
from ..measuring import started
from ..registry import Scale, check
from ..verdict import Broken, NotApplicable

MIB = 1 << 20
SHORT = 200
"""Positions of the run with which a long one is compared."""
TRIES = 3
"""Measurements of which the best counts, before a loader is said to be slow or large."""
QUARTERS = 9
"""Equal stretches of a run, in the second and the last third of which memory has to grow, before it is said to grow."""
GROWTH = MIB // 2
"""Bytes by which memory may grow in three of them: what grows in chunks stands still in many a stretch."""
PERIOD = 0.04
"""Seconds that the consumer works on a step; it demands one of its steps in each."""
PAGES = 16384
"""Bytes by which the reading of one sample may exceed it: the pages and buffers at both its ends."""


def long_runs(scale: Scale) -> Iterable[Case]:
    """One small source for ten million positions; in the full mode for a billion too, the shorter first."""
    for samples in (10**5, 10**7, 10**9) if scale.full else (10**7,):
        yield one_source(50, samples=samples, leg=Leg(1, 4))


@check("C5.1", "opening", long_runs, needs="epochs", faults=(59,))
def opening(bench: Bench, case: Case) -> None:
    """A long run is opened, and gives its first batch, about as soon as a short one, and in as much memory."""
    length = case.settings.length
    if length < 100 * SHORT or len(case.settings.phases) != 1:
        raise NotApplicable("expected a long run")
    short = case.with_settings(phases=[replace(case.settings.phases[0], length=SHORT)])
    seconds, sizes = [float("inf")] * 2, [float("inf")] * 2
    for _ in range(TRIES):
        for i, one in enumerate((short, case)):
            took, held = _opened(bench, one)
            seconds[i], sizes[i] = min(seconds[i], took), min(sizes[i], held)
        if seconds[1] <= max(3 * seconds[0], seconds[0] + 0.3) and sizes[1] <= 1.5 * sizes[0] + 8 * MIB:
            return
    raise Broken(
        f"to open {length} positions as {SHORT} are opened, in {seconds[0]:.2f} s and {sizes[0] / MIB:.1f} MiB",
        f"{seconds[1]:.2f} s and {sizes[1] / MIB:.1f} MiB",
        leg=0,
        step=0,
    )


def _opened(bench: Bench, case: Case) -> tuple[float, int]:
    with bench.open(case) as play:
        rank = started(play, case.legs[0])
        before, start = procfs.peak(rank.pid), time.perf_counter()
        play.build()
        play.begin()
        return time.perf_counter() - start, procfs.peak(rank.pid) - before


def many_steps(scale: Scale) -> Iterable[Case]:
    """Steps of 8 samples of 256 tokens, some hundreds or some thousands."""
    steps = (QUARTERS + 1) * (1000 if scale.full else 60)
    yield one_source(600 if scale.full else 64, samples=8 * steps, seq_len=256, leg=Leg(1, 8))


@check("C5.2", "memory", many_steps, needs="epochs", faults=(58,))
def memory(bench: Bench, case: Case) -> None:
    """After some steps the rank and what it started hold no more; what grows is followed to the end of the run."""
    leg = case.legs[0]
    steps = case.settings.length // leg.batch_size // (QUARTERS + 1)
    if steps < 20:
        raise NotApplicable("expected a run of some hundred steps")
    with bench.open(case) as play:
        rank = started(play, leg)
        play.build()
        held: list[int] = []
        for _ in range(QUARTERS + 1):
            if not _taken(play, steps):
                raise NotApplicable("expected a run to the end of its steps")
            held.append(procfs.memory(rank.members()))
    # In the first third what grows fills what the process had freed before; a cache that fills up has as long.
    if min(_differences(held[QUARTERS // 3 :: QUARTERS // 3])) < GROWTH:
        return
    raise Broken(
        "memory that does not grow with the steps",
        f"{(held[-1] - held[0]) / MIB:.1f} MiB more after {QUARTERS * steps} steps, and more in the second and the last third of them",
        leg=0,
        step=(QUARTERS + 1) * steps,
    )


def _differences(values: list[int]) -> list[int]:
    return [after - before for before, after in pairwise(values)]


def _taken(play: Play, steps: int) -> bool:
    """Serve and commit steps, and keep nothing of them."""
    for _ in range(steps):
        if play.ask({"do": "next"})[0][0] is None:
            return False
        play.ask({"do": "commit"})
    return True


def demand(scale: Scale) -> Iterable[Case]:
    """Steps of 8 samples of 1,024 tokens, one in 40 ms: 200 samples a second."""
    steps = 100 if scale.full else 12
    yield one_source(64, samples=8 * steps, seq_len=1024, leg=Leg(1, 8))


@check("C5.4", "demand", demand, needs="epochs", faults=(57,))
def supply(bench: Bench, case: Case) -> None:
    """A consumer that works on each step for its period waits less than it works, at the median."""
    waits: list[float] = []
    with bench.open(case) as play:
        started(play, case.legs[0])
        play.build()
        for _ in range(case.settings.length // case.legs[0].batch_size):
            time.sleep(PERIOD)
            start = time.perf_counter()
            if play.begin() is None:
                break
            waits.append(time.perf_counter() - start)
            play.ask({"do": "commit"})
    if len(waits) < 8:
        raise NotApplicable("expected a run of at least 8 steps")
    if statistics.median(waits) > PERIOD:
        raise Broken(
            f"a step in {1000 * PERIOD:.0f} ms, for a consumer that works as long on each",
            f"waits of {1000 * statistics.median(waits):.0f} ms at the median, {1000 * max(waits):.0f} ms at most",
            leg=0,
            step=len(waits),
        )


def large_windows(scale: Scale) -> Iterable[Case]:
    """A few windows of 128 KiB, four bytes a token, of a source of many: enough for the system to read too much of it."""
    yield one_source(320, samples=96 if scale.full else 24, seq_len=32768, documents=1)


@check("C5.5", "bytes-read", large_windows, faults=())
def bytes_read(bench: Bench, case: Case) -> None:
    """What the rank reads over the run, by calls and from the disk, when the cached pages of its files were dropped at its beginning."""
    leg, warm = case.legs[0], 2
    with bench.open(case) as play:
        rank = started(play, leg)
        play.build()
        _taken(play, warm)
        files = below(play.corpus, play.workdir)
        width, ahead = _width(play), 2 * max(procfs.readahead(path) for path in files)
        forget(files)
        before, served, alone = procfs.bytes_read(rank.members()), 0, len(rank.members()) == 1
        while _taken(play, 1):
            served += leg.batch_size
        after = procfs.bytes_read(rank.members())
    if served < 16 or case.settings.seq_len * width < 4 * PAGES:
        raise NotApplicable("expected many samples that are large against a page")
    useful = served * (case.settings.seq_len + 1) * width
    # The calls of several processes count what they tell one another.
    kinds = {"read_bytes": "from the disk"} | ({"rchar": "by calls"} if alone else {})
    found = {kind: after[kind] - before[kind] for kind in kinds}
    if not any(found.values()):
        raise NotApplicable("the system counts no bytes that this loader reads")
    for kind, count in found.items():
        # Where one reads on and on, the system reads ahead of it: once, and not for every sample.
        more = ahead if kind == "read_bytes" else 0
        if count > 1.1 * useful + served * PAGES + MIB // 4 + more:
            raise Broken(
                f"at most 1.1 of {useful:.0f} bytes served to be read {kinds[kind]}", f"{count}, {count / useful:.1f} for each", leg=0
            )


def _width(play: Play) -> float:
    """Return how many bytes hold a token: those of the corpora, or of the files that the loader made of them, up to the eight it serves."""
    tokens = sum(spec.tokens for spec in play.case.corpora)
    made = sum(path.stat().st_size for path in play.workdir.rglob("*") if path.is_file())
    stored = max(2 if spec.dtype == "uint16" else 4 for spec in play.case.corpora)
    return min(8, max(stored, made / tokens))
