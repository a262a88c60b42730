"""Every broken loader of C4, C5 and of the drivers' own MUSTs is caught by its clause, and every check there catches one."""

import inspect
import os
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from fivepoint.conformance.bench import Bench
from fivepoint.conformance.broken import c4, c4_elastic, c4_kill, c4_log, c4_past, c5, drivers, speakers
from fivepoint.conformance.case import Leg
from fivepoint.conformance.cases import one_source
from fivepoint.conformance.doors import InProcess, Processes, host_command, procfs
from fivepoint.conformance.doors.process import MARK
from fivepoint.conformance.measuring import started
from fivepoint.conformance.suite import collected, run
from fivepoint.conformance.verdict import BROKEN, HOLDS, REFUSED, Finding

MUSTS = ("V1", "V2", "V3")
LOADERS = {
    f"{module.__name__}:{name}": kind
    for module in (c4, c4_elastic, c4_kill, c4_log, c4_past, c5)
    for name, kind in inspect.getmembers(module, inspect.isclass)
    if kind.__module__ == module.__name__ and kind.clause
}
DRIVERS = {
    f"{drivers.__name__}:{name}": kind
    for name, kind in inspect.getmembers(drivers, inspect.isclass)
    if kind.__module__ == drivers.__name__ and kind.clause
}
REFERENCE = "fivepoint.conformance.drivers.reference:ReferenceDriver"


@cache
def findings(name: str, *select: str, limit: float = 30) -> tuple[Finding, ...]:
    """Return what the quick mode finds in a loader inside this process, with nothing made smaller."""
    with Bench(InProcess(name, limit)) as bench:
        return tuple(run(bench, select, shrinking=0))


def broken(found: tuple[Finding, ...]) -> set[str]:
    """Return the clauses that were found broken."""
    return {finding.clause for finding in found if finding.verdict == BROKEN}


@pytest.mark.parametrize("name", LOADERS)
def test_a_broken_loader_is_caught_by_its_clause(name: str) -> None:
    clause = LOADERS[name].clause
    assert broken(findings(name, clause)) == {clause}


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", LOADERS)
def test_a_broken_loader_breaks_no_unrelated_clause(name: str) -> None:
    kind = LOADERS[name]
    assert broken(findings(name)) <= {kind.clause, *kind.also}


def test_every_check_of_c4_and_c5_catches_a_broken_loader() -> None:
    caught = {finding.check for name, kind in LOADERS.items() for finding in findings(name, kind.clause) if finding.verdict == BROKEN}
    assert [check.id for check in collected(("C4", "C5")) if check.id not in caught] == []


@pytest.mark.parametrize("name", [REFERENCE, "fivepoint.conformance.broken.honest:Honest", f"{c4_log.__name__}:Logging"])
def test_an_honest_loader_is_clean(name: str) -> None:
    found = findings(name, *MUSTS, "C4", "C5")
    assert [(finding.check, finding.got) for finding in found if finding.verdict not in (HOLDS, REFUSED)] == []


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(2))
def test_the_reference_is_clean_in_the_full_mode(seed: int) -> None:
    with Bench(InProcess(REFERENCE)) as bench:
        found = run(bench, (*MUSTS, "C4", "C5"), "full", seed)
    assert [(finding.check, finding.got) for finding in found if finding.verdict != HOLDS] == []


@pytest.mark.parametrize("name", DRIVERS)
def test_a_driver_at_fault_is_named_inside_this_process(name: str) -> None:
    kind = DRIVERS[name]
    assert kind.clause in broken(findings(name, *MUSTS, kind.clause, limit=5))


def test_every_check_of_a_drivers_musts_catches_a_driver() -> None:
    found = [finding for name, kind in DRIVERS.items() for finding in findings(name, *MUSTS, kind.clause, limit=5)]
    caught = {finding.check for finding in found if finding.verdict == BROKEN}
    assert [check.id for check in collected(MUSTS) if check.id not in caught] == []


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
