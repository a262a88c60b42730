"""Each command as a person starts it: its answer, its JSON, its refusal, a reader that leaves, an interruption."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from runs import fivepoint, prepare_run, process, refused

from fivepoint.audit.log_lines import find_step, read
from fivepoint.audit.run_log import RunLog
from fivepoint.errors import FivepointError
from fivepoint.reference.schema import validate

LAYOUT = ["--dp-size", "2", "--micro-batch", "3"]
COMMANDS = {
    "plan": (["plan", "run.toml", "-o", "again.json", "--dp-size", "4"], "19 steps; 2 samples at the run's end", ["--micro-batch", "5"], 9),
    "show": (["show", "plan.json", *LAYOUT], "books 50.00%, wiki 50.00%", ["--position", "230"], 8),
    "show position": (["show", "plan.json", "--position", "7"], "position 7 of plan.json", ["--step", "1"], 9),
    "show step": (["show", "plan.json", "--step", "19", *LAYOUT], "step 19 of plan.json", ["--accumulation", "3"], 9),
    "run": (["run", "plan.json", *LAYOUT, "--steps", "1"], "step 1  consumed 12  ", ["--start", "231"], 8),
    "replay": (["replay", "plan.json", "run.jsonl", "--step", "4"], "documents, by their tokens", ["--step", "9"], 6),
    "where": (["where", "plan.json", "--source", "web", "--document", "4"], "document 4 of corpus web", ["--document", "10"], 8),
}
SCHEMAS = {"show": "plan", "show position": "show_position", "show step": "show_step"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = prepare_run(tmp_path_factory.mktemp("process"))
    done = fivepoint("run", "plan.json", *LAYOUT, "--steps", 8, "--run-log", "run.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_people_machines_and_mistakes(folder, command):
    asked, shown, mistake, exit_code = COMMANDS[command]
    done = process(*asked, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "") and shown in done.stdout, f"{done.stdout}{done.stderr}"
    done = process(*asked, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    validate(json.loads(done.stdout), f"command_{SCHEMAS.get(command, command)}", command, FivepointError)
    refused(exit_code, process(*asked, *mistake, "--json", cwd=folder))


def test_a_torn_log_is_reported_and_goes_on(folder):
    (folder / "torn.jsonl").write_bytes(b'{"step": 1, "cons')
    done = process("run", "plan.json", *LAYOUT, "--steps", 1, "--run-log", "torn.jsonl", cwd=folder)
    assert done.returncode == 0 and "torn line of 17 bytes" in done.stderr
    assert len(list(read(folder / "torn.jsonl"))) == 2


def begin(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a run of many hours whose lines come through a pipe."""
    command = [sys.executable, "-m", "fivepoint.cli", "run", "long.json", *LAYOUT, "--json", *arguments]
    plan = json.loads((folder / "plan.json").read_text())
    plan["phases"][1]["length"] = 10**6
    plan["budgets"] = {name: {"repeats_signed_off": "the tests"} for name in ("books", "web", "wiki")}
    (folder / "long.json").write_text(json.dumps(plan))
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_reader_that_leaves_ends_the_run_quietly(folder):
    process = begin(folder)
    assert process.stdout.readline().startswith('{"step": 1,')
    process.stdout.close()
    assert process.wait(60) == 1
    assert process.stderr.read() == ""


def test_an_interruption_ends_the_run_in_one_word_and_keeps_its_log_whole(folder):
    process = begin(folder, "--run-log", "long.jsonl")
    assert process.stdout.readline().startswith('{"step": 1,')
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "fivepoint: interrupted\n")
    assert (folder / "long.jsonl").read_bytes().endswith(b"\n")


@pytest.mark.clause("C4.9")
def test_a_killed_run_leaves_a_log_that_goes_on(folder):
    log = folder / "killed.jsonl"
    for lines in (1, 7, 20):
        process = begin(folder, "--run-log", "killed.jsonl")
        printed = [json.loads(process.stdout.readline()) for _ in range(lines)]
        process.kill()
        process.communicate(timeout=60)
        last = find_step(log, printed[-1]["step"])[0]
        assert last["consumed"] == printed[-1]["consumed"], "a step that was printed is in the log"
    with RunLog(log):
        assert sum("event" in record for record in read(log)) == 3


def test_help_loads_nothing_heavy():
    code = "import sys; from fivepoint import cli; print(*sorted({'numpy', 'torch', 'tokenizers', 'fastjsonschema'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_json_is_ascii_whatever_the_locale(folder):
    done = subprocess.run(
        [sys.executable, "-m", "fivepoint.cli", "show", "plan.json", "--json"],
        cwd=folder,
        env=os.environ | {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert done.returncode == 0 and done.stdout.isascii()


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_no_locale_and_no_closed_stream_keeps_a_command_from_its_work(folder, command):
    asked = [sys.executable, "-m", "fivepoint.cli", *COMMANDS[command][0]]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run(asked, cwd=folder, env=ascii_only, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout, done.stderr
    closed = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *asked], cwd=folder)
    assert closed.returncode == 0
