"""Drivers at fault are named through both doors; what ranks leave, and what others leave beside them, is told apart."""

import inspect
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fivepoint.conformance.bench import Bench
from fivepoint.conformance.broken import c5, drivers, speakers
from fivepoint.conformance.case import Leg
from fivepoint.conformance.cases import one_source
from fivepoint.conformance.doors import InProcess, Processes, host_command, procfs
from fivepoint.conformance.doors.process import MARK
from fivepoint.conformance.measuring import started
from fivepoint.conformance.suite import run
from fivepoint.conformance.verdict import BROKEN, HOLDS, Finding

pytestmark = pytest.mark.slow
MUSTS = ("V1", "V2", "V3")
DRIVERS = {
    f"{drivers.__name__}:{name}": kind
    for name, kind in inspect.getmembers(drivers, inspect.isclass)
    if kind.__module__ == drivers.__name__ and kind.clause
}


def findings(name: str, *select: str) -> tuple[Finding, ...]:
    """Return what the quick mode finds in a loader inside this process, with nothing made smaller."""
    with Bench(InProcess(name, 30)) as bench:
        return tuple(run(bench, select, shrinking=0))


def broken(found: tuple[Finding, ...]) -> set[str]:
    """Return the clauses that were found broken."""
    return {finding.clause for finding in found if finding.verdict == BROKEN}


@pytest.mark.parametrize("name", DRIVERS)
def test_a_driver_at_fault_is_named_in_a_process(name: str) -> None:
    kind = DRIVERS[name]
    with Bench(Processes(host_command(name), 8)) as bench:
        found = tuple(run(bench, MUSTS if kind.clause in MUSTS else (kind.clause,), shrinking=0))
    assert kind.clause in broken(found)


@pytest.mark.parametrize("fault", speakers.FAULTS)
def test_a_process_that_speaks_wrongly_gets_a_verdict(fault: str) -> None:
    command = [sys.executable, "-P", "-m", speakers.__name__, fault]
    with Bench(Processes(command, 4)) as bench:
        start = time.monotonic()
        found = tuple(run(bench, MUSTS, shrinking=0))
    assert broken(found) & set(MUSTS), found
    assert time.monotonic() - start < 60


def test_a_command_that_does_not_exist_gets_a_verdict() -> None:
    with Bench(Processes(["/no/such/loader"])) as bench:
        assert broken(tuple(run(bench))) == {"V2"}


def test_a_driver_that_hangs_costs_one_time_limit() -> None:
    name = f"{drivers.__name__}:Hangs"
    start = time.monotonic()
    with Bench(InProcess(name, 1)) as bench:
        found = run(bench)
    assert time.monotonic() - start < 30
    assert [finding.check for finding in found if finding.verdict == BROKEN] == ["V1/steps"]


def test_what_a_rank_started_is_found_in_another_session_and_ended(tmp_path: Path) -> None:
    case = one_source(8, leg=Leg(1, 2, workers=1))
    with Bench(InProcess(f"{c5.__name__}:LeavesAProcess")) as bench:
        with bench.open(case) as play:
            rank = started(play, case.legs[0])
            play.build()
            # A process that is just being started carries no variables yet.
            deadline = time.monotonic() + 10
            while len(members := rank.members()) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            mark = (procfs.PROC / str(rank.pid) / "environ").read_bytes().split(f"{MARK}=".encode())[1][:32].decode()
        assert len(members) == 2
        assert procfs.carrying(f"{MARK}={mark}") == []


NEIGHBOUR = """
import itertools, mmap, os, time
for number in itertools.count():
    path = f"/dev/shm/neighbour-{os.getpid()}-{number}"
    with open(path, "w+b") as file:
        file.truncate(4096)
        held = mmap.mmap(file.fileno(), 4096)
    KEEP
    time.sleep(0.02)
"""
"""Makes segments of shared memory, and has them mapped."""


@pytest.mark.parametrize("keep", ["os.unlink(path)", "kept = [*globals().get('kept', ()), held]"], ids=["makes and frees", "gathers"])
@pytest.mark.parametrize(("name", "verdicts"), [("broken.c5:LeavesSharedMemory", {BROKEN}), ("broken.honest:Honest", {HOLDS})])
def test_segments_of_others_are_told_from_those_that_a_loader_leaves(name: str, verdicts: set[str], keep: str) -> None:
    neighbour = subprocess.Popen([sys.executable, "-c", NEIGHBOUR.replace("KEEP", keep)])
    try:
        found = findings(f"fivepoint.conformance.{name}", "C5.3/after-close", "C5.3/after-a-resume")
    finally:
        neighbour.kill()
        neighbour.wait()
        for path in Path("/dev/shm").glob(f"neighbour-{neighbour.pid}-*"):
            path.unlink()
    assert {finding.verdict for finding in found} == verdicts, found


def test_reading_ahead_meets_the_demand_over_the_same_slow_disk() -> None:
    found = findings(f"{c5.__name__}:ReadsAhead", "C5.3", "C5.4")
    assert {finding.verdict for finding in found} == {HOLDS}


def test_mapped_shards_are_found_to_be_read_ahead_where_the_system_counts_it(tmp_path: Path) -> None:
    if not _counts_what_is_fetched(tmp_path / "probe"):
        pytest.skip("the system counts no bytes fetched for mapped files here")
    with Bench(InProcess(f"{c5.__name__}:MapsItsShards"), tmp_path) as bench:
        assert broken(tuple(run(bench, ("C5.5",), shrinking=0))) == {"C5.5"}


def _counts_what_is_fetched(path: Path) -> bool:
    path.write_bytes(bytes(1 << 20))
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        before = procfs.bytes_read([os.getpid()])["read_bytes"]
        file.read()
    readahead = Path(f"/sys/dev/block/{os.major(path.stat().st_dev)}:{os.minor(path.stat().st_dev)}/queue/read_ahead_kb")
    wide = readahead.exists() and int(readahead.read_text()) >= 1024
    return wide and procfs.bytes_read([os.getpid()])["read_bytes"] > before
