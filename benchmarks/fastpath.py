"""How fast the native loader is, beside what a user would write instead and beside what the machine can do.

Everything that is compared is measured in turn within one run; figures are medians of the rounds' ratios. What is gathered is compared
with the reference first. Corpora of random ids are written to --folder (the default temporary folder), --megatokens of each dtype.

    make bench, or .venv/bin/python benchmarks/fastpath.py --rounds 15

pytest-benchmark is no help here: it times one way after the other, so that what else the machine does meets only one of them.
"""

import argparse
import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any, BinaryIO

import numpy as np
import torch
from plot import draw
from random_ids import SEQ_LEN, plan_of, write_corpus
from rich.console import Console
from rich.table import Table
from torch.utils.data import DataLoader, Dataset

from fivepoint.audit.interleaved import ratio, seconds
from fivepoint.audit.supply import from_disk
from fivepoint.conformance.doors.caches import forget
from fivepoint.fastpath import _C, Loader
from fivepoint.fastpath.native import reader as open_reader
from fivepoint.fastpath.native import resolver as open_resolver
from fivepoint.reference.batch import BatchReader
from fivepoint.reference.checkpoint import make
from fivepoint.reference.plan import Plan

DTYPES = ("uint16", "uint32")


@dataclass
class Row:
    """One comparison: `times` as fast as `against`, give or take `spread`; `wanted` is the figure to reach, None where there is none."""

    what: str
    against: str
    times: float
    spread: float
    wanted: float | None = None
    note: str = ""


class Destination:
    """Preallocated tensors of a batch, as a training loop that reuses its memory has them."""

    def __init__(self, rows: int) -> None:
        """Make and touch them."""
        self.inputs, self.targets = (torch.ones(rows, SEQ_LEN, dtype=torch.int64) for _ in range(2))
        numbers = self.numbers = torch.zeros(3, rows, dtype=torch.int64)
        self.memory = _C.Memory([self.inputs.data_ptr(), self.targets.data_ptr(), *(each.data_ptr() for each in numbers), 0, 0, 0], False)


class Limits:
    """What the machine gives, in C++ (benchmarks/limits.cpp): no loader can read sooner."""

    def __init__(self, folder: Path) -> None:
        """Compile it."""
        built = folder / "limits.so"
        command = [*(sysconfig.get_config_var("CXX") or "c++").split(), "-std=c++17", "-O3", "-shared", "-fPIC", "-pthread"]
        subprocess.run([*command, Path(__file__).with_name("limits.cpp"), "-o", built], check=True)
        self._read_places = ctypes.CDLL(str(built)).read_places
        self._read_places.restype = ctypes.c_int64

    def read(self, file: BinaryIO, places: np.ndarray[Any, Any], length: int, threads: int) -> None:
        """Read `length` bytes at each of the places of a file by so many threads, and throw them away."""
        places = np.ascontiguousarray(places, np.int64)
        address = ctypes.c_void_p(places.ctypes.data)
        whole = self._read_places(file.fileno(), address, ctypes.c_int64(len(places)), ctypes.c_int64(length), threads)
        assert whole == len(places), f"{whole} of {len(places)} places were read"


def positions(rows: int, length: int) -> Iterator[list[int]]:
    """Yield batches of positions, other ones each time."""
    choose = np.random.default_rng(3)
    return cycle([choose.integers(0, length, rows).tolist() for _ in range(64)])


