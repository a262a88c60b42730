"""`fivepoint run`: one digest a step, whatever the ranks; states that are whole; a run log that goes on."""

import json
from pathlib import Path

import pytest
from independent.run import walk
from independent.steps import digest
from plans import corpora_of
from runs import fivepoint, prepare_run, refusal, steps

from fivepoint.audit.log_lines import read

LAYOUTS = [(1, 12), (1, 3), (2, 6), (2, 1), (3, 2), (4, 3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return prepare_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def expected(folder) -> list[dict]:
    """Every step of the run, from the raw files and the second implementation."""
    plan = json.loads((folder / "plan.json").read_text())
    plan["paths"] = {name: [folder / path for path in paths] for name, paths in plan["paths"].items()}
    run = walk(plan, corpora_of(plan))
    begins = range(0, len(run) - 11, 12)
    return [
        {"step": number + 1, "consumed": begin + 12, "digest": digest(sample.tokens for sample in run[begin : begin + 12])}
        for number, begin in enumerate(begins)
    ]


@pytest.mark.clause("C3.2")
@pytest.mark.parametrize(("dp_size", "micro_batch"), LAYOUTS)
def test_digests_are_those_of_the_raw_files_for_every_layout(folder, expected, dp_size, micro_batch):
    assert len(expected) == 19
    assert steps("plan.json", "--dp-size", dp_size, "--micro-batch", micro_batch, cwd=folder) == expected


@pytest.mark.torch
@pytest.mark.clause("C3.2")
@pytest.mark.parametrize(("dp_size", "micro_batch"), LAYOUTS)
def test_the_native_loader_gives_the_same_digests(folder, expected, dp_size, micro_batch):
    pytest.importorskip("torch")
    assert steps("plan.json", "--dp-size", dp_size, "--micro-batch", micro_batch, "--loader", "fastpath", cwd=folder) == expected


def test_the_accumulation_may_be_given(folder, expected):
    asked = ["plan.json", "--dp-size", 2, "--micro-batch", 3, "--accumulation", 2, "--steps", 2]
    assert steps(*asked, cwd=folder) == expected[:2]


def test_a_run_starts_where_it_is_told(folder, expected):
    asked = ["plan.json", "--dp-size", 3, "--micro-batch", 2, "--start", 48, "--steps", 3]
    assert steps(*asked, cwd=folder) == expected[4:7]


def test_without_batch_sizes_b_is_the_product(folder, expected):
    plan = json.loads((folder / "plan.json").read_text())
    del plan["batch_sizes"]
    (folder / "free.json").write_text(json.dumps(plan))
    asked = ["free.json", "--dp-size", 2, "--micro-batch", 3]
    assert steps(*asked, "--accumulation", 2, "--start", 24, cwd=folder) == expected[2:]
    halves = steps(*asked, "--start", 18, "--steps", 1, cwd=folder)
    assert [(line["step"], line["consumed"]) for line in halves] == [(4, 24)]


@pytest.mark.clause("C4.4")
def test_runs_in_legs_on_other_ranks_are_the_whole_run(folder, expected, tmp_path):
    saved, log = tmp_path / "state.json", tmp_path / "run.jsonl"
    found = steps("plan.json", "--dp-size", 2, "--micro-batch", 3, "--steps", 5, "--save", saved, "--run-log", log, cwd=folder)
    for dp_size, micro_batch, count in ((4, 1, 6), (3, 4, 30)):
        asked = ["plan.json", "--dp-size", dp_size, "--micro-batch", micro_batch, "--steps", count]
        found += steps(*asked, "--resume", saved, "--save", saved, "--run-log", log, cwd=folder)
    assert found == expected
    records = list(read(log))
    assert [record["step"] for record in records if "event" not in record] == list(range(1, 20))
    assert [record["consumed"] for record in records if "event" in record] == [0, 60, 132]


@pytest.mark.clause("C4.5")
def test_a_complete_run_says_so(folder, tmp_path):
    saved = tmp_path / "state.json"
    layout = ["--dp-size", 1, "--micro-batch", 12]
    done = fivepoint("run", "plan.json", *layout, "--start", 216, "--save", saved, cwd=folder)
    assert "the run is complete after step 19; 2 samples" in done.stderr
    done = fivepoint("run", "plan.json", *layout, "--resume", saved, "--json", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "") and "complete after step 19" in done.stderr


def test_people_get_a_line_a_step(folder, expected):
    done = fivepoint("run", "plan.json", "--dp-size", 1, "--micro-batch", 12, "--steps", 1, cwd=folder)
    assert (done.returncode, done.stdout) == (0, f"step 1  consumed 12  {expected[0]['digest']}\n")


REFUSED = {
    "a device": (9, ["--device", "cuda"], 'expected device="cpu"'),
    "B not divisible": (9, ["--micro-batch", "5"], "divides, found 12"),
    "another accumulation": (9, ["--accumulation", "3"], "expected accumulation 6"),
    "two places to start": (9, ["--start", "12", "--resume", "state.json"], "found both"),
    "a start beyond the end": (8, ["--start", "231"], "from 0 to 230"),
    "a missing checkpoint": (5, ["--resume", "none.json"], "cannot read none.json"),
    "a folder that is not there": (10, ["--save", "none/state.json"], "cannot write none/state.json"),
    "a log in no folder": (10, ["--run-log", "none/run.jsonl"], "cannot write none/run.jsonl"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused(folder, kind):
    code, options, sentence = REFUSED[kind]
    layout = ["--dp-size", 1, "--micro-batch", 2, "--steps", 0]
    assert sentence in refusal(code, "run", "plan.json", *layout, *options, cwd=folder)
