"""A rank that is measured: a process of its own, asked by messages, that is ended where it takes too much."""

import os
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ..case import Leg
from ..doors import Door, procfs
from ..doors.process import Process
from ..doors.replies import DriverFault, LoaderError
from ..driver import Array, Layout, MicroBatch, Refusal
from ..shapes import Short, step_of
from .data import Data

GIB = 1 << 30
TICK = 0.5
"""Seconds between two looks at what a rank takes."""
PREPARING = 2e-6
"""Seconds for each token that is brought into a loader's form, beside the time limit."""
LEAVE = 5.0
"""Seconds in which a rank ends that was closed."""


class Unmeasured(Exception):  # noqa: N818 it is an answer
    """There is no figure, and why, in a few words."""


@dataclass(frozen=True)
class Pulled:
    """Steps that were taken and committed: rows that came, whether the run is over, and the seconds of all and of each wait."""

    rows: int
    ended: bool
    seconds: float
    waits: Array

    @property
    def supply(self) -> float:
        """Rows a second; raises Unmeasured where none came."""
        if not self.rows:
            raise Unmeasured("served nothing: the run was over")
        return self.rows / self.seconds


class Seat:
    """One rank of a loader. Whatever it refuses, or fails in, is Unmeasured."""

    def __init__(self, door: Door, workdir: Path, pulls: bool = True) -> None:
        """Start the process in a folder; `pulls`: whether it takes steps by itself, or they come over a pipe."""
        self.pulls, self.limit = pulls, float(getattr(door, "limit", 30.0))
        self._stopped = ""
        self.began = time.perf_counter()
        try:
            (rank,) = door.open([Layout(0, 1, 1)], workdir, {}, True)
        except DriverFault as fault:
            raise Unmeasured(words(fault.found)) from None
        assert isinstance(rank, Process)
        self._rank, self._done = rank, threading.Event()
        self._guard = threading.Thread(target=self._watch, args=(workdir,), daemon=True)
        self._guard.start()

    def __enter__(self) -> "Seat":
        """Return the seat; its processes end with the `with` block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End it."""
        self._done.set()
        self._guard.join()
        self._rank.end(0 if error else LEAVE)

    def ask(self, do: str, frames: Sequence[Array] = (), longer: float = 0.0, **fields: Any) -> tuple[Any, list[Array]]:
        """Return the answer to a request, which has its time limit and so many seconds; raises Unmeasured."""
        try:
            self._rank.ask({"do": do, **fields}, frames, self.limit + longer)
            return self._rank.reply()
        except Refusal as reason:
            raise Unmeasured(f"refuses: {words(str(reason))}") from None
        except LoaderError as reason:
            raise Unmeasured(f"fails: {words(str(reason))}") from None
        except DriverFault as fault:
            raise Unmeasured(self._stopped or words(fault.found)) from None

    def prepare(self, data: Data, workdir: Path) -> None:
        """Have the data brought into the loader's form."""
        self.ask("prepare", longer=data.tokens * PREPARING, **_where(data, workdir))

    def build(self, data: Data, workdir: Path, layout: Layout, states: Sequence[Array] = ()) -> None:
        """Have the loader made."""
        self._layout, self._seq_len = layout, data.settings.seq_len
        self.ask("build", states, **_where(data, workdir), layout=asdict(layout))

    def save(self) -> list[Array]:
        """Return the states that a next build goes on from."""
        _, frames = self.ask("save")
        return [np.array(frame) for frame in frames]

    def step(self) -> list[MicroBatch]:
        """Return the next step, over the pipe; raises Unmeasured at the end of the run."""
        value, frames = self.ask("next")
        if value is None:
            raise Unmeasured("served nothing: the run was over")
        return self._checked(value, frames)

    def _checked(self, value: Any, frames: list[Array]) -> list[MicroBatch]:
        leg = Leg(1, self._layout.micro_batch, self._layout.accumulation)
        try:
            return step_of(value, frames, leg, self._seq_len, 0)
        except (DriverFault, Short) as fault:
            raise Unmeasured(words(fault.found if isinstance(fault, DriverFault) else str(fault))) from None

    def pull(self, steps: int, period: float = 0.0, seconds: float = 10.0) -> Pulled:
        """Take and commit steps as fast as they come, or work for `period` on each; none after `seconds`."""
        if self.pulls:
            return _pulled(*self.ask("pull", longer=seconds, steps=steps, period=period, seconds=seconds))
        waited: list[float] = []
        rows, begun = 0, time.perf_counter()
        while len(waited) < steps and (not waited or time.perf_counter() - begun < seconds):
            asked = time.perf_counter()
            value, frames = self.ask("next")
            if value is None:
                return Pulled(rows, True, time.perf_counter() - begun, np.array(waited))
            waited.append(time.perf_counter() - asked)
            rows += sum(len(batch["inputs"]) for batch in self._checked(value, frames))
            time.sleep(period)
            self.ask("commit")
        return Pulled(rows, False, time.perf_counter() - begun, np.array(waited))

    def can_pull(self) -> bool:
        """Whether its process takes steps by itself. One in another language need not: after the question it may be gone."""
        try:
            _pulled(*self.ask("pull", steps=0, period=0.0, seconds=0.0))
        except Unmeasured:
            return False
        return True

    def close(self) -> None:
        """Have the loader closed; another may be built."""
        self.ask("close")

    def memory(self) -> int:
        """Return the bytes that the rank and what it started hold, without mapped files."""
        return procfs.memory(self._rank.members())

    def bytes_read(self) -> int:
        """Return the bytes that were fetched from the disk for the rank and what it started."""
        return procfs.bytes_read(self._rank.members())["read_bytes"]

    def _watch(self, workdir: Path) -> None:
        """End the rank where it takes more than a quarter of the memory, or of the disk that is free."""
        most = most_memory()
        with suppress(OSError):
            room = shutil.disk_usage(workdir).free
            while not self._done.wait(TICK):
                for what, taken, limit in (
                    ("memory", procfs.memory([self._rank.pid]), most),
                    ("the disk", room - shutil.disk_usage(workdir).free, room // 4),
                ):
                    if taken > limit:
                        self._stopped = f"was stopped at {taken / GIB:.1f} GiB of {what}"
                        self._rank.kill()
                        return


def most_memory() -> int:
    """Return the bytes that a rank may hold."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4


def _pulled(found: Any, frames: list[Array]) -> Pulled:
    try:
        (waits,) = frames
        return Pulled(int(found["rows"]), bool(found["ended"]), found["nanoseconds"] / 1e9, waits / 1e9)
    except (TypeError, KeyError, ValueError):
        raise Unmeasured(f"answered pull with {words(str(found))}") from None


def words(text: str, most: int = 90) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split()).removeprefix("process 0: ")
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _where(data: Data, workdir: Path) -> dict[str, Any]:
    return {"corpus": str(data.corpus), "workdir": str(workdir), "settings": asdict(data.settings)}
