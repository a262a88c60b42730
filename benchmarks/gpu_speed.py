"""How fast the loader is on a CUDA device, beside what the device gives: medians of rounds, timed by events of the stream they run on."""

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import torch
from gpu_serve import AHEAD, KINDS, settled
from gpu_table import Row
from random_ids import SEQ_LEN, plan_of, write_corpus
from torch.profiler import ProfilerActivity, profile

from fivepoint.fastpath import _C, Loader
from fivepoint.fastpath.native import reader as open_reader
from fivepoint.reference.plan import Plan

DTYPES = ("uint16", "uint32")
TOKENS = 40_000_000
"""Of each corpus: 80 and 160 MB, which stay in memory."""
ROWS = 8192
"""Of a batch past every L2: 34 M tokens, 67 or 134 MB as they are sent, 537 MB widened."""
OVER_L2 = 8
"""How many times the L2 each buffer of a copy within the device is, at least."""


def corpus_of(folder: Path, dtype: str) -> None:
    """Write the corpus of a dtype where it is not there yet."""
    if not (folder / dtype).exists():
        write_corpus(folder, dtype, dtype, TOKENS)


def on_device(work: Callable[[], object], calls: int = 20, rounds: int = 20) -> float:
    """Return the seconds that a call takes on the current stream, the median of rounds after three that warm up.

    The stream sleeps until all calls are enqueued, so that what it costs the host to enqueue them is not timed.
    """
    cycles = 1 << 21
    times: list[float] = []
    while len(times) < rounds + 3:
        begin, end = marks()
        torch.cuda._sleep(cycles)
        begin.record()
        for _ in range(calls):
            work()
        awake = begin.query()
        end.record()
        end.synchronize()
        if not awake:
            times.append(begin.elapsed_time(end) / 1000 / calls)
        elif cycles < 1 << 31:
            cycles *= 2
        else:
            raise RuntimeError("expected calls that only enqueue, found that the stream was awake before they had returned")
    return median(times[3:])


def marks() -> tuple[torch.cuda.Event, torch.cuda.Event]:
    """Return two events that tell the time."""
    return torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)


def warmed() -> float:
    """Keep the device busy for a second, and return how many cycles it then sleeps in one."""
    until = time.monotonic() + 1
    while time.monotonic() < until:
        torch.cuda._sleep(10_000_000)
        torch.cuda.synchronize()
    cycles = 50_000_000
    return cycles / on_device(lambda: torch.cuda._sleep(cycles), 1, 5)


def copied(least: int) -> tuple[float, str]:
    """Return the bytes that a copy within the device reads and writes a second, and what it was."""
    size = max(least, OVER_L2 * torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size)
    one, other = (torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2))
    rate = 2 * size / on_device(lambda: one.copy_(other))
    return rate, f"a copy of {size / 1e6:.0f} MB {rate / 1e9:.0f} GB/s"


def kernels(folder: Path) -> Iterator[Row]:
    """Widen a batch again and again, and write its boundaries, beside a copy within the device."""
    warmed()
    for dtype in DTYPES:
        corpus_of(folder, dtype)
        yield from kernels_of(folder, dtype)


