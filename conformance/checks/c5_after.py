"""C5, what a loader leaves: threads, processes, files and shared memory, when it is closed and when its process ends."""

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from ..bench import Bench, Failed, Play, Refused
from ..case import Case, Leg
from ..cases import one_source
from ..doors import procfs
from ..doors.process import Process
from ..measuring import started
from ..registry import Scale, check
from ..verdict import Broken, NotApplicable

GRACE = 15.0
"""Seconds that what a rank started may run on after it: common workers look every five whether their parent lives."""
SEGMENTS = "segments of shared memory"
SHARED = "/dev/shm"


def abandoned(scale: Scale) -> Iterable[Case]:
    """A run that is left after a few steps, with two workers and without."""
    for workers in (2, 0):
        yield one_source(40, leg=Leg(1, 2, workers=workers))


def _cycle(play: Play) -> None:
    play.build()
    play.begin()
    play.ask({"do": "close"})


@check("C5.3", "after-close", abandoned, faults=(60,))
def after_close(bench: Bench, case: Case) -> None:
    """Opened, asked for a step and closed again and again in one process: nothing is left by each."""

    with _alone(bench, case) as (play, rank, temporary):
        _expect_nothing_left(play, rank, temporary, _cycle, "close")


def left_and_resumed(scale: Scale) -> Iterable[Case]:
    """A run that was stopped after a few steps, and is taken up and left."""
    yield one_source(40, leg=Leg(1, 2, steps=3))


@check("C5.3", "after-a-resume", left_and_resumed, needs="resume", faults=(60,))
def after_a_resume(bench: Bench, case: Case) -> None:
    """The same from a saved state, and with a step that is never committed."""

    with _alone(bench, case) as (play, rank, temporary):
        play.build()
        play.steps(case.legs[0].steps)
        play.save()
        play.ask({"do": "close"})
        _expect_nothing_left(play, rank, temporary, _cycle, "a resume and close")


@check("C5.3", "after-a-failure", abandoned, faults=(60,))
def after_a_failure(bench: Bench, case: Case) -> None:
    """A loader that cannot be built, for its corpora are gone, leaves nothing of what it had begun."""

    def cycle(play: Play) -> None:
        with suppress(Failed, Refused):
            play.build()
            raise NotApplicable("is built without its corpora")
        with suppress(Failed, Refused):
            play.ask({"do": "close"})

    with _alone(bench, case) as (play, rank, temporary):
        play.corpus = temporary.parent / "nothing"
        play.corpus.mkdir()
        _expect_nothing_left(play, rank, temporary, cycle, "a build that failed")


@contextmanager
def _alone(bench: Bench, case: Case) -> Iterator[tuple[Play, Process, Path]]:
    """Start a case in a rank of its own, with a folder of its own for temporary files."""
    with tempfile.TemporaryDirectory(prefix="temporary-", dir=bench.folder) as folder, bench.open(case) as play:
        temporary = Path(folder) / "tmp"
        temporary.mkdir()
        yield play, started(play, replace(case.legs[0], environment={"TMPDIR": str(temporary)})), temporary


def _expect_nothing_left(play: Play, rank: Process, temporary: Path, cycle: Callable[[Play], None], after: str) -> None:
    """Raise Broken where every cycle leaves more behind; the first may leave what is used again."""
    found: list[dict[str, int]] = []
    made: set[str] = set()
    for number in range(4):
        before = _segments()
        try:
            cycle(play)
        except (Failed, Refused) as reason:
            if number == 0:
                raise
            raise NotApplicable(f"cannot be built again after close: {reason}") from None
        # Segments have no owner but the user: what comes while the loader is asked for nothing is somebody else's.
        made |= _segments() - before
        found.append(_settled(rank, temporary, made, found[-1] if found else None))
    for what, first in found[1].items():
        if first < found[2][what] < found[3][what]:
            raise Broken(f"no {what} left after {after}", f"{first}, {found[2][what]} and {found[3][what]} after 2, 3 and 4 times", leg=0)


def _settled(rank: Process, temporary: Path, segments: set[str], before: dict[str, int] | None) -> dict[str, int]:
    """Return what a rank and its children hold, after a while in which it may come down to what it was before."""
    for _ in range(40):
        members = rank.members()
        found = {
            "threads": procfs.threads(members),
            "processes": len(members),
            "open files": len(procfs.files(members)),
            "temporary files": sum(1 for _ in temporary.rglob("*")),
            SEGMENTS: _left(_segments() & segments, members),
        }
        if before is None or all(found[what] <= before[what] for what in found):
            break
        time.sleep(0.05)
    return found


def _left(segments: set[str], members: list[int]) -> int:
    """Return the number of segments that may be the rank's: what another process has mapped, or open, is not."""
    if not segments:
        return 0
    others = set(procfs.running()) - set(members)
    return len(segments - procfs.mapped(others) - set(procfs.files(others)))


def _segments() -> set[str]:
    """Return the paths of the segments of shared memory that the user owns."""
    with suppress(OSError), os.scandir(SHARED) as entries:
        return {entry.path for entry in entries if _own(entry)}
    return set()


def _own(entry: "os.DirEntry[str]") -> bool:
    with suppress(OSError):
        return entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid()
    return False


@check("C5.3", "after-its-process", abandoned, faults=(60,))
def after_its_process(bench: Bench, case: Case) -> None:
    """Whether it was closed, left or killed: the process ends, and nothing that it started runs on."""
    leg = case.legs[0]
    ways = ("closed", "left without close", "killed")
    for how in ways if leg.workers or "workers" not in bench.declaration().promises else ways[1:2]:
        with bench.open(case) as play:
            rank = started(play, leg)
            play.build()
            play.begin()
            if how == "closed":
                play.ask({"do": "close"})
            if how == "killed":
                rank.kill_alone()
            elif not rank.leave(bench.door.limit):
                raise Broken("the process of a rank to end when its standard input does", f"it to run on, after it was {how}", rank=0)
            if strays := _strays(rank):
                expected = f"nothing to outlive the process of a rank by {GRACE:.0f} s"
                raise Broken(expected, f"{' '.join(strays)} to run on, after it was {how}", rank=0)


def _strays(rank: Process) -> list[str]:
    end = time.monotonic() + GRACE
    while members := rank.members():
        if time.monotonic() > end:
            break
        time.sleep(0.05)
    return [f"process {member}, a child of the rank{_called(member)}," for member in members]


def _called(process: int) -> str:
    """Return the name of what a process runs, in brackets."""
    with suppress(OSError):
        return f" ({(procfs.PROC / str(process) / 'comm').read_text(errors='replace').strip()})"
    return ""
