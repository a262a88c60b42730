"""One loader on its way through the measures: where its files are, and what was found so far."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from ..bench import declaration
from ..doors import Door
from ..doors.caches import below
from ..doors.replies import DriverFault
from ..driver import Layout
from .data import Data
from .results import MEASURES, Cell, Loader
from .seat import Seat, Unmeasured, words

LONG = 1_000_000
"""Samples of a run, of a loader that passes through a source again."""
WORKERS = 2
CHOSEN = {
    "warm": ("warm", "first_batch_warm", "memory", "memory_of_run"),
    "cold": ("cold", "first_batch_cold", "bytes_read"),
    "demand": ("demand",),
    "demand_slow": ("demand_slow", "first_batch_slow"),
    "stall": ("stall",),
}
"""By the measure whose better value decides on the number of workers, all that is then shown with that number."""


class Contestant:
    """A loader, the folder of its files, and the values of each measure. `rows` is the micro-batch of a step."""

    def __init__(self, name: str, door: Door, folder: Path, small: Data, rows: int, own: bool = False) -> None:
        """`small` is a corpus of a few windows, over which a process opens its loader before it is measured."""
        self.loader, self.door, self.folder, self.rows = Loader(name, own=own), door, folder, rows
        self.workdir, self._warm_up = folder / "workdir", folder / "small"
        for each in (self.workdir, self._warm_up):
            each.mkdir(parents=True)
        self._small = small
        self.promises: frozenset[str] = frozenset()
        self.stride = "L"
        self.values: dict[str, list[float]] = {}
        self.notes: dict[str, str] = {}
        self.ready = False
        self.differs: list[str] = []
        """Where a resumed run went on with other steps than the one that was not stopped."""

    @property
    def workers(self) -> tuple[int, ...]:
        """The numbers of workers with which it is measured."""
        return (0, WORKERS) if "workers" in self.promises else (0,)

    def declare(self) -> None:
        """Ask what the loader promises, and whether it takes steps by itself, which one in another language need not; raises Unmeasured."""
        with Seat(self.door, self.folder) as seat:
            found, _ = seat.ask("declare")
            try:
                declared = declaration(found)
            except DriverFault as fault:
                raise Unmeasured(words(fault.found)) from None
            self.promises, self.stride, self.loader.version = declared.promises, declared.stride, declared.version
            self.loader.promises = tuple(sorted(declared.promises))
            self.loader.over_a_pipe = not seat.can_pull()

    def run_over(self, data: Data) -> Data:
        """Return the run that is measured: a long one, or an epoch where there is no second one."""
        epoch = data.windows(self.stride)
        return data.of_length(max(LONG, epoch) if "epochs" in self.promises else epoch)

    def layout(self, workers: int = 0) -> Layout:
        """Return the layout of the one rank."""
        return Layout(0, 1, self.rows, workers=workers)

    @contextmanager
    def seat(self, workers: int = 0) -> Iterator[tuple[Seat, float]]:
        """Yield a rank that has opened a small run, and closed it, and the seconds that this took: what is imported is imported."""
        with Seat(self.door, self.folder, not self.loader.over_a_pipe) as seat:
            small = self._small.of_length(self._small.windows(self.stride))
            if not any(self._warm_up.iterdir()):
                seat.prepare(small, self._warm_up)
            seat.build(small, self._warm_up, self.layout(workers))
            seat.pull(1)
            seat.close()
            yield seat, time.perf_counter() - seat.began

    def growth(self) -> float:
        """Return how many bytes it makes of a byte of the corpus: what a seat made of the small one, over that."""
        made = sum(path.stat().st_size for path in below(self._warm_up))
        return made / self._small.shard.stat().st_size

    def leave(self) -> None:
        """Remove its files: it is measured."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def kept(self, *names: str) -> Iterator[bool]:
        """Keep what the `with` block raises as Unmeasured as the reason for missing figures; yields whether they are still asked for."""
        try:
            yield not any(name in self.loader.cells for name in names)
        except Unmeasured as reason:
            for name in names:
                self.loader.cells[name] = Cell(reason=str(reason))

    def add(self, name: str, value: float, note: str = "") -> None:
        """Add the value of a round."""
        self.values.setdefault(name, []).append(value)
        self.notes[name] = note or self.notes.get(name, "")

    def reason(self, *names: str) -> str:
        """Return why there is no figure for the first of these measures that has none."""
        return next((self.loader.cells[name].reason for name in names if name in self.loader.cells), "not measured")

    def finish(self) -> Loader:
        """Return the loader with its cells, those of several numbers of workers with the better one."""
        for name, together in CHOSEN.items():
            self._choose(name, together)
        for measure in MEASURES:
            if (values := self.values.get(measure.name)) and measure.name not in self.loader.cells:
                self.loader.cells[measure.name] = Cell.of(values, self.notes.get(measure.name, ""))
        return self.loader

    def _choose(self, name: str, together: tuple[str, ...]) -> None:
        """Take the number of workers with which one measure came out better for several; one with which it failed does not count."""
        failed = {workers: self.loader.cells[key].reason for workers in self.workers if (key := f"{name} {workers}") in self.loader.cells}
        found = {
            workers: median(values)
            for workers in self.workers
            if workers not in failed and (values := self.values.get(f"{name} {workers}"))
        }
        more = next(measure.more_is_better for measure in MEASURES if measure.name == name)
        best = (max if more else min)(found, key=lambda workers: found[workers]) if found else self.workers[0]
        said = f"{best} workers" if len(self.workers) > 1 else ""
        if found:
            said += "".join(f"; with {workers}: {reason}" for workers, reason in failed.items())
        reason = next(iter(failed.values()), self.loader.cells.get("start", Cell()).reason)
        for each in together:
            if (values := self.values.get(f"{each} {best}")) and (found or each != name):
                self.values[each] = values
                self.notes[each] = ", ".join(filter(None, (self.notes.get(f"{each} {best}"), said)))
            elif reason:
                self.loader.cells.setdefault(each, Cell(reason=reason))
