"""How fast one rank's batches come on this machine, beside what its disk and its memory can do (C5.1, C5.4)."""

import os
import platform
import resource
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ..conformance.doors import procfs
from ..conformance.doors.caches import forget
from ..errors import CorpusError, RangeError
from ..reference import partition
from ..reference.batch import open_corpora
from ..reference.corpus import Array, CorpusReader
from ..reference.loader import Loader
from ..reference.plan import Plan
from .interleaved import ratio, seconds
from .layout import Layout
from .serve import state_at

COLD, WARM, PREAD, COPY = "from a cold cache", "from a warm cache", "Python threads that only read", "a copy in memory"
BESIDE = {COLD: PREAD, WARM: COPY}
"""What each is set beside: the same bytes read from the same cold files and thrown away; as many as the batches hold, copied once."""

BLOCK = 1 << 22
"""Numbers of int64 that are copied at once: 32 MiB, which no cache holds."""


@dataclass(frozen=True)
class Extent:
    """Bytes of a file."""

    path: Path
    offset: int
    length: int


@dataclass(frozen=True)
class Share:
    """What one rank of a layout is served."""

    layout: Layout
    dp_rank: int

    def starts(self, steps: int, count: int) -> list[int]:
        """Return `count` positions, evenly over the run, from which `steps` steps are served that share none; raises RangeError."""
        sizes = self.layout.batch_sizes
        total, _ = partition.step_count(sizes, self.layout.length)
        if total < count * steps:
            raise RangeError(
                f"expected a run of at least {count} x {steps} steps, one of them to warm up, found {total}; "
                "ask for fewer --steps or --rounds"
            )
        return [partition.position_after(sizes, number * total // count) for number in range(count)]

    def positions(self, start: int, steps: int) -> list[int]:
        """Return the positions that this rank serves in `steps` steps from `start` on."""
        served = islice(partition.steps_from(self.layout.batch_sizes, self.layout.length, start), steps)
        return [at for first, size in served for at in partition.rank_positions(first, size, self.layout.dp_size or 1, self.dp_rank)]


def extent(plan: Plan, share: Share, steps: int, rounds: int) -> dict[str, Any]:
    """Return what is measured: the same of two measurements whose ratios can be compared. Raises RangeError for a run that is too short."""
    counts = [len(share.positions(start, steps)) for start in share.starts(steps, rounds + 1)]
    tokens = round(median(counts[1:]) * plan.phases[0].seq_len / steps)
    return {"plan_hash": plan.plan_hash, "steps": steps, "rounds": rounds, "tokens_per_step": tokens}


def measure(loader: Loader, share: Share, steps: int, rounds: int, threads: int) -> dict[str, Any]:
    """Return a rank's supply in tokens a second, cold and warm, beside what the machine gives: medians of `rounds`, measured in turn.

    A measurement begins with `load_state_dict` and ends when `steps` steps were taken and committed. "cold" is None where the system does
    not forget files that it is asked to forget, as with some network file systems. Raises RangeError for a run that is too short.
    """
    plan = loader.plan
    starts = share.starts(steps, rounds + 1)
    states = [state_at(plan, start, loader.batch_size) for start in starts]
    served = [share.positions(start, steps) for start in starts]
    readers = open_corpora(plan)
    wanted = [list(extents(plan, readers, positions)) for positions in served]
    files = sorted({extent.path for each in wanted for extent in each})
    tokens = [len(positions) * plan.phases[0].seq_len for positions in served]
    first_batch: list[float] = []
    cold: list[bool] = []
    memory = np.ones((2, BLOCK), np.int64)
    # Each round has a stretch of the run of its own, which its four ways take one after the other.
    turns = (number for number in range(len(starts)) for _ in range(4))

    def serve(number: int) -> float:
        """Serve a stretch; return the seconds until its first batch was there."""
        begun = time.perf_counter()
        first = None
        loader.load_state_dict(states[number])
        for step in islice(loader, steps):
            for _ in step:
                first = first or time.perf_counter() - begun
            loader.commit()
        assert first is not None
        return first

    def from_cold() -> None:
        number, before = next(turns), from_disk()
        first_batch.append(serve(number))
        cold.append(2 * (from_disk() - before) >= sum(extent.length for extent in wanted[number]))

    found = seconds(
        {
            "forget": lambda: forget(files),
            PREAD: lambda: pread(wanted[next(turns)], threads),
            "forget again": lambda: forget(files),
            COLD: from_cold,
            WARM: lambda: serve(next(turns)),
            COPY: lambda: _copy(memory, 2 * tokens[next(turns)]),
        },
        rounds,
    )
    rates = {name: [count / took for count, took in zip(tokens[1:], times, strict=True)] for name, times in found.items()}
    supplies = {}
    for name, other in BESIDE.items():
        times, spread = ratio(found, name, other)
        supplies[name] = {
            "tokens_per_second": median(rates[name]),
            "seconds_per_step": median(found[name]) / steps,
            "beside_tokens_per_second": median(rates[other]),
            "ratio": times,
            "spread": spread,
        }
    forgot = all(cold)
    return {
        **extent(plan, share, steps, rounds),
        "machine": machine(),
        "cold": supplies[COLD] | {"seconds_to_first_batch": median(first_batch[1:])} if forgot else None,
        "warm": supplies[WARM],
    }


def machine() -> str:
    """Return what this machine calls its processor."""
    said = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(":")[2].strip() for line in said.splitlines() if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def headroom(found: dict[str, Any], step_seconds: float) -> dict[str, Any]:
    """Return what `measure` found with the demand of steps that take so long, and how many times as much each supply gives (C5.4)."""
    demand = found["tokens_per_step"] / step_seconds
    supplies = {name: found[name] and found[name] | {"headroom": found[name]["tokens_per_second"] / demand} for name in ("cold", "warm")}
    return {**found, "step_seconds": step_seconds, "demand_tokens_per_second": demand, **supplies}


def pread(extents: Sequence[Extent], threads: int) -> None:
    """Read bytes, and throw them away, by so many threads. Files are held open, where there are no more than a loader would hold."""
    files = {extent.path for extent in extents}
    held: dict[Path, int] = {}

    def read(extent: Extent) -> int:
        descriptor = held.get(extent.path)
        if descriptor is not None:
            return len(os.pread(descriptor, extent.length, extent.offset))
        descriptor = _opened(extent.path)
        try:
            return len(os.pread(descriptor, extent.length, extent.offset))
        finally:
            os.close(descriptor)

    try:
        if len(files) <= resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4:
            held.update((path, _opened(path)) for path in files)
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(read, extents):
                pass
    finally:
        for descriptor in held.values():
            os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as reason:
        raise CorpusError(f"cannot open {path}: {reason.strerror or reason}; let this user read it, or restore it") from reason
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    return descriptor


def _copy(memory: Array, count: int) -> None:
    """Copy `count` numbers of int64: as many as inputs and targets of a stretch have."""
    for begun in range(0, count, BLOCK):
        here, there = memory[:, : min(BLOCK, count - begun)]
        np.copyto(there, here)


def extents(plan: Plan, readers: Mapping[tuple[str, str], CorpusReader], positions: Iterable[int]) -> Iterator[Extent]:
    """Yield the bytes of shards that hold the windows at some positions, l + 1 tokens each."""
    for position in positions:
        sample = plan.resolve(position)
        for span in sample.spans:
            reader = readers[sample.source, span.corpus]
            size = reader.manifest.token_dtype.itemsize
            for shard, begin, count in reader.pieces(span.first, span.length):
                yield Extent(reader.folder / reader.manifest.shards[shard].file, begin * size, count * size)


def from_disk() -> int:
    """Return the bytes that this process has had fetched from a disk."""
    return procfs.bytes_read([os.getpid()])["read_bytes"]
