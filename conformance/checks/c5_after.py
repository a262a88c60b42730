"""C5, what a loader leaves: threads, processes and files, when it is closed and when its process ends."""

import time
from collections.abc import Iterable
from contextlib import suppress

from ..bench import Bench, Failed, Refused
from ..case import Case, Leg
from ..cases import one_source
from ..doors import procfs
from ..doors.process import Process
from ..measuring import started
from ..registry import Scale, check
from ..verdict import Broken, NotApplicable

GRACE = 15.0
"""Seconds that what a rank started may run on after it: common workers look every five whether their parent lives."""


def abandoned(scale: Scale) -> Iterable[Case]:
    """A run that is left after a few steps, with two workers and without."""
    for workers in (2, 0):
        yield one_source(40, leg=Leg(1, 2, workers=workers))


@check("C5.3", "after-close", abandoned, faults=(60,))
def after_close(bench: Bench, case: Case) -> None:
    """Opened, asked for a step and closed again and again in one process: no threads, processes or files are left by each."""
    leg = case.legs[0]
    with bench.open(case) as play:
        rank = started(play, leg)
        found: list[dict[str, int]] = []
        for cycle in range(4):
            try:
                play.build()
            except (Failed, Refused) as reason:
                if cycle == 0:
                    raise
                raise NotApplicable(f"cannot be built again after close: {reason}") from None
            play.begin()
            play.ask({"do": "close"})
            found.append(_settled(rank, found[-1] if found else None))
        for what, first in found[1].items():
            if first < found[2][what] < found[3][what]:
                raise Broken(f"no {what} left after close", f"{first}, {found[2][what]} and {found[3][what]} after 2, 3 and 4 times", leg=0)


def _settled(rank: Process, before: dict[str, int] | None) -> dict[str, int]:
    """Return what a rank and its children hold, after a while in which it may come down to what it was before."""
    for _ in range(40):
        members = rank.members()
        found = {"threads": procfs.threads(members), "processes": len(members), "files": len(procfs.files(members))}
        if before is None or all(found[what] <= before[what] for what in found):
            break
        time.sleep(0.05)
    return found


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
            elif not rank.leave(10):
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
