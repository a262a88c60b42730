"""Drivers that take their process down or hold it: a verdict that names it, exit code 1, and the suite goes on."""

import io
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conforming import conform

from fivepoint.conformance.bench import Bench
from fivepoint.conformance.case import Leg
from fivepoint.conformance.cases import one_source
from fivepoint.conformance.doors import InProcess, Processes, host_command, procfs
from fivepoint.conformance.doors.replies import DriverFault, opened
from fivepoint.conformance.doors.wire import Rubbish, receive
from fivepoint.conformance.driver import Layout
from fivepoint.conformance.opening import command_of
from fivepoint.errors import OutputError, UsageError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "got"),
    [
        ("import os; os._exit(0)", "ended with status 0, while rude:Rude was imported"),
        ("raise SystemExit(0)", "ended with status 0, while rude:Rude was imported"),
        ("import time; time.sleep(1000)", "did not answer within 2 s, while rude:Rude was imported"),
        ("import os; os.kill(os.getpid(), 11)", "was ended by SIGSEGV, while rude:Rude was imported"),
        ("class Rude:\n    def __init__(self): import time; time.sleep(1000)", "did not answer within 2 s"),
        ("class Rude:\n    def __init__(self): raise ValueError('\\x1b[31mred')", "ValueError: \\x1b[31mred (rude.py:2, in __init__)"),
    ],
)
def test_what_a_driver_does_when_it_is_imported_or_made_is_a_verdict(tmp_path, code, got):
    (tmp_path / "rude.py").write_text(code)
    done = conform("rude:Rude", "--select", "V", "--limit", 2)
    assert done.code == 1 and got in done.out, done.out


def test_what_a_driver_prints_is_no_part_of_the_report(tmp_path):
    (tmp_path / "loud.py").write_text(
        "import os\nfrom fivepoint.conformance.broken.honest import Honest\n"
        "class Loud(Honest):\n    def next(self):\n        print('rubbish', flush=True)\n        os.write(1, b'more rubbish')\n"
        "        return super().next()\n"
    )
    done = conform("loud:Loud", "--select", "V1")
    assert done.code == 0 and "rubbish" not in done.out, done.out


LINGERS = (
    "import os, sys, time\nfrom fivepoint.conformance.doors.host import serve\n"
    "from fivepoint.conformance.broken.honest import Honest\n"
    "serve(Honest(), sys.stdin.buffer, sys.stdout.buffer)\ntime.sleep(1000)\n"
)


def test_ranks_that_ignore_the_end_of_their_input_are_waited_for_together(tmp_path):
    (tmp_path / "lingers.py").write_text(LINGERS)
    start = time.monotonic()
    done = conform("--process", f"{shlex.quote(sys.executable)} -P lingers.py", "--select", "V", "--limit", 2)
    assert done.code == 1 and "still ran 2 s after the end of its standard input" in done.out, done.out
    assert time.monotonic() - start < 60


