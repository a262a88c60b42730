"""One run over all loaders: they are measured in turn, round by round, so that what else the machine does meets them all."""

import os
import platform
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from ...errors import UsageError
from ...reference.files import written
from ..doors import Door, procfs
from ..doors.adopting import adopted
from . import limits
from .contestant import Contestant
from .data import WIDTH, Data, write
from .dropping import stays
from .measures import Effort, prepare, round_of
from .results import LIMITS, MEASURES, Cell, Result
from .resuming import reach, resume_long, resume_round
from .slowly import slowly

SEQ_LEN, ROWS = 4096, 8
SMALL = 64
"""Windows of the corpus over which processes warm up."""
SLOW = 16_000_000
"""Tokens of the corpus that is read slowly, at the most: some loaders read all of it before the first step."""
GB = 1e9

Heard = Callable[[str, str], None]


@contextmanager
def room(parent: Path | None) -> Iterator[Path]:
    """Yield a folder for everything, in `parent` or where temporary files go, that is gone afterwards."""
    with written(parent or Path(".")):
        folder = Path(mkdtemp(prefix="fivepoint-supply-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def steps(loaders: int, effort: Effort) -> int:
    """Return of how many parts a run says that they are done."""
    return loaders * (2 * effort.rounds + 5)


def measured(loaders: Sequence[tuple[str, Door, bool]], tokens: int, effort: Effort, folder: Path, heard: Heard) -> Result:
    """Return what was measured of loaders, (name, door, whether it is an own one) each, over about so many tokens.

    Raises UsageError where the disk has no room for that.
    """
    expect_room(folder, tokens, [])
    small = write(folder / "small", SMALL * SEQ_LEN, SEQ_LEN)
    ones = [Contestant(name, door, folder / f"loader{number}", small, ROWS, own) for number, (name, door, own) in enumerate(loaders)]

    def each(what: str, among: Sequence[Contestant], do: Callable[[Contestant], Any]) -> list[Any]:
        found = []
        for one in among:
            heard(one.loader.name, what)
            with adopted():
                found.append(do(one))
        return found

    each("opens", ones, _opens)
    expect_room(folder, tokens, ones)
    data = write(folder / "corpus", tokens, SEQ_LEN)
    if reason := stays(data.shard):
        data = replace(data, never_cold=f"no disk below {folder.parent}: {reason}; name one with --folder")
    slow_data = write(folder / "slow", min(tokens, SLOW), SEQ_LEN)
    result = Result(conditions(data, slow_data, effort))
    each("prepares", [one for one in ones if not one.loader.cells], lambda one: _ready(one, data))
    ready = [one for one in ones if one.ready]
    found: dict[str, list[float]] = {limit.name: [] for limit in LIMITS}
    copied = 0
    for number in range(effort.rounds):
        found["memcpy"].append(limits.copies(ROWS, SEQ_LEN, effort.seconds / 4))
        found["pread_warm"].append(limits.reads(data, 1, False, effort.seconds))
        found["pread_warm_threads"].append(limits.reads(data, limits.THREADS, False, effort.seconds))
        if not data.never_cold:
            found["pread_cold"].append(limits.reads(data, limits.THREADS, True, effort.seconds))
            supply, copied = limits.mapped(data, effort.seconds)
            found["mmap_cold"].append(supply)
        each("serves", ready, partial(round_of, data=data, effort=effort, first=number == 0))
    result.limits = {name: Cell.of(values) if values else Cell(reason=data.never_cold) for name, values in found.items()}
    if copied:
        result.limits["mmap_cold"] = Cell.of(found["mmap_cold"], f"{copied} windows")
    each("from slow files", ready, lambda one: slowly(one, slow_data, effort))
    reached = each("runs to 99 %", ready, lambda one: reach(one, data, effort))
    resumable = [(one, states) for one, states in zip(ready, reached, strict=True) if states]
    for number in range(effort.rounds):
        for one, states in resumable:
            heard(one.loader.name, "resumes")
            with adopted():
                resume_round(one, states, number == 0)
    for one, states in zip(ready, reached, strict=True):
        heard(one.loader.name, "resumes at 99 % of 10^9")
        with adopted():
            resume_long(one, states, effort.rounds)
        one.leave()
    result.loaders = [one.finish() for one in ones]
    return result


def expect_room(folder: Path, tokens: int, ones: Sequence[Contestant]) -> None:
    """Raise UsageError where a folder has no room for the corpora, and for what loaders make of them, as they did of the small one."""
    growth = [one.growth() for one in ones]
    slow = min(tokens, SLOW)
    # One loader at a time has a copy of what is read slowly, and its own form of it.
    needed = WIDTH * (tokens * (1 + sum(growth)) + slow * (2 + max(growth, default=0.0)) + SMALL * SEQ_LEN)
    if needed > (free := shutil.disk_usage(folder).free):
        made = f" and what {len(ones)} loaders make of them" if ones else ""
        raise UsageError(
            f"expected {needed / GB:.3f} GB free in {folder.parent} for {tokens:,} tokens{made}, found {free / GB:.3f} GB; "
            "ask for fewer --megatokens, or name another --folder"
        )


def _opens(one: Contestant) -> None:
    with one.kept(*(measure.name for measure in MEASURES)):
        one.declare()
        with one.seat():
            pass


def _ready(one: Contestant, data: Data) -> None:
    with one.kept(*(measure.name for measure in MEASURES)):
        prepare(one, data)
        one.ready = True
    if not one.ready:
        one.leave()


def conditions(data: Data, slow_data: Data, effort: Effort) -> dict[str, Any]:
    """Return under which conditions is measured."""
    return {
        "machine": _processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "seq_len": SEQ_LEN,
        "micro_batch": ROWS,
        "tokens": data.tokens,
        "file_bytes": data.shard.stat().st_size,
        "readahead_bytes": procfs.readahead_said(data.shard),
        "slow_tokens": slow_data.tokens,
        "rounds": effort.rounds,
        "seconds": effort.seconds,
        "demand_tokens_per_second": effort.demand,
        "latency_seconds": effort.latency,
        "stall_seconds": effort.stall,
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
