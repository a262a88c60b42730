"""Ranks that are forked from a process that has imported their driver are what ranks are that were started."""

import json
import os
import signal

import numpy as np
import pytest

from fivepoint.conformance.bench import Bench
from fivepoint.conformance.broken import c5, drivers
from fivepoint.conformance.doors import InProcess, Processes, host_command, procfs
from fivepoint.conformance.doors.process import MARK
from fivepoint.conformance.driver import Driver, Layout
from fivepoint.conformance.suite import run
from fivepoint.conformance.verdict import BROKEN, HOLDS

pytestmark = pytest.mark.slow
HERE = "test_conformance_forks"


class TellsWhereItIs(Driver):
    """Saves what its process is."""

    def build(self, corpus, workdir, settings, layout, states):
        self.layout = layout

    def save(self):
        names = ("RANK", "WORLD_SIZE", "MASTER_PORT", MARK)
        told = {name: os.environ.get(name) for name in names}
        streams = [os.readlink(f"/proc/self/fd/{number}") for number in (0, 1)]
        return json.dumps(told | {"pid": os.getpid(), "session": os.getsid(0), "folder": os.getcwd(), "streams": streams}).encode()


def ranks_of(name, size, folder, forks=True):
    """Return the door, and its open ranks."""
    door = Processes(host_command(name), 20, forks=forks)
    return door, door.open([Layout(rank, size, 1) for rank in range(size)], folder, {}, True)


def answered(rank, request):
    """Return what a rank answers, and the first frame."""
    rank.ask(request)
    said, frames = rank.reply()
    return said, frames[0] if frames else np.zeros(0, np.uint8)


def test_each_has_a_session_a_folder_variables_and_streams_of_its_own(tmp_path):
    door, ranks = ranks_of(f"{HERE}:TellsWhereItIs", 3, tmp_path)
    try:
        told = [json.loads(answered(rank, {"do": "save"})[1].tobytes()) for rank in ranks]
        assert [each["RANK"] for each in told] == ["0", "1", "2"] and {each["WORLD_SIZE"] for each in told} == {"3"}
        assert all(each["session"] == each["pid"] == rank.pid for each, rank in zip(told, ranks, strict=True))
        assert {each["folder"] for each in told} == {str(tmp_path)}
        assert len({each[MARK] for each in told}) == 3
        assert {each["streams"][0] for each in told} == {os.devnull}
        for each, rank in zip(told, ranks, strict=True):
            # By the mark, as the system shows it, a child is found in whatever session it hides.
            assert procfs.carrying(f"{MARK}={each[MARK]}") == [rank.pid]
    finally:
        ended = [rank.end(10) for rank in ranks]
        door.close()
    assert ended == [True] * 3
    assert [number for number in procfs.descendants([os.getpid()]) if number in {each["pid"] for each in told}] == []


def test_one_that_is_killed_leaves_the_others(tmp_path):
    door, ranks = ranks_of(f"{HERE}:TellsWhereItIs", 2, tmp_path)
    try:
        ranks[0].kill()
        assert not ranks[0].runs and answered(ranks[1], {"do": "close"})[0] is None
    finally:
        for rank in ranks:
            rank.end()
        door.close()


def test_a_driver_that_is_not_there_is_not_found():
    with pytest.raises(LookupError, match="expected a driver class"):
        Processes(host_command("no_such_module:Driver"), 20, forks=True).find()


def test_an_honest_loader_holds_killed_and_closed_too():
    with Bench(InProcess("reference", forks=True)) as bench:
        found = run(bench, ("V2", "C3.1", "C4.9", "C5.3"), shrinking=0)
    assert {finding.verdict for finding in found} == {HOLDS}, [finding for finding in found if finding.verdict != HOLDS]


@pytest.mark.parametrize("name", ["LeavesAProcess", "LeavesSharedMemory"])
def test_what_a_loader_leaves_is_found(name):
    with Bench(InProcess(f"{c5.__name__}:{name}", forks=True)) as bench:
        found = run(bench, ("C5.3",), shrinking=0)
    assert BROKEN in {finding.verdict for finding in found}


@pytest.mark.parametrize("name", ["Hangs", "GivesFloats"])
def test_a_driver_at_fault_is_named(name):
    kind = getattr(drivers, name)
    with Bench(Processes(host_command(f"{drivers.__name__}:{name}"), 4, forks=True)) as bench:
        found = run(bench, ("V1", "V2"), shrinking=0)
    assert kind.clause in {finding.clause for finding in found if finding.verdict == BROKEN}


def test_one_that_was_ended_from_outside_is_started_again(tmp_path):
    door, (first,) = ranks_of(f"{HERE}:TellsWhereItIs", 1, tmp_path)
    try:
        mark = json.loads(answered(first, {"do": "save"})[1].tobytes())[MARK]
        others = procfs.descendants([os.getpid()])
        (nursery,) = [
            pid for pid in others if pid != first.pid and f"{HERE}:TellsWhereItIs" in (procfs.PROC / str(pid) / "cmdline").read_text()
        ]
        os.kill(nursery, signal.SIGKILL)
        first.end()
        (second,) = door.open([Layout(0, 1, 1)], tmp_path, {}, True)
        assert json.loads(answered(second, {"do": "save"})[1].tobytes())[MARK] != mark
        second.end()
    finally:
        door.close()
