"""Reads recorded traces (formats.md, F7), and puts the files of a run's processes together."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from ...errors import UsageError
from ...reference.schema import validate
from ..bench import Declaration
from ..case import Case, Leg
from ..doors.replies import DriverFault
from ..doors.wire import Rubbish, receive
from ..driver import PROMISES, Layout, MicroBatch
from ..reading import MOST_PROCESSES, case_from
from ..shapes import Short, step_of
from ..trace import LegTrace, StepTrace, Trace


@dataclass
class Recording:
    """The file of one process on one leg of a run."""

    path: Path
    header: dict[str, Any]
    case: Case
    layout: Layout
    steps: list[tuple[bool, list[MicroBatch]]] = field(default_factory=list)
    """Whether each step was committed, and its micro-batches."""
    ended: bool = False
    """Whether the loader said that the run is over."""
    short: Short | None = None
    """The step with which reading ended, if it was smaller than asked for: what a loader does where its data run out (C2.5)."""

    @property
    def leg(self) -> Leg:
        """Return the leg, as a case describes it."""
        own = self.layout
        return Leg(own.dp_size, own.micro_batch, own.accumulation, tp=own.tp, pp=own.pp, cp=own.cp)


def read(path: Path) -> Recording:
    """Return what a file holds; a last message that a crash tore is left out. Raises UsageError for anything else that is no trace."""
    try:
        with path.open("rb") as file:
            return _read(path, file)
    except (OSError, Rubbish, DriverFault) as reason:
        said = reason.found if isinstance(reason, DriverFault) else reason
        raise UsageError(f"expected a recorded trace at {path}: {said}") from reason


def _read(path: Path, file: BinaryIO) -> Recording:
    header = _message(file)
    if header is None:
        raise Rubbish("found no header")
    value = {name: held for name, held in header[0].items() if name != "frames"}
    validate(value, "trace", str(path), UsageError)
    try:
        case = case_from(value["case"])
    except ValueError as reason:
        raise Rubbish(f"its case is none: {reason}") from reason
    found = Recording(path, value, case, Layout(**value["layout"]))
    if found.layout.dp_size * found.layout.peers > MOST_PROCESSES:
        raise Rubbish(f"expected at most {MOST_PROCESSES} processes, found {found.layout.dp_size * found.layout.peers}")
    while (message := _message(file)) is not None:
        said, frames = message
        if "ended" in said:
            found.ended = True
        else:
            step = said["step"] if isinstance(said.get("step"), dict) else {}
            try:
                batches = step_of(step.get("micro_batches"), frames, found.leg, case.settings.seq_len, found.layout.rank)
            except Short as short:
                if not found.steps:
                    # Of the first step it is likelier that the file says another size than the loop had.
                    raise Rubbish(f"its first is {short}") from short
                found.short = short
                return found
            found.steps.append((bool(step.get("committed")), batches))
    return found


def _message(file: BinaryIO) -> tuple[dict[str, Any], list[Any]] | None:
    """Return the next message, None at the end of the file or of what is whole."""

    def line() -> bytes:
        read = file.readline()
        return read if read.endswith(b"\n") else b""

    def exactly(size: int) -> bytes:
        read = file.read(size)
        if len(read) < size:
            raise EOFError
        return read

    try:
        return receive(line, exactly)
    except EOFError:
        return None


def traces(recordings: Iterable[Recording]) -> list[Trace]:
    """Return the runs that the recordings make up; raises UsageError where a process of a run is missing or two contradict each other."""
    runs: dict[str, list[Recording]] = defaultdict(list)
    for recording in recordings:
        runs[recording.header["run"]].append(recording)
    return [_run(name, held) for name, held in runs.items()]


def declared(recordings: Sequence[Recording]) -> Declaration:
    """Return what the recordings promise, which must be one and the same."""
    found = {(tuple(recording.header["promises"]), recording.header["stride"]) for recording in recordings}
    if len(found) != 1:
        raise UsageError(f"expected traces with the same promises and stride, found {sorted(found)}")
    ((promises, stride),) = found
    if unknown := sorted(set(promises) - PROMISES.keys()):
        raise UsageError(f"expected promises that DRIVERS.md lists, found {', '.join(unknown)} in {recordings[0].path}")
    return Declaration(frozenset(promises), stride, "")


def _run(name: str, recordings: Sequence[Recording]) -> Trace:
    legs: dict[int, list[Recording]] = defaultdict(list)
    for recording in recordings:
        legs[recording.header["leg"]].append(recording)
        if recording.case != recordings[0].case:
            raise UsageError(f"expected one case in run {name!r}, found others in {recordings[0].path} and {recording.path}")
    if sorted(legs) != list(range(len(legs))):
        raise UsageError(f"expected the legs of run {name!r} from 0 on, found {', '.join(map(str, sorted(legs)))}; give all of its files")
    found = [_leg(name, number, legs[key]) for number, key in enumerate(sorted(legs))]
    ends = {0}
    if short := next((leg for leg in found if leg.short), None):
        # What was served after a step of another size has no place that the suite could know.
        found = found[: short.number + 1]
    for before, leg in zip([None, *found], found, strict=False):
        if leg.start not in ends:
            raise UsageError(f"expected leg {leg.number} of run {name!r} to begin at the end of a step before it, found {leg.start}")
        for step in before.steps if before else ():
            step.lost = step.consumed >= leg.start
        ends |= {step.consumed + leg.leg.batch_size for step in leg.steps if step.committed} | {leg.start}
    case = recordings[0].case.with_legs(*(leg.leg for leg in found))
    return Trace(case, found)


def _leg(name: str, number: int, recordings: Sequence[Recording]) -> LegTrace:
    ordered = sorted(recordings, key=lambda recording: recording.layout.rank)
    first = ordered[0]
    have = [recording.layout for recording in ordered]
    starts = {recording.header["consumed"] for recording in ordered}
    if have != first.leg.layouts() or len(starts) != 1:
        places = ", ".join(
            f"process {recording.layout.rank} of {len(recording.leg.layouts())} in {recording.path}" for recording in ordered
        )
        raise UsageError(f"expected a file of each process on leg {first.header['leg']} of run {name!r}, from one start, found {places}")
    found = LegTrace(number, first.leg, starts.pop())
    consumed = found.start
    # A step counts where every process has it: of what some had begun when others were killed, nothing was committed.
    for index in range(min(len(recording.steps) for recording in ordered)):
        taken = [recording.steps[index] for recording in ordered]
        found.steps.append(StepTrace(consumed, [batches for _, batches in taken], all(committed for committed, _ in taken)))
        consumed += found.leg.batch_size * found.steps[-1].committed
    found.ended = all(recording.ended for recording in ordered)
    longest = max(len(recording.steps) for recording in ordered)
    found.ended_early = [each.layout.rank for each in ordered if each.ended and len(each.steps) < longest]
    found.short = next((each.short for each in ordered if each.short), None)
    if found.short:
        found.ended, found.ended_early = False, []
    if not found.ended:
        found.leg = replace(found.leg, steps=sum(step.committed for step in found.steps))
    return found