def gathers(folder: Path, limits: Limits, dtype: str, rows: int, rounds: int) -> Iterator[Row]:
    """Gather random windows, warm: natively, by numpy, by Python as first written, and what one core copies and reads."""
    plan = plan_of(folder, [dtype], 100_000)
    native, ours, theirs = open_reader(plan, ()), Destination(rows), Destination(rows)
    shard, tokens, where = warm(folder, plan, dtype)
    inputs, targets = theirs.inputs.numpy(), theirs.targets.numpy()
    asked = positions(rows, plan.length)
    known = BatchReader(plan).read(range(4))
    expected = Destination(4)
    native.read(list(range(4)), expected.memory)
    assert np.array_equal(known.inputs, expected.inputs) and np.array_equal(known.targets, expected.targets)

    def careful() -> None:
        for row, first in enumerate(where[next(asked)].tolist()):
            inputs[row] = tokens[first : first + SEQ_LEN]
            targets[row] = tokens[first + 1 : first + SEQ_LEN + 1]

    def naive() -> object:
        windows = [torch.tensor(tokens[first : first + SEQ_LEN + 1].astype(np.int64)) for first in where[next(asked)].tolist()]
        batch = torch.stack(windows)
        return batch[:, :-1].contiguous(), batch[:, 1:].contiguous()

    def copy() -> None:
        for to, source in ((ours.inputs, theirs.inputs), (ours.targets, theirs.targets)):
            ctypes.memmove(to.data_ptr(), source.data_ptr(), source.nbytes)

    ways: dict[str, Callable[[], object]] = {
        "ours": lambda: native.read(next(asked), ours.memory),
        "memcpy of the output": copy,
        "careful numpy": careful,
        "naive Python": naive,
    }
    if rows > 100:  # or the call would count, and not what it does
        ways["pread alone"] = lambda: limits.read(shard, where[next(asked)] * tokens.itemsize, (SEQ_LEN + 1) * tokens.itemsize, 1)
    found = seconds(ways, rounds if rows > 100 else 20 * rounds, 3)
    wanted = {"memcpy of the output": 1.5, "careful numpy": 1.8, "naive Python": 8.0} if rows > 100 else {"careful numpy": 1.2}
    for other in list(ways)[1:]:
        yield Row(f"int64 gather, {dtype}, batch {rows}", other, *ratio(found, "ours", other), wanted.get(other))


def source_gathers(folder: Path, limits: Limits, dtype: str, rounds: int, rows: int = 1024) -> Iterator[Row]:
    """Bring windows in the source's dtype, which is what a device is sent, warm: by the threads that read ahead, and by numpy."""
    plan = plan_of(folder, [dtype], 100_000)
    shard, tokens, where = warm(folder, plan, dtype)
    native = open_reader(plan, ())
    slot = torch.zeros(rows * native.row_bytes, dtype=torch.uint8)
    ahead = _C.Prefetch(native, [(slot.data_ptr(), slot.nbytes, 0)], 16, None, 0, slot)
    known = np.empty((3, rows), np.int64)
    memory = _C.Memory([0, 0, *(each.ctypes.data for each in known), 0, 0, 0], False)
    raw = np.ones((rows, SEQ_LEN + 1), dtype)
    firsts = cycle(range(0, plan.length - rows, rows))

    def ours() -> None:
        first = next(firsts)
        ahead.want([(first, rows)])
        while not ahead.take(first, rows, memory, 1000):
            pass

    def careful() -> None:
        first = next(firsts)
        for row, begin in enumerate(where[first : first + rows].tolist()):
            raw[row] = tokens[begin : begin + SEQ_LEN + 1]

    def bare() -> None:
        first = next(firsts)
        limits.read(shard, where[first : first + rows] * tokens.itemsize, (SEQ_LEN + 1) * tokens.itemsize, 16)

    found = seconds({"ours": ours, "careful numpy": careful, "16 threads of pread": bare}, rounds, 3)
    ahead.close(1000)
    wanted = {"uint16": 3.0, "uint32": 2.5}[dtype]
    for other in ("careful numpy", "16 threads of pread"):
        yield Row(f"{dtype} as it is, batch {rows}", other, *ratio(found, "ours", other), wanted if other == "careful numpy" else None)


