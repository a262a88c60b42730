"""What commands write: refused before work is done where it has no place, and nothing half-written, lost or written over."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from runs import fivepoint, prepare_run, refusal, steps

RUN = ("run", "plan.json", "--dp-size", 2, "--micro-batch", 3, "--steps", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return prepare_run(tmp_path_factory.mktemp("written"))


def test_a_file_that_the_command_reads_is_not_written_over(folder):
    before = {name: (folder / name).read_bytes() for name in ("run.toml", "plan.json")}
    assert "--out" in refusal(9, "plan", "run.toml", "-o", "./run.toml", cwd=folder)
    assert "--save" in refusal(9, *RUN, "--save", "plan.json", cwd=folder)
    assert "--save" in refusal(9, *RUN, "--save", "log", "--run-log", "log", cwd=folder)
    assert {name: (folder / name).read_bytes() for name in before} == before and not (folder / "log").exists()


@pytest.mark.parametrize("option", ["--save", "--run-log"])
def test_a_pipe_is_no_place_for_a_state_or_a_log(folder, option):
    (folder / "pipe").unlink(missing_ok=True)
    os.mkfifo(folder / "pipe")
    done = fivepoint(*RUN, option, "pipe", cwd=folder)
    assert (done.returncode, done.stderr.count("\n")) == (10, 1) and "a device or a pipe" in done.stderr, done.stderr
    assert (folder / "pipe").is_fifo()


def test_a_full_disk_behind_the_output(folder):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "fivepoint.cli", "show", "plan.json", "--json"]
        done = subprocess.run(command, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (10, 1) and "cannot write the output" in done.stderr, done.stderr


def test_a_refused_run_leaves_no_checkpoint_and_no_line(folder):
    refusal(5, *RUN, "--resume", "none.json", "--save", "new.json", "--run-log", "new.jsonl", cwd=folder)
    assert not (folder / "new.json").exists()
    assert not (folder / "new.jsonl").exists()


@pytest.mark.parametrize("place", ["nowhere/new.json", "corpora", "x" * 256])
def test_a_checkpoint_without_a_place_is_refused_before_a_step_is_served(folder, place):
    done = fivepoint(*RUN, "--save", place, "--run-log", "unbegun.jsonl", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (10, "", 1) and "cannot write" in done.stderr, done.stderr
    assert not (folder / "unbegun.jsonl").exists()


@pytest.mark.parametrize("name", ["x" * 255, "\u00e9" * 127])
def test_a_name_may_be_as_long_as_the_system_takes(folder, name):
    steps(*RUN[1:], "--save", name, cwd=folder)
    assert json.loads((folder / name).read_text())["step"] == 1
    (folder / name).unlink()


@pytest.mark.parametrize("sizes", [("--dp-size", 5, "--micro-batch", 3), ("--dp-size", 2, "--micro-batch", 3, "--accumulation", 3)])
def test_a_run_of_sizes_that_do_not_fit_leaves_a_log_as_it_was(folder, sizes):
    (folder / "torn.jsonl").write_bytes(b'{"event"')
    refusal(9, "run", "plan.json", *sizes, "--run-log", "torn.jsonl", cwd=folder)
    assert (folder / "torn.jsonl").read_bytes() == b'{"event"'


def test_a_refused_plan_leaves_the_old_one(folder):
    before = (folder / "plan.json").read_bytes()
    text = (folder / "run.toml").read_text()
    (folder / "wrong.toml").write_text(text.replace("max_epochs = 6", "max_epochs = 2"))
    refusal(3, "plan", "wrong.toml", "-o", "plan.json", cwd=folder, table=True)
    assert (folder / "plan.json").read_bytes() == before
