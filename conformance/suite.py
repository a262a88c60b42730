"""Runs checks on a loader and collects their findings."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from ..errors import UsageError
from . import checks
from .asking import asked, beyond, narrowed
from .bench import Bench, Declaration, Failed, Refused
from .case import Case
from .doors.replies import DriverFault
from .driver import MUSTS, PROMISES
from .registry import CHECKS, QUICK, Check, Scale
from .shapes import Short
from .shrink import kind, smallest
from .strides import fitted
from .verdict import BROKEN, ERROR, HOLDS, NOT_APPLICABLE, OVER, REFUSAL, REFUSED, WORST_FIRST, Broken, Finding, NotApplicable

WHOLE = "C2.5"
"""The clause that says that steps are whole."""
SHRINKING = 15.0
"""Seconds for making a failing case smaller."""
GIVE_UP = 3
"""Checks that may find the driver at fault (V1, V2), which can cost the time limit each, before the rest is left out.

Where one of the driver's own checks does, in the simplest case, there is nothing to be said of the loader.
"""


class Budget:
    """Seconds for a whole run: each check that is left may take an equal share of what is left, and its first case whatever that takes."""

    def __init__(self, seconds: float, checks: int) -> None:
        self._end, self._left = time.monotonic() + seconds, checks

    def share(self) -> float:
        """Return the moment at which the next check should be done; one that has passed, where nothing is left."""
        self._left -= 1
        return time.monotonic() + (self._end - time.monotonic()) / (self._left + 1)


def collected(select: Sequence[str] = ()) -> list[Check]:
    """Return the checks in order of their clauses; `select` keeps those whose id, clause or chapter is named."""
    checks.load()
    wanted = [check for check in CHECKS.values() if not select or any(_named(check, name) for name in select)]
    chapters = ["V", "D0", "C1", "C2", "C3", "C4", "C5"]

    def place(check: Check) -> tuple[int, int]:
        chapter, _, number = check.clause.partition(".")
        return chapters.index(chapter[:2] if number else "V"), int(number or chapter[1:])

    return sorted(wanted, key=place)


def selected(select: Sequence[str]) -> list[Check]:
    """Return what `collected` does; raises UsageError where a name is that of no check, clause or chapter."""
    if unknown := [name for name in select if not collected([name])]:
        raise UsageError(f"expected clauses, chapters or checks, found {', '.join(unknown)}; fivepoint conform --list shows them")
    return collected(select)


def run(
    bench: Bench,
    select: Sequence[str] = (),
    mode: str = QUICK,
    seed: int = 0,
    report: Callable[[Finding], None] = lambda finding: None,
    shrinking: float = SHRINKING,
    budget: float | None = None,
) -> list[Finding]:
    """Return the finding of every selected check; `report` hears of each as it is made, `shrinking` is the time for each that fails.

    `budget` is the time for all: cases that it has no room for are left out, and the findings say so.
    """
    findings: list[Finding] = []
    try:
        declared = declaration(bench)
    except DriverFault as fault:
        findings.append(undeclared(fault))
        report(findings[0])
        return findings
    patience = Patience()
    checks = collected(select)
    clock = Budget(budget if budget is not None else float("inf"), len(checks))

    def judged(check: Check) -> Finding:
        return judge(bench, check, declared, mode, seed, shrinking, until=clock.share())

    for check in checks:
        findings.append(patience.finding(check, judged))
        report(findings[-1])
    return findings


class Patience:
    """Leaves checks out once the driver was found at fault too often."""

    def __init__(self) -> None:
        self.faults: list[Finding] = []

    def finding(self, check: Check, judged: Callable[[Check], Finding]) -> Finding:
        """Return what a check finds, or that it was given up."""
        if len(self.faults) >= GIVE_UP or any(fault.check.startswith("V") for fault in self.faults):
            last = self.faults[-1]
            return Finding(check.id, check.clause, NOT_APPLICABLE, f"given up: {last.check} found {last.clause} broken")
        found = judged(check)
        if found.verdict == BROKEN and found.clause in ("V1", "V2"):
            self.faults.append(found)
        return found


def declaration(bench: Bench) -> Declaration:
    """Return what the driver declares; raises DriverFault for what cannot be understood."""
    declared = bench.declaration()
    unknown = sorted(map(str, declared.promises - PROMISES.keys()))
    if unknown or declared.stride not in ("L", "L+1"):
        raise DriverFault("V3", f"declares unknown promises {', '.join(unknown) or 'none'} and stride {declared.stride!r}")
    return declared


def declared_or_none(bench: Bench) -> Declaration | None:
    """Return what the driver declares, None where that cannot be understood."""
    try:
        return declaration(bench)
    except DriverFault:
        return None


def undeclared(fault: DriverFault) -> Finding:
    """Return the finding that stands for all others where the driver declares nothing that can be understood."""
    where = {} if fault.rank is None else {"rank": fault.rank}
    return Finding(f"{fault.must}/declaration", fault.must, BROKEN, expected="promises, stride and version", got=fault.found, where=where)


def replay(bench: Bench, check: Check, case: Case) -> Finding:
    """Return the finding of a check on one case, as `run` found it before."""
    start = time.monotonic()
    try:
        declared = declaration(bench)
    except DriverFault as fault:
        return undeclared(fault)
    return replace(attempt(bench, check, case, declared), seconds=time.monotonic() - start)


def judge(
    bench: Bench,
    check: Check,
    declared: Declaration,
    mode: str = QUICK,
    seed: int = 0,
    shrinking: float = SHRINKING,
    most: int | None = None,
    until: float = float("inf"),
) -> Finding:
    """Return the finding of one check: broken at its first case that fails, which is made smaller.

    `most` cases are looked at, and no further one is begun after the moment `until`.
    """
    if missing := sorted(check.needs - declared.promises):
        return Finding(check.id, check.clause, REFUSED, f"does not promise {', '.join(missing)}")
    scale = Scale(mode, random.Random(f"{seed} {check.id}"))
    start = time.monotonic()
    if start >= until:
        return Finding(check.id, check.clause, NOT_APPLICABLE, OVER)
    best = Finding(check.id, check.clause, NOT_APPLICABLE, "has no case")
    for number, case in enumerate(islice(check.cases(scale), most)):
        if number and time.monotonic() >= until:
            best = replace(best, reason="; ".join(said for said in (best.reason, OVER) if said))
            break
        case = fitted(case, declared.stride)
        found = attempt(bench, check, case, declared)
        if found.verdict == REFUSED and "layout" not in declared.promises and (narrow := narrowed(case)) != case:
            # Who serves one sample a step and no more is still judged on that.
            found = attempt(bench, check, narrow, declared)
        if found.verdict == BROKEN and check.timed:
            # Whatever else the machine did meanwhile is no fault of the loader's.
            found = attempt(bench, check, Case.from_json(found.case), declared)
        if found.verdict == BROKEN:
            best = shrunk(bench, check, found, declared, min(shrinking, until - time.monotonic()))
            break
        # Of equal verdicts the later: that there is no case is said only where there was none.
        best = min(found, best, key=lambda finding: WORST_FIRST.index(finding.verdict))
    return replace(best, seconds=time.monotonic() - start)


def attempt(bench: Bench, check: Check, case: Case, declared: Declaration) -> Finding:
    """Return the finding of a check on one case."""
    if missing := sorted(asked(case, declared.stride) - declared.promises):
        return Finding(check.id, check.clause, REFUSED, f"does not promise {', '.join(missing)}")
    return tried(bench, check, case, declared)


def tried(bench: Bench, check: Check, case: Case, declared: Declaration) -> Finding:
    """Return the finding of a check on one case that is to be served; raises OutputError where the disk was full."""
    found = _tried(bench, check, case, declared)
    if found.verdict == BROKEN:
        bench.expect_room()
    return found


def _tried(bench: Bench, check: Check, case: Case, declared: Declaration) -> Finding:
    made = Finding(check.id, check.clause, BROKEN, case=case.to_json())
    try:
        check.judge(bench, case)
    except Broken as broken:
        return replace(made, expected=broken.expected, got=broken.got, where=broken.where)
    except NotApplicable as reason:
        return Finding(check.id, check.clause, NOT_APPLICABLE, str(reason))
    except Refused as refused:
        if more := beyond(case, declared.promises, declared.stride):
            return Finding(check.id, check.clause, REFUSED, f"refuses {' and '.join(more)}: {refused.reason}")
        # A promise was made for all that the check needs, or everybody serves it: to refuse it now is to break it.
        got = f"{REFUSAL} of {refused.verb}: {refused.reason}"
        return replace(
            made, expected=f"what is promised ({', '.join(sorted(check.needs)) or 'to serve'})", got=got, where={"leg": refused.leg}
        )
    except Failed as failed:
        where = {"leg": failed.leg, "step": failed.step}
        return replace(made, expected=f"an answer to {failed.verb}", got=f"{ERROR}, {failed.found}", where=where)
    except Short as short:
        if check.clause not in ("V1", WHOLE):
            return Finding(check.id, check.clause, NOT_APPLICABLE, f"gave {short}, which {WHOLE} judges")
        expected, got = f"{short.asked} rows in each step", f"{short.found} rows in one of them"
        return replace(made, expected=expected, got=got, where={"rank": short.rank})
    except DriverFault as fault:
        return replace(made, clause=fault.must, expected=str(fault).partition(" Found: ")[0], got=fault.found, where={"rank": fault.rank})
    return Finding(check.id, check.clause, HOLDS)


def shrunk(bench: Bench, check: Check, found: Finding, declared: Declaration, seconds: float = SHRINKING) -> Finding:
    """Return the finding on the smallest case that breaks the same clause."""
    if found.clause == "V2" or check.measures:
        # Every attempt could cost the time limit; and what is measured on less is a smaller difference.
        return found

    def still_broken(case: Case) -> Finding | None:
        again = attempt(bench, check, case, declared)
        # A smaller case may be rightly refused, or be too small for the loader: that would prove another thing.
        same = again.verdict == BROKEN and again.clause == found.clause and kind(again) == kind(found)
        return again if same else None

    return smallest(found, still_broken, seconds)


def _named(check: Check, name: str) -> bool:
    return name in (check.id, check.clause, "V" if check.clause in MUSTS else check.clause.partition(".")[0])