def warm(folder: Path, plan: Plan, dtype: str) -> tuple[BinaryIO, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the one shard of a corpus, open, its tokens, mapped and in memory, and the first token of each position."""
    (shard,) = (folder / dtype).glob("*.bin")
    tokens = np.memmap(shard, dtype=dtype, mode="r")
    tokens.max()  # touches every page
    return shard.open("rb"), tokens, open_resolver(plan).resolve(0, plan.length)[:, 7]


def resolving(folder: Path, rounds: int) -> Iterator[Row]:
    """Resolve positions in batches: beside a gather of as many, and in runs of any length."""
    short, long = (plan_of(folder, list(DTYPES), samples, {"uint16": 3, "uint32": 2}) for samples in (10**5, 10**10))
    near, far, native, ours = open_resolver(short), open_resolver(long), open_reader(short, ()), Destination(1024)
    asked = positions(1024, short.length)
    ways: dict[str, Callable[[], object]] = {
        "gather": lambda: native.read(next(asked), ours.memory),
        "after it, with cold caches": lambda: near.resolve(90_000, 1024),
        "near": lambda: near.resolve(90_000, 1024),
        "far": lambda: far.resolve(9 * 10**9, 1024),
    }
    found = seconds(ways, 5 * rounds, 3)
    note = f"{median(found['far']) / 1024 * 1e9:.0f} ns, as an array for Python"
    yield Row("resolve a position of 10^10", "gather it", *ratio(found, "far", "gather"), 20.0, note)
    yield Row("resolve a position of 10^10", "one of 10^5", *ratio(found, "far", "near"), 0.9)


class Windows(Dataset[Any]):
    """What torch's documentation would have one write: a map-style dataset over a memory-mapped file."""

    def __init__(self, path: Path, dtype: str) -> None:
        """Map the file."""
        self.tokens = np.memmap(path, dtype=dtype, mode="r")

    def __len__(self) -> int:
        """Return the number of windows."""
        return (len(self.tokens) - 1) // SEQ_LEN

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs and targets of a window."""
        window = torch.from_numpy(self.tokens[number * SEQ_LEN : number * SEQ_LEN + SEQ_LEN + 1].astype(np.int64))
        return window[:-1], window[1:]


def end_to_end(folder: Path, rows: int, rounds: int) -> Iterator[Row]:
    """Serve steps, warm, from opening on, to a consumer that takes them as fast as they come."""
    plan = plan_of(folder, ["uint16"], 10_000_000)
    (shard,) = (folder / "uint16").glob("*.bin")
    windows, native, destination = Windows(shard, "uint16"), open_reader(plan, ()), Destination(rows)
    steps = min(1000, len(windows) // rows)

    def ours() -> None:
        with Loader(plan, 0, 1, rows) as loader:
            for step in loader:
                for batch in step:
                    batch.inputs[0, 0].item()
                loader.commit()
                if loader.steps == steps:
                    return

    def gather() -> None:
        for step in range(steps):
            native.read(list(range(step * rows, (step + 1) * rows)), destination.memory)

    def torchs(workers: int) -> Callable[[], None]:
        def serve() -> None:
            loader = DataLoader(windows, batch_size=rows, shuffle=True, num_workers=workers, drop_last=True)
            for number, (inputs, _) in enumerate(loader, 1):
                inputs[0, 0].item()
                if number == steps:
                    return

        return serve

    ways = {"ours": ours, "gather": gather, "0 workers": torchs(0), "2 workers": torchs(2)}
    found = seconds(ways, max(3, rounds // 3), 1)
    best = min(("0 workers", "2 workers"), key=lambda name: median(found[name]))
    note = f"{steps * rows * SEQ_LEN / median(found['ours']) / 1e6:.0f} M tokens/s; DataLoader with {best}"
    yield Row(f"loader end to end, batch {rows}", "torch DataLoader at its best", *ratio(found, "ours", best), 10.0, note)
    yield Row(f"loader end to end, batch {rows}", "the gather alone, by one core", *ratio(found, "ours", "gather"))


def cold(folder: Path, limits: Limits, rounds: int) -> Iterator[Row]:
    """Read random windows that are in no cache, against threads that do nothing but pread, as many."""
    plan = plan_of(folder, ["uint32"], 10_000_000)
    (shard,) = (folder / "uint32").glob("*.bin")
    first = open_resolver(plan).resolve(0, 4096)[:, 7] * 4
    useful = (SEQ_LEN + 1) * 4
    amount: list[float] = []
    file = shard.open("rb")
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)

    def ours() -> None:
        before = from_disk()
        with Loader(plan, 0, 1, 256, threads=16, steps_ahead=3) as loader:
            for step in loader:
                list(step)
                loader.commit()
                if loader.steps == 16:
                    break
            amount.append((from_disk() - before) / (loader.rows_read * useful))

    ways = {
        "forget": lambda: forget([shard]),
        "bare": lambda: limits.read(file, first, useful, 16),
        "forget again": lambda: forget([shard]),
        "ours": ours,
    }
    found = seconds(ways, rounds, 1)
    note = f"{median(amount):.2f} bytes read a useful byte"
    yield Row("cold random reads", "16 threads of pread", *ratio(found, "ours", "bare"), 0.9, note)


OPENING = """
import resource, sys, time
import torch
from fivepoint.fastpath import Loader
from fivepoint.reference.plan import Plan

resident = lambda: int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20
before, begun = resident(), time.perf_counter()
loader = Loader(Plan.load(sys.argv[1]), 0, 1, 8)
next(next(loader))
print(time.perf_counter() - begun, resident() - before)
"""
LARGE, MILLISECONDS, MEBIBYTES = 5 * 10**8, 50, 60


def opening(folder: Path, rounds: int) -> Iterator[Row]:
    """Open plans of many positions and take the first batch: in a process of its own, and resumed near the end beside from the start."""
    names = ["books", "code", "math", *DTYPES]
    for name in names[:3]:
        write_corpus(folder, name, "uint16", 1_000_000)
    weights = dict(zip(names, (17, 83, 300, 317, 283), strict=True))
    plan_of(folder, names, LARGE, weights).save(folder / "plan.json")
    took, more = [], []
    for _ in range(max(3, rounds // 3)):
        command = [sys.executable, "-P", "-c", OPENING, folder / "plan.json"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        took.append(float(said[0]) * 1e3), more.append(float(said[1]))
    for what, limit, values, unit in (("time", MILLISECONDS, took, "ms"), ("memory", MEBIBYTES, more, "MiB")):
        times, spread = limit / median(values), limit / min(values) - limit / median(values)
        note = f"{median(values):.0f} {unit} to the first batch"
        yield Row(f"{what} to open 5 sources, 5 x 10^8 positions", f"{limit} {unit}", times, spread, 1.0, note)

    plan = plan_of(folder, names, 10**10, weights)
    state = make(plan, 99 * 10**8, 1)

    def first_batch(checkpoint: dict[str, Any] | None) -> None:
        with Loader(plan, 0, 1, 8, checkpoint=checkpoint) as loader:
            next(next(loader))

    found = seconds({"start": lambda: first_batch(None), "resume": lambda: first_batch(state)}, rounds, 2)
    note = f"{median(found['resume']) * 1e3:.1f} ms to the first batch"
    yield Row("resume at 99 % of 10^10 samples", "a start", *ratio(found, "resume", "start"), 0.9, note)


def memory(folder: Path, steps: int) -> Iterator[Row]:
    """Serve many steps of 8 samples, and see whether resident memory grows."""
    plan = plan_of(folder, list(DTYPES), 10**10)

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    with Loader(plan, 0, 1, 8) as loader:
        early = 0
        for step in loader:
            list(step)
            loader.commit()
            early = resident() if loader.steps == steps // 10 else early
            if loader.steps == steps:
                break
        grown = resident() - early
    yield Row(f"memory after {steps:,} steps", f"after {steps // 10:,}", early / (early + grown), 0.0, 0.99, f"{grown / 2**20:+.1f} MiB")


def main() -> None:
    """Print the table, and write and draw it where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--megatokens", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20_000, help="steps of the look at memory")
    parser.add_argument("--folder", type=Path, help="where the corpora go: the disk that cold reads are measured on")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="an image, PNG or SVG by its ending")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        for dtype in DTYPES:
            write_corpus(folder, dtype, dtype, options.megatokens * 1_000_000)
        limits = Limits(folder)
        rows = [row for dtype in DTYPES for size in (8, 1024) for row in gathers(folder, limits, dtype, size, options.rounds)]
        rows += [row for dtype in DTYPES for row in source_gathers(folder, limits, dtype, options.rounds)]
        rows += resolving(folder, options.rounds)
        rows += [row for size in (8, 64) for row in end_to_end(folder, size, options.rounds)]
        rows += cold(folder, limits, options.rounds)
        rows += opening(folder, options.rounds)
        rows += memory(folder, options.steps)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    table = Table(title="the native loader")
    for heading in ("what", "against", "times", "+-", "wanted", ""):
        table.add_column(heading, justify="right" if heading in ("times", "+-", "wanted") else "left")
    for row in rows:
        wanted = "" if row.wanted is None else f"{row.wanted:g}{'' if row.times >= row.wanted else ' (short)'}"
        table.add_row(row.what, row.against, f"{row.times:.2f}", f"{row.spread:.2f}", wanted, row.note)
    console = Console()
    (console if console.is_terminal else Console(width=140)).print(table)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    if options.plot:
        draw([asdict(row) for row in rows], options.plot)


if __name__ == "__main__":
    main()
