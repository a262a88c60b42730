"""Data for a training loop that records what it was served, and the recording of what a driver serves (formats.md, F7)."""

import json
from pathlib import Path

from ...errors import UsageError
from ...reference.files import write_whole
from ..bench import Bench, Failed, Refused
from ..case import Case
from ..cases import mixture
from ..corpora import Identity
from ..doors import Door
from ..doors.replies import DriverFault
from ..trace import Trace
from . import record as recorder


def example() -> Case:
    """Return what is recorded where no case is given: two sources, more than an epoch of each."""
    case = mixture({"large": 60, "small": 40}, {"large": "0.6", "small": "0.4"}, 150, seq_len=16)
    return case.with_settings(boundaries=True)


def write_data(folder: Path, case: Case) -> None:
    """Write the corpora of a case into `folder`/corpus, and case.json beside them."""
    if not (folder / "corpus").exists():
        Identity(case.corpora).write(folder / "corpus")
    elif (folder / "case.json").exists() and Case.from_json((folder / "case.json").read_text(encoding="utf-8")) != case:
        raise UsageError(f"expected {folder} to be empty or to hold this case, found another; choose another folder")
    write_whole(folder / "case.json", (case.to_json() + "\n").encode())


def record(folder: Path, case: Case, door: Door) -> list[Path]:
    """Play a case through a door and write a file for each process on each leg; raises UsageError where it cannot be played."""
    with Bench(door) as bench:
        try:
            declared = bench.declaration()
            trace = bench.play(case)
        except (DriverFault, Failed, Refused) as reason:
            raise UsageError(f"expected a run of the case to record, found {type(reason).__name__.lower()}: {reason}") from reason
    return write_trace(folder, "run", trace, sorted(declared.promises), declared.stride)


def write_trace(folder: Path, run: str, trace: Trace, promises: list[str], stride: str = "L") -> list[Path]:
    """Write a trace as the files of its processes, and return them."""
    written = []
    case = json.loads(trace.case.to_json())
    for leg in trace.legs:
        for number, place in enumerate(leg.leg.layouts()):
            path = folder / f"{run}-leg{leg.number}-rank{number}.trace"
            file = recorder.start(
                path,
                case,
                place.dp_rank,
                place.dp_size,
                place.micro_batch,
                place.accumulation,
                run=run,
                leg=leg.number,
                consumed=leg.start,
                peer=place.peer,
                tp=place.tp,
                pp=place.pp,
                cp=place.cp,
                promises=promises,
                stride=stride,
            )
            for step in leg.steps:
                recorder.record(file, step.batches[number], step.committed)
            recorder.finish(file, leg.ended or number in leg.ended_early)
            written.append(path)
    return written
