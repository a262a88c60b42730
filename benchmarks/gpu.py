"""The native loader on a CUDA device: held to the contract, run under compute-sanitizer, and measured beside what the device gives.

    make gpu-check

Each line is printed when it is there, and written to gpu.json with the others. Where there is no device it says so, and checks nothing.
Everything is measured in one run: medians of rounds, by events of the stream that the work runs on, as ratios to a copy of as many bytes.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch

from fastpath import SEQ_LEN, plan_of, write_corpus
from fivepoint.fastpath import _C, Loader
from fivepoint.fastpath.native import reader as open_reader
from fivepoint.fastpath.placement import Cuda

CHECK = "fastpath-cuda"
KINDS = ["document_ids", "position_ids", "loss_mask", "cu_seqlens"]
ROWS = 2048
"""Of a batch past every L2: 8 M tokens, 16 MiB there and 128 MiB from there on."""
ROUNDS = 30


@dataclass(frozen=True)
class Row:
    """One line: what was found, what is wanted of it, and the command or the parts behind it."""

    what: str
    found: float | str
    wanted: float | str | None = None
    note: str = ""


def on_device(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the seconds that work takes on the current stream: the median of rounds, after three that warm up."""
    times = []
    for number in range(rounds + 3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        if number >= 3:
            times.append(begin.elapsed_time(end) / 1000)
    return median(times)


def conformance() -> Iterator[Row]:
    """Hold the loader on the device to the contract, in the quick mode."""
    begun = time.perf_counter()
    command = [sys.executable, "-P", "-m", "fivepoint.cli", "conform", "fivepoint.conformance.drivers.fastpath:CudaDriver", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True)
    said = "holds" if done.returncode == 0 else (done.stdout + done.stderr)[-3000:]
    yield Row("conformance suite, quick, device='cuda'", said, "holds", f"{time.perf_counter() - begun:.0f} s; make conform LOADER={CHECK}")


def sanitizers(plan: Path) -> Iterator[Row]:
    """Serve some steps under compute-sanitizer."""
    program = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    for tool in ("memcheck", "racecheck"):
        if program is None:
            yield Row(f"compute-sanitizer {tool}", "not run", "clean", "compute-sanitizer was not found on PATH or in /usr/local/cuda/bin")
            continue
        command = [program, "--tool", tool, "--error-exitcode", "9", sys.executable, "-P", __file__, "--serve", str(plan)]
        done = subprocess.run(command, capture_output=True, text=True)
        yield Row(f"compute-sanitizer {tool}", "clean" if done.returncode == 0 else (done.stdout + done.stderr)[-3000:], "clean")


def serve(path: Path) -> None:
    """Serve what the sanitizers watch: odd rows, every kind of boundary, and the host's answer beside it."""
    from fivepoint.reference.plan import Plan

    plan = Plan.load(path)
    with Loader(plan, 0, 1, 3, device="cuda", boundaries=KINDS) as loader, Loader(plan, 0, 1, 3, boundaries=KINDS) as host:
        for _ in range(8):
            for batch, other in zip(next(loader), next(host), strict=True):
                for name in ("inputs", "targets", *KINDS):
                    assert torch.equal(getattr(batch, name).cpu(), getattr(other, name)), name
            loader.commit()
            host.commit()


def kernels(folder: Path, dtype: str) -> Iterator[Row]:
    """Widen a batch again and again, beside a copy within the device of as many bytes."""
    plan = plan_of(folder, [dtype], ROWS)
    reader, cuda = open_reader(plan, ()), Cuda(torch.device("cuda"))
    host, there = cuda.slot(ROWS * reader.row_bytes)
    assert there is not None
    prefetch = _C.Prefetch(reader, [(host.data_ptr(), host.nbytes, there.data_ptr())], 16, cuda.driver, (host, there))
    prefetch.want([(0, ROWS)])
    known = torch.empty((3, ROWS), dtype=torch.int64)
    while not prefetch.take(0, ROWS, _C.Memory([0, 0, *(each.data_ptr() for each in known), 0, 0, 0], False), 1000):
        pass
    inputs, targets = (torch.empty((ROWS, SEQ_LEN), dtype=torch.int64, device="cuda") for _ in range(2))
    batch = _C.DeviceBatch([inputs.data_ptr(), targets.data_ptr(), 0, 0, 0, 0, 0], 0)
    stream = torch.cuda.current_stream().cuda_stream
    moved = there.nbytes + 2 * inputs.nbytes
    # A copy reads and writes each byte.
    one, other = (torch.empty(moved // 2, dtype=torch.uint8, device="cuda") for _ in range(2))
    ours, copy = on_device(lambda: prefetch.widen(0, ROWS, batch, stream)), on_device(lambda: one.copy_(other))
    yield Row(f"widen {dtype}, {ROWS} rows: bytes/s beside a copy within the device", copy / ours, 0.8, f"{moved / ours / 1e9:.0f} GB/s")
    again, pinned = torch.empty_like(there), torch.empty(there.nbytes, dtype=torch.uint8, pin_memory=True)
    bus = on_device(lambda: again.copy_(pinned, non_blocking=True))
    wide = torch.empty((2, ROWS, SEQ_LEN), dtype=torch.int64, pin_memory=True)
    sent = on_device(lambda: (inputs.copy_(wide[0], non_blocking=True), targets.copy_(wide[1], non_blocking=True)))
    yield Row(f"bytes over the bus a token, {dtype}", there.nbytes / (ROWS * SEQ_LEN), 2.1 if dtype == "uint16" else 4.1, "at most")
    yield Row(f"send {dtype} and widen there, beside sending int64", sent / (bus + ours), None, f"bus {there.nbytes / bus / 1e9:.1f} GB/s")
    prefetch.close()


def transfers(folder: Path) -> Iterator[Row]:
    """Take steps as fast as they come, files in memory: bytes over the bus a second, beside one large copy from pinned memory."""
    plan = plan_of(folder, ["uint16"], 1 << 20)
    pinned, there = torch.empty(1 << 28, dtype=torch.uint8, pin_memory=True), torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    bus = (1 << 28) / on_device(lambda: there.copy_(pinned, non_blocking=True))
    rows, steps = 512, 60
    with Loader(plan, 0, 1, rows, device="cuda", steps_ahead=4) as loader:
        for number in range(steps):
            if number == 10:
                torch.cuda.synchronize()
                begun = time.perf_counter()
            list(next(loader))
            loader.commit()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begun
    rate = (steps - 10) * rows * SEQ_LEN / seconds
    yield Row("loader at full speed: bytes over the bus beside its limit", 2 * rate / bus, 0.9, f"{rate / 1e6:.0f} M tokens/s")


def waits(folder: Path, demand: float) -> Iterator[Row]:
    """Train for as long as a demand allows, and count the steps in which the trainer's stream waited for rows."""
    plan = plan_of(folder, ["uint16"], 1 << 20)
    rows, steps = 16, 400
    seconds = rows * SEQ_LEN / demand
    cycles = int(1e6)
    busy = int(cycles * seconds / on_device(lambda: torch.cuda._sleep(cycles), 10))
    with Loader(plan, 0, 1, rows, device="cuda", steps_ahead=4) as loader:
        marks = []
        for _ in range(steps):
            before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            before.record()
            list(next(loader))
            after.record()
            torch.cuda._sleep(busy)
            loader.commit()
            marks.append((before, after))
        torch.cuda.synchronize()
    took = [before.elapsed_time(after) / 1000 for before, after in marks[20:]]
    # A batch costs its kernel; whoever waits for a copy besides takes much longer.
    late = sum(each > 2 * median(took) + 50e-6 for each in took) / len(took)
    wanted, note = 0.001 if demand == 5e6 else None, f"at most; a batch takes {1e6 * median(took):.0f} us of the stream"
    yield Row(f"steps in which the stream waited at {demand / 1e6:g} M tokens/s", late, wanted, note)


def rows(folder: Path) -> Iterator[Row]:
    """Yield every line, soonest what the others rest on."""
    small = folder / "small"
    write_corpus(small, "uint16", "uint16", 200_000)
    write_corpus(small, "uint32", "uint32", 200_000)
    plan = small / "plan.json"
    plan_of(small, ["uint16", "uint32"], 64).save(plan)
    yield from conformance()
    yield from sanitizers(plan)
    for dtype in ("uint16", "uint32"):
        write_corpus(folder, dtype, dtype, 40_000_000)
        yield from kernels(folder, dtype)
    yield from transfers(folder)
    for demand in (0.5e6, 5e6, 50e6):
        yield from waits(folder, demand)


def main() -> int:
    """Print every line as it comes; exit code 1 where something is broken or short."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("gpu.json"), metavar="FILE", help="where the table goes")
    parser.add_argument("--serve", type=Path, metavar="PLAN", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print(f"no CUDA device that torch {torch.__version__} can use was found: nothing was checked")
        return 0
    if options.serve:
        serve(options.serve)
        return 0
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    found: list[dict[str, Any]] = []
    good = True
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        for row in rows(Path(folder)):
            short = is_short(row)
            good = good and not short
            shown = f"{row.found:.4g}" if isinstance(row.found, float) else row.found
            print(f"{row.what:<70} {shown:>10}  wanted {row.wanted}{'  SHORT' if short else ''}  {row.note}", flush=True)
            found.append(asdict(row))
            options.json.write_text(json.dumps({"device": torch.cuda.get_device_name(), "rows": found}, indent=1) + "\n")
    return int(not good)


def is_short(row: Row) -> bool:
    """Whether a line is not what is wanted of it."""
    if row.wanted is None:
        return False
    if isinstance(row.found, str) or isinstance(row.wanted, str):
        return row.found != row.wanted
    return row.found > row.wanted if row.note.startswith("at most") else row.found < row.wanted


if __name__ == "__main__":
    sys.exit(main())