def test_a_child_without_variables_in_a_session_of_its_own_is_found_and_ended(tmp_path):
    (tmp_path / "stray.py").write_text(
        "import subprocess\nfrom fivepoint.conformance.broken.honest import Honest\n"
        "class Stray(Honest):\n    def build(self, *given):\n        super().build(*given)\n"
        "        subprocess.Popen(['sleep', '613'], env={}, start_new_session=True)\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        (rank,) = Processes(host_command("stray:Stray")).open([Layout(0, 1, 1)], tmp_path, {}, True)
    finally:
        sys.path.remove(str(tmp_path))
    case = {"seed": 1, "seq_len": 4, "sources": {}, "phases": [{"length": 4, "weights": {}}]}
    rank.ask({"do": "build", "corpus": ".", "workdir": ".", "settings": case, "layout": {"dp_rank": 0, "dp_size": 1, "micro_batch": 1}})
    rank.hear()
    members = rank.members()
    rank.end(5)
    assert [member for member in members if procfs.started(member)] == []


def test_a_signal_ends_it_with_what_was_found_and_leaves_nothing(tmp_path):
    (tmp_path / "bench").mkdir()
    command = [sys.executable, "-P", "-m", "fivepoint.cli", "conform", "reference", "--select", "V", "--select", "C4"]
    environment = os.environ | {"TMPDIR": str(tmp_path / "bench"), "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as running:
        deadline = time.monotonic() + 30
        while not list((tmp_path / "bench").glob("*/play-*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        out, _ = running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGTERM and "checks were judged" in out, out
    assert list((tmp_path / "bench").iterdir()) == []


def test_a_reader_that_leaves_does_not_decide_the_exit_code():
    command = [sys.executable, "-P", "-m", "fivepoint.cli", "conform", "reference", "--select", "C2.4"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as running:
        running.stdout.close()
        assert running.wait(60) == 0


def test_a_full_disk_is_not_the_loaders_fault(monkeypatch, tmp_path):
    monkeypatch.setattr("fivepoint.conformance.bench.ROOM", 1 << 62)
    done = conform("fivepoint.conformance.broken.c2:EveryRankReadsTheSame", "--select", "C2.1")
    assert done.code == OutputError.exit_code and "found a full disk" in done.out, done.out


@pytest.mark.slow
def test_a_program_and_its_files_are_those_of_the_current_folder(tmp_path):
    program = tmp_path / "my loader"
    program.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m fivepoint.conformance.doors.host reference\n")
    program.chmod(0o755)
    assert conform("--process", "'./my loader' --ranks", "--select", "C2.4").code == 0
    (tmp_path / "text").touch()
    assert command_of("python text other") == ["python", str(tmp_path / "text"), "other"]


@pytest.mark.parametrize("command", ["", "  ", "''", 'node "x'])
def test_what_is_no_command_is_one_sentence(command):
    done = conform("--process", command)
    assert done.code == UsageError.exit_code and done.out.startswith("expected a command after --process"), done.out


def test_what_came_of_an_answer_that_is_late_is_said():
    command = shlex.join([sys.executable, "-P", "-m", "fivepoint.conformance.broken.speakers", "slow"])
    done = conform("--process", command, "--select", "V1", "--limit", 3)
    assert "did not answer within 3 s, but for 0 of 64 bytes of frame 0" in done.out, done.out


@pytest.mark.parametrize(
    ("frames", "got"),
    [
        ([np.zeros(2, np.uint8)] * 2, "answered save with 2 states"),
        ([], "answered save with no states"),
        ([np.zeros(2, np.int64)], "answered save with int64 (2,) for bytes"),
    ],
)
def test_a_state_is_one_frame_of_bytes(monkeypatch, frames, got):
    with Bench(InProcess("reference")) as bench, bench.open(one_source(4)) as play:
        play.start(Leg())
        monkeypatch.setattr(play.ranks[0], "ask", lambda request, given=(): None)
        monkeypatch.setattr(play.ranks[0], "reply", lambda: (None, frames))
        with pytest.raises(DriverFault, match=re.escape(got)):
            play.save()


@pytest.mark.parametrize("must", ["V9", "", None, 1, ["V1"], {}])
def test_a_fault_against_no_must_is_the_drivers_own(must):
    with pytest.raises(DriverFault, match="answered fault with must") as found:
        opened({"fault": "it is not me", "must": must}, [], 3)
    assert (found.value.must, found.value.rank) == ("V2", 3)


ABSURD = [[10**30], [0, 10**30], [0, 1 << 31, 1 << 31, 1 << 31], [1 << 20, 1 << 20], [0] * 9, [-1], [0, -1]]


@pytest.mark.parametrize("shape", ABSURD, ids=str)
def test_a_frame_of_an_absurd_shape_is_refused_before_it_is_read(shape):
    def read(size):
        pytest.fail(f"read {size} bytes")

    line = b'{"ok": null, "frames": [{"dtype": "int64", "shape": %s}]}\n' % str(shape).encode()
    with pytest.raises(Rubbish, match="expected frames of"):
        receive(io.BytesIO(line).readline, read)
