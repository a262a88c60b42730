"""Where cases are played: corpora are written, ranks started, legs run, and everything that was received is kept."""

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from .case import INSIDE, KILL, Case, Leg, settings_from
from .corpora import CorpusSpec, Identity
from .doors import Door, Rank
from .driver import Array, Layout, Refusal, Settings
from .replies import DriverFault, LoaderError
from .shapes import step_of
from .trace import LegTrace, StepTrace, Trace


@dataclass(frozen=True)
class Declaration:
    """What a driver says of its loader."""

    promises: frozenset[str]
    stride: str
    version: str


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


class Bench:
    """Plays cases through one door. Corpora are written once and shared; every play has a folder of its own."""

    def __init__(self, door: Door) -> None:
        """Make the folder in which everything happens; `close` removes it."""
        self.door = door
        self.folder = Path(tempfile.mkdtemp(prefix="fivepoint-conformance-"))
        self.plays = 0
        self._declared: Declaration | None = None

    def __enter__(self) -> "Bench":
        """Return the bench, closed at the end of the `with` block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Remove all files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def declaration(self) -> Declaration:
        """Return what the driver promises, asked once; raises DriverFault for an answer that is none."""
        if self._declared is None:
            self._declared = self._ask_declaration()
        return self._declared

    def _ask_declaration(self) -> Declaration:
        ranks = self.door.open([Layout(0, 1, 1)], self._new_folder(), {}, False)
        try:
            found = _all(ranks, {"do": "declare"})[0][0]
            return Declaration(frozenset(found["promises"]), found["stride"], str(found["version"]))
        except (KeyError, TypeError, LoaderError, Refusal) as reason:
            raise DriverFault("V3", f"declares no promises, stride and version: {reason}") from reason
        finally:
            ranks[0].end()

    def corpora(self, specs: Sequence[CorpusSpec]) -> Path:
        """Return the folder with the corpora, which is shared by all plays: whoever damages one copies it first."""
        name = hashlib.sha256(repr(tuple(specs)).encode()).hexdigest()[:16]
        if not (self.folder / name).exists():
            unfinished = self.folder / f"{name}.tmp"
            Identity(specs).write(unfinished)
            unfinished.rename(self.folder / name)
        return self.folder / name

    def play(self, case: Case, corpus: Path | None = None) -> Trace:
        """Run all legs of a case and return what was served; `corpus` is a folder to use in place of the case's own.

        Raises Refused, Failed or DriverFault where a rank refuses, fails, or is not heard of.
        """
        self.plays += 1
        with Play(self, case, corpus or self.corpora(case.corpora), self._new_folder()) as play:
            for leg in case.legs:
                play.run(leg)
            return play.trace

    def _new_folder(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="play-", dir=self.folder))


class Play:
    """One case on its way through its legs. Checks that need more than steps (`where`, `log`, a damaged file) drive it leg by leg."""

    def __init__(self, bench: Bench, case: Case, corpus: Path, workdir: Path) -> None:
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
        self._end()
        shutil.rmtree(self.workdir, ignore_errors=True)

    def run(self, leg: Leg) -> LegTrace:
        """Run a leg from the states of the one before to its stop, and return what it served."""
        self.open(leg)
        found = self.trace.legs[-1]
        self.steps(leg.steps)
        if leg.stop == INSIDE and not found.ended and (step := self.begin()) is not None:
            found.steps.append(replace(step, committed=False))
        if leg.steps is not None or leg.stop != "save":
            self.save()
        if leg.stop == KILL:
            saved = self.consumed
            self.steps(leg.ahead, lost=True)
            self.consumed = saved
            for rank in self.ranks:
                rank.kill()
        else:
            self.ask({"do": "close"})
        self._end()
        return found

    def open(self, leg: Leg) -> None:
        """Start the ranks of a leg and build their loaders."""
        self.settings = settings_from(asdict(self.settings) | leg.settings)
        self.leg = leg
        self.trace.legs.append(LegTrace(len(self.trace.legs), leg, self.consumed))
        self.ranks = self.bench.door.open(leg.layouts(), self.workdir, leg.environment, leg.fresh or leg.stop == KILL)
        where = {"corpus": str(self.corpus), "workdir": str(self.workdir), "settings": asdict(self.settings)}
        if len(self.trace.legs) == 1:
            self.ask({"do": "prepare", **where}, self.ranks[:1])
        for rank, layout in zip(self.ranks, leg.layouts(), strict=True):
            self._send(rank, {"do": "build", **where, "layout": asdict(layout)}, self.states)
        self._hear(self.ranks, "build")

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
        if silent := [rank.number for rank, (_, frames) in zip(self.ranks, saved, strict=True) if not frames]:
            raise DriverFault("V2", "answered save with no state", silent[0])
        states = [frames[0] for _, frames in saved]
        self.states = states if self.leg.state_of is None else [states[self.leg.state_of]]

    def ask(self, request: dict[str, Any], ranks: Sequence[Rank] | None = None) -> list[tuple[Any, list[Array]]]:
        """Ask every rank (or some) the same, and return what each replied."""
        asked = self.ranks if ranks is None else ranks
        for rank in asked:
            self._send(rank, request, ())
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

    def _send(self, rank: Rank, request: dict[str, Any], frames: Sequence[Array]) -> None:
        rank.ask(request, frames)

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

    def _end(self) -> None:
        for rank in self.ranks:
            rank.end()
        self.ranks = []


def _all(ranks: Sequence[Rank], request: dict[str, Any]) -> list[tuple[Any, list[Array]]]:
    for rank in ranks:
        rank.ask(request)
    return [rank.reply() for rank in ranks]