def kernels_of(folder: Path, dtype: str) -> Iterator[Row]:
    """The same for one dtype; the kernel of the boundaries is the same for all, and measured with the first."""
    plan = plan_of(folder, [dtype], 4 * ROWS)
    staged = ROWS * open_reader(plan, ()).row_bytes
    with Loader(plan, 0, 1, ROWS, device="cuda", steps_ahead=AHEAD) as loader:
        (batch,) = next(loader)
        settled(loader, ROWS)
        torch.cuda.synchronize()
        inputs, targets = batch.inputs, batch.targets
        stream = torch.cuda.current_stream().cuda_stream

        def launched(*boundaries: int, runs: int = 0) -> Callable[[], None]:
            to = _C.DeviceBatch([inputs.data_ptr(), targets.data_ptr(), *(boundaries or [0] * 5)], runs)
            return lambda: loader._reader._prefetch.widen(0, ROWS, to, stream)

        widening = on_device(launched())
        moved = staged + 2 * inputs.nbytes
        rate, beside = copied(moved // 2)
        note = f"{moved / widening / 1e9:.0f} GB/s, {beside}"
        yield Row(f"widen {dtype}, {ROWS} rows: bytes/s beside a copy within the device", moved / widening / rate, 0.8, note=note)
        if dtype == DTYPES[0]:
            ids, places = torch.empty_like(inputs), torch.empty_like(inputs)
            mask = torch.empty(inputs.shape, dtype=torch.bool, device="cuda")
            for a_row in (1, 64):
                runs = ROWS * a_row
                first = torch.arange(runs + 1, dtype=torch.int32, device="cuda") * (SEQ_LEN // a_row)
                documents = torch.arange(runs, dtype=torch.int64, device="cuda")
                work = launched(*(each.data_ptr() for each in (ids, places, mask, first, documents)), runs=runs)
                bounding = on_device(work) - widening
                moved = sum(each.nbytes for each in (ids, places, mask, first, documents))
                what = f"boundaries, {ROWS} rows of {a_row} run{'s' * (a_row > 1)}: bytes/s beside a copy within the device"
                note = f"{moved / bounding / 1e9:.0f} GB/s, {beside}; timed as what they add to widening"
                yield Row(what, moved / bounding / rate, 0.8, note=note)
            del ids, places, mask
        narrow, there = torch.empty(staged, dtype=torch.uint8, pin_memory=True), torch.empty(staged, dtype=torch.uint8, device="cuda")
        wide = torch.empty((2, *inputs.shape), dtype=torch.int64, pin_memory=True)
        bus = on_device(lambda: there.copy_(narrow, non_blocking=True), 2, 5)
        sent = on_device(lambda: (inputs.copy_(wide[0], non_blocking=True), targets.copy_(wide[1], non_blocking=True)), 2, 5)
        yield Row(f"send {dtype} and widen there, beside sending int64", sent / (bus + widening), note=f"{staged / bus / 1e9:.1f} GB/s")


def transfers(folder: Path) -> Iterator[Row]:
    """Take steps as fast as they come, files in memory, and read what was copied to the device off the profiler's trace."""
    size = 1 << 28
    pinned, there = torch.empty(size, dtype=torch.uint8, pin_memory=True), torch.empty(size, dtype=torch.uint8, device="cuda")
    large = copies_of(traced(lambda: [there.copy_(pinned, non_blocking=True) for _ in range(10)]))
    limit = median(moved / seconds for moved, seconds in large if moved == size)
    for dtype, most in zip(DTYPES, (2.1, 4.1), strict=True):
        corpus_of(folder, dtype)
        plan = plan_of(folder, [dtype], 40 * 512)
        tokens = plan.length * SEQ_LEN
        for kinds in ([], KINDS):
            copies = copies_of(traced(lambda plan=plan, kinds=kinds: served(plan, kinds)))
            moved, seconds = (sum(part) for part in zip(*copies, strict=True))
            if moved < tokens * int(dtype[4:]) // 8:
                raise RuntimeError(f"expected a copy of every token in the trace, found {moved} bytes of {tokens} tokens")
            what = f"{dtype}{', every kind of boundary' * bool(kinds)}"
            note = f"{len(copies)} copies, half of them of {median(each for each, _ in copies) / 1e3:.0f} kB or more"
            if not kinds:
                note += f"; {moved / seconds / 1e9:.1f} GB/s, one of {size >> 20} MiB {limit / 1e9:.1f}"
                yield Row(f"copies to the device, {what}: bytes/s beside one large copy", moved / seconds / limit, 0.9, note=note)
            yield Row(f"bytes over the bus a token, {what}", moved / tokens, None if kinds else most, "at most", note)
    plan = plan_of(folder, ["uint16"], 100 * 512)
    begun = time.perf_counter()
    served(plan, [])
    rate = plan.length * SEQ_LEN / (time.perf_counter() - begun)
    yield Row("loader at full speed, uint16, M tokens/s", rate / 1e6, note="from opening to the end of 100 steps of 512 rows")


def served(plan: Plan, kinds: list[str]) -> None:
    """Take every step of a plan."""
    with Loader(plan, 0, 1, 32, 16, device="cuda", boundaries=kinds) as loader:
        for step in loader:
            list(step)
            loader.commit()
        torch.cuda.synchronize()


def traced(work: Callable[[], object]) -> dict[str, Any]:
    """Do some work, and return the profiler's trace of what the device did meanwhile."""
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        work()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profiler.export_chrome_trace(str(path))
        found: dict[str, Any] = json.loads(path.read_text())
    return found


def copies_of(trace: Mapping[str, Any]) -> list[tuple[int, float]]:
    """Return bytes and seconds of each copy from the host to the device in a trace, whose times are in microseconds."""
    events = (event for event in trace["traceEvents"] if event.get("cat") == "gpu_memcpy" and event["name"].startswith("Memcpy HtoD"))
    return [(event["args"]["bytes"], event["dur"] / 1e6) for event in events]


def waits(folder: Path) -> Iterator[Row]:
    """Train for as long as a demand allows, and count the steps in which the trainer's stream waited for rows."""
    corpus_of(folder, "uint16")
    plan, cycles = plan_of(folder, ["uint16"], 1 << 20), warmed()
    # A share under 0.1 % is seen in 3,000 steps: 40 seconds.
    for demand, steps, wanted in ((5e6, 3000, 0.001), (50e6, 3000, None), (0.5e6, 30, None)):
        yield waited(plan, demand, steps, wanted, cycles)


def waited(plan: Plan, demand: float, steps: int, wanted: float | None, cycles: float, rows: int = 16) -> Row:
    """The same for one demand; the device sleeps `cycles` in a second."""
    busy = int(cycles * rows * SEQ_LEN / demand)
    with Loader(plan, 0, 1, rows, device="cuda", steps_ahead=AHEAD) as loader:

        def step(before: torch.cuda.Event, after: torch.cuda.Event) -> tuple[torch.cuda.Event, torch.cuda.Event]:
            before.record()
            list(next(loader))
            after.record()
            torch.cuda._sleep(busy)
            loader.commit()
            return before, after

        known = []
        for _ in range(20):
            settled(loader, rows)
            torch.cuda.synchronize()  # what was sent has been copied
            torch.cuda._sleep(int(cycles / 1000))
            known.append(step(*marks()))
        found = [step(*marks()) for _ in range(steps + 20)][20:]
        torch.cuda.synchronize()
    there, took = ([before.elapsed_time(after) / 1000 for before, after in each] for each in (known, found))
    longest = 2 * median(there) + 50e-6
    late = sum(each > longest for each in took)
    seconds = found[0][0].elapsed_time(found[-1][0]) / 1000
    note = (
        f"{late} of {steps} took over {1e6 * longest:.0f} us (rows that were there: {1e6 * median(there):.0f} us); "
        f"demand achieved {(steps - 1) * rows * SEQ_LEN / seconds / 1e6:.3g} M tokens/s"
    )
    return Row(f"steps in which the stream waited at {demand / 1e6:g} M tokens/s", late / steps, wanted, "under", note)
