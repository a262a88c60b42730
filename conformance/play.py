"""One case on its way through its legs, asked for and heard of rank by rank."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from .case import INSIDE, KILL, SAVE, Case, Leg
from .doors import Rank, end_all
from .doors.replies import DriverFault, LoaderError
from .driver import Array, Refusal, Settings
from .shapes import step_of
from .trace import LegTrace, StepTrace, Trace
from .verdict import NotApplicable

if TYPE_CHECKING:
    from .bench import Bench


class Refused(Exception):  # noqa: N818 it is an answer
    """A rank refused what the case asked for; `leg` is the number of the leg, `verb` what was asked."""

    def __init__(self, leg: int, verb: str, reason: str) -> None:
        super().__init__(reason)
        self.leg, self.verb, self.reason = leg, verb, reason


class Failed(Exception):  # noqa: N818 it is a finding
    """The loader raised an error; `leg` and `step` say where, `verb` what was asked."""

    def __init__(self, leg: int, step: int, verb: str, found: str) -> None:
        super().__init__(found)
        self.leg, self.step, self.verb, self.found = leg, step, verb, found


class Play:
    """A case that is being played: `run` plays a leg; checks that need more (`where`, `log`, a kill, a damaged file) go step by step."""

    def __init__(self, bench: "Bench", case: Case, corpus: Path, workdir: Path) -> None:
        """Begin before the first leg."""
        self.bench, self.case, self.corpus, self.workdir = bench, case, corpus, workdir
        self.settings: Settings = case.settings
        self.trace = Trace(case)
        self.states: list[Array] = []
        self.consumed = 0
        self.ranks: list[Rank] = []

    def __enter__(self) -> "Play":
        """Return the play; its processes end with the `with` block, however it is left."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End every process and remove the folder."""
        # Of a rank that did not answer, nothing more is expected.
        self._end(0 if isinstance(error, DriverFault) else self.bench.door.limit)
        shutil.rmtree(self.workdir, ignore_errors=True)

    def run(self, leg: Leg) -> LegTrace:
        """Run a leg from the states of the one before to its stop, and return what it served."""
        self.open(leg)
        found = self.trace.legs[-1]
        self.steps(leg.steps)
        # Of a loader that keeps no state none is asked for.
        saves = "resume" in self.bench.declaration().promises
        if leg.stop == INSIDE and not found.ended and (step := self.begin()) is not None:
            found.steps.append(replace(step, committed=False))
            if saves:
                self.save_inside()
        # A leg without a next one is stopped early too.
        elif saves and (leg.steps is not None or leg.stop != SAVE):
            self.save()
        if leg.stop == KILL:
            saved = self.consumed
            self.steps(leg.ahead, lost=True)
            self.consumed = saved
            self.kill()
        else:
            self.close()
        return found

    def open(self, leg: Leg) -> None:
        """Start the ranks of a leg and build their loaders."""
        self.start(leg)
        self.build()

    def start(self, leg: Leg) -> None:
        """Start the ranks of a leg, which are ready when they are asked something and have answered."""
        self.settings = Settings.from_json(asdict(self.settings) | leg.settings)
        self.leg = leg
        self.trace.legs.append(LegTrace(len(self.trace.legs), leg, self.consumed))
        self.ranks = self.bench.door.open(leg.layouts(), self.workdir, leg.environment, leg.fresh or leg.stop == KILL)
        if len(self.trace.legs) == 1 or leg.settings:
            self.prepare()

    def prepare(self) -> None:
        """Have the first rank bring the corpora into the loader's form: at the beginning, and after each change of settings or data."""
        self.ask({"do": "prepare", **self._where()}, self.ranks[:1])

    def build(self, wait: bool = True) -> None:
        """Build the loader of every rank, from the states of the leg before; without `wait` nobody listens to how that goes."""
        for rank, layout in zip(self.ranks, self.leg.layouts(), strict=True):
            rank.ask({"do": "build", **self._where(), "layout": asdict(layout)}, self.states)
        if wait:
            self._hear(self.ranks, "build")

    def kill(self) -> None:
        """SIGKILL to every rank, whatever it is doing."""
        for rank in self.ranks:
            rank.kill()
        self._end(0)

    def _where(self) -> dict[str, Any]:
        return {"corpus": str(self.corpus), "workdir": str(self.workdir), "settings": asdict(self.settings)}

    def steps(self, limit: int | None, lost: bool = False) -> None:
        """Serve and commit `limit` steps, or all that are left."""
        found = self.trace.legs[-1]
        # A run that goes on and on is cut off, and the checks see that it did.
        most = 2 * (self.settings.length // self.leg.batch_size) + 8
        done = 0
        while not found.ended and not found.ended_early and (limit is None or done < limit):
            if done >= most:
                found.endless = True
                return
            if (step := self.begin()) is None:
                return
            self.ask({"do": "commit"})
            found.steps.append(replace(step, lost=lost))
            self.consumed += self.leg.batch_size
            done += 1

    def save(self) -> None:
        """Collect the states of all ranks for the next leg."""
        saved = self.ask({"do": "save"})
        for rank, (_, frames) in zip(self.ranks, saved, strict=True):
            if len(frames) != 1:
                raise DriverFault("V2", f"answered save with {len(frames) or 'no'} states", rank.number)
            if frames[0].dtype != np.uint8 or frames[0].ndim != 1:
                raise DriverFault("V2", f"answered save with {frames[0].dtype} {frames[0].shape} for bytes", rank.number)
        states = [frames[0] for _, frames in saved]
        # A case that was made smaller may have fewer processes than the one that it names.
        self.states = states if self.leg.state_of is None else [states[min(self.leg.state_of, len(states) - 1)]]

    def save_inside(self) -> None:
        """Collect the states while a step is begun; a loader may keep to saving between steps, and then has none that could be wrong."""
        try:
            self.save()
        except Refused as refused:
            raise NotApplicable(f"saves between steps only: {refused.reason}") from None

    def ask(self, request: dict[str, Any], ranks: Sequence[Rank] | None = None) -> list[tuple[Any, list[Array]]]:
        """Ask every rank (or some) the same, and return what each replied."""
        asked = self.ranks if ranks is None else ranks
        for rank in asked:
            rank.ask(request)
        return self._hear(asked, request["do"])

    def begin(self) -> StepTrace | None:
        """Ask every rank for its next step, and commit nothing; None where the run is over on any of them, and the trace says on which."""
        leg, seq_len = self.leg, self.settings.seq_len
        batches = [
            None if value is None else step_of(value, frames, leg, seq_len, rank.number)
            for rank, (value, frames) in zip(self.ranks, self.ask({"do": "next"}), strict=True)
        ]
        found = self.trace.legs[-1]
        ended = [rank.number for rank, batch in zip(self.ranks, batches, strict=True) if batch is None]
        if ended:
            found.ended = len(ended) == len(batches)
            found.ended_early = [] if found.ended else ended
            return None
        return StepTrace(self.consumed, [batch for batch in batches if batch is not None])

    def _hear(self, ranks: Sequence[Rank], verb: str) -> list[tuple[Any, list[Array]]]:
        leg = self.trace.legs[-1]
        found: list[tuple[Any, list[Array]]] = []
        reasons: list[Refused | Failed] = []
        for rank in ranks:
            try:
                found.append(rank.reply())
            except Refusal as reason:
                reasons.append(Refused(leg.number, verb, str(reason)))
            except LoaderError as reason:
                reasons.append(Failed(leg.number, len(leg.steps), verb, str(reason)))
        if reasons:
            raise reasons[0]
        return found

    def close(self) -> None:
        """Close every loader, and end its process; raises DriverFault for one that runs on."""
        self.ask({"do": "close"})
        seconds = self.bench.door.limit
        if late := self._end(seconds):
            raise DriverFault("V2", f"was closed, and still ran {seconds:g} s after the end of its standard input", late[0])

    def _end(self, seconds: float) -> list[int]:
        ranks, self.ranks = self.ranks, []
        return end_all(ranks, seconds)
