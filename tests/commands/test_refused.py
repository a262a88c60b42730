"""Plans and checkpoints that no command takes: one sentence each, an exit code of their kind, and nothing written."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from runs import fivepoint, prepare_run, refusal, steps

RUN = ("run", "plan.json", "--dp-size", 2, "--micro-batch", 3, "--steps", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = prepare_run(tmp_path_factory.mktemp("refused"))
    steps(*RUN[1:-1], 9, "--save", "state.json", cwd=folder)
    return folder


def changed(folder: Path, file: str, change: Callable[[dict], object]) -> str:
    """Write a changed copy of a JSON file beside it, and return its name."""
    value = json.loads((folder / file).read_text())
    change(value)
    (folder / f"changed-{file}").write_text(json.dumps(value))
    return f"changed-{file}"


PLANS = {
    "an unknown version": (lambda plan: plan.update(version=2), "expected version 1, found 2"),
    "another file": (lambda plan: plan.update(format="fivepoint-corpus"), "expected format 'fivepoint-plan'"),
    "a source twice": (lambda plan: plan["sources"].append(plan["sources"][-1]), "'wiki' twice"),
    "a budget exceeded": (lambda plan: plan["budgets"]["wiki"].update(max_epochs=3), "may begin 3 epochs"),
    "no sign-off": (lambda plan: plan.pop("budgets") and plan["phases"][1].update(length=300), "somebody signs off"),
}
USES = [("show",), ("run", "--dp-size", 2, "--micro-batch", 3), ("where", "--source", "web", "--tokens", "0:1")]


@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("use", USES, ids=lambda use: use[0])
def test_plans(folder, kind, use):
    change, sentence = PLANS[kind]
    file = changed(folder, "plan.json", change)
    assert sentence in refusal(3, use[0], file, *use[1:], cwd=folder, table=kind in ("a budget exceeded", "no sign-off"))


@pytest.mark.parametrize("tokens", ["0:" + "9" * 5000, "1:99999999999999999999999", "0:550"])
def test_tokens_that_no_corpus_has(folder, tokens):
    said = refusal(8, "where", "plan.json", "--source", "web", "--tokens", tokens, cwd=folder)
    assert "expected tokens from 0 to 549 of" in said and len(said) < 250


@pytest.mark.parametrize("tokens", ["5:3", "5", "a:b", "-1:3"])
def test_tokens_that_are_no_range(folder, tokens):
    assert "expected --tokens FIRST:LAST" in refusal(9, "where", "plan.json", "--source", "web", "--tokens", tokens, cwd=folder)


def test_a_plan_of_no_phase_is_shown(folder):
    def empty(plan: dict) -> None:
        for name in ("sources", "phases", "skips"):
            plan[name] = []
        for name in ("budgets", "paths"):
            del plan[name]

    done = fivepoint("show", changed(folder, "plan.json", empty), "--json", cwd=folder)
    assert done.returncode == 0 and json.loads(done.stdout)["samples"] == 0, done.stderr


@pytest.mark.parametrize("fault", ["cut short", "longer", "NPY"])
@pytest.mark.clause("C3.6")
def test_a_damaged_index_is_refused_when_the_corpus_is_opened(folder, fault):
    index = next((folder / "corpora" / "web").glob("*.idx.npy"))
    whole = index.read_bytes()
    index.write_bytes({"cut short": whole[:-8], "longer": whole + bytes(8), "NPY": b"PK" + whole[2:]}[fault])
    try:
        assert fault in refusal(4, *RUN, cwd=folder)
    finally:
        index.write_bytes(whole)


def differ(folder: Path, change: Callable[[dict], object]) -> str:
    return refusal(5, "run", changed(folder, "plan.json", change), *RUN[2:], "--resume", "state.json", cwd=folder)


@pytest.mark.clause("C4.7")
def test_a_checkpoint_of_another_plan_names_each_field_that_differs(folder):
    def change(plan: dict) -> None:
        plan["seed"] = 6
        plan["skips"] = [[40, 8]]
        plan["phases"][0]["weights"]["wiki"] = 2
        plan["phases"][0]["rule"] = "furthest-behind"

    said = differ(folder, change)
    for field in ("seed", "skips[0][1]", "phases[0].weights.wiki", "phases[0].rule"):
        assert f"{field}: checkpoint has" in said


@pytest.mark.clause("C4.8")
def test_a_checkpoint_goes_on_with_another_future(folder):
    file = changed(folder, "plan.json", lambda plan: plan["phases"][1]["weights"].update(books=2))
    assert steps(file, *RUN[2:], "--resume", "state.json", cwd=folder)[0]["step"] == 10


def test_a_checkpoint_beyond_the_plan_s_end(folder):
    def change(plan: dict) -> None:
        plan["phases"] = [{**plan["phases"][0], "length": 100}]

    assert "expected a checkpoint within the plan's 100 positions, found consumed = 108" in differ(folder, change)


CHECKPOINTS = {
    "an unknown version": (lambda state: state.update(version=2), "expected version 1, found 2"),
    "another consumed": (lambda state: state.update(consumed=120), "the checkpoint contradicts itself"),
    "a changed past": (lambda state: state["plan"].update(seed=6), "the checkpoint contradicts itself"),
    "a field missing": (lambda state: state.pop("prefix_hash"), "prefix_hash"),
}


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_checkpoints(folder, kind):
    change, sentence = CHECKPOINTS[kind]
    assert sentence in refusal(5, *RUN, "--resume", changed(folder, "state.json", change), cwd=folder)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\x80\x04K\x01.", b"null", b'{"seed": 1.5}', b"[1]", b"[" * 100_000, b'{"\\ud800": 1}', b'{"seed": ' + b"1" * 5000 + b"}"],
    ids=["empty", "cut", "pickle", "null", "float", "list", "deep", "half a character", "long number"],
)
def test_files_that_hold_something_else(folder, content):
    (folder / "broken.json").write_bytes(content)
    assert "broken.json" in refusal(3, "show", "broken.json", cwd=folder)
    assert "broken.json" in refusal(5, *RUN, "--resume", "broken.json", cwd=folder)


WRONG_FILES = {
    "a checkpoint for a plan": (
        3,
        ("show", "state.json"),
        "state.json: expected format 'fivepoint-plan', found 'fivepoint-checkpoint', that of "
        "a checkpoint; give a plan, as `fivepoint plan` writes it",
    ),
    "a plan for a checkpoint": (5, (*RUN, "--resume", "plan.json"), "found 'fivepoint-plan', that of a plan; give a checkpoint, as"),
    "a TOML file for a plan": (3, ("show", "run.toml"), "run.toml: expected a plan, found what seems to be a TOML file; compile it with"),
    "a run log for a plan": (
        3,
        ("replay", "log.jsonl", "plan.json", "--step", 1),
        "log.jsonl: expected a plan, found what seems to be a run log",
    ),
    "one line of a run log for a plan": (3, ("show", "line.jsonl"), "expected format 'fivepoint-plan', found no format; give a plan, as"),
    "a plan for a TOML file": (
        3,
        ("plan", "plan.json", "-o", "new.json"),
        "plan.json: expected a run's TOML file, found what seems to be a plan",
    ),
    "tensors for a checkpoint": (
        5,
        (*RUN, "--resume", "file.safetensors"),
        "found what seems to be a file of tensors, which fivepoint.trainers",
    ),
    "a missing plan": (3, ("show", "none.json"), "cannot read none.json: No such file or directory; give a plan, as"),
    "a missing checkpoint": (5, (*RUN, "--resume", "none.json"), "No such file or directory; give a checkpoint, as `fivepoint run --save`"),
    "a missing TOML file": (3, ("plan", "none.toml", "-o", "new.json"), "No such file or directory; give a run's TOML file"),
}


@pytest.mark.parametrize("case", WRONG_FILES)
def test_another_file_than_was_asked_for_is_named_with_the_one_to_give(folder, case):
    steps(*RUN[1:-1], 2, "--run-log", "log.jsonl", cwd=folder)
    (folder / "line.jsonl").write_bytes((folder / "log.jsonl").read_bytes().splitlines(keepends=True)[0])
    (folder / "file.safetensors").write_bytes((20).to_bytes(8, "little") + b'{"a": "\xff"}' + bytes(40))
    code, arguments, sentence = WRONG_FILES[case]
    assert sentence in refusal(code, *arguments, cwd=folder)


def test_a_plan_whose_tokens_were_changed_names_that_field_alone(folder):
    file = changed(folder, "plan.json", lambda plan: plan["sources"][1]["corpora"][0].update(tokens=549))
    said = refusal(4, "run", file, *RUN[2:], cwd=folder)
    assert "expected tokens 549, as the plan says of corpus 'web' of source 'web', found tokens 550 in its manifest; compile" in said
    assert "Corpus(" not in said and len(said) < 250


@pytest.mark.clause("C4.8")
def test_another_past_is_gone_on_from_with_a_reason_that_the_log_keeps(folder):
    file = changed(folder, "plan.json", lambda plan: plan.update(seed=6))
    asked = ("run", file, *RUN[2:], "--resume", "state.json")
    refusal(5, *asked, cwd=folder)
    assert "beside --resume" in refusal(9, *RUN, "--override", "a reason", cwd=folder)
    assert "no reason" in refusal(9, *asked, "--override", " ", cwd=folder)
    log = folder / "overridden.jsonl"
    assert steps(*asked[1:], "--override", "seed lost", "--run-log", log, cwd=folder)[0]["step"] == 10
    opened = json.loads(log.read_text().splitlines()[0])
    assert (opened["override"], [field.partition(":")[0] for field in opened["differs"]]) == ("seed lost", ["seed"])


def test_a_plan_written_elsewhere_finds_its_corpora(folder):
    (folder / "plans").mkdir()
    assert fivepoint("plan", "run.toml", "-o", "plans/plan.json", cwd=folder).returncode == 0
    assert steps("plans/plan.json", *RUN[2:], cwd=folder) == steps(*RUN[1:], cwd=folder)


def test_a_start_between_two_steps_is_refused(folder):
    said = refusal(8, "run", "plan.json", *RUN[2:], "--start", 5, cwd=folder)
    assert "expected --start where a step of the plan begins, such as 0 after step 0, found 5" in said


def test_a_run_without_a_step_is_refused(folder):
    def change(plan: dict) -> None:
        del plan["batch_sizes"]
        for source in plan["sources"]:
            plan["budgets"].setdefault(source["name"], {})["repeats_in_step_signed_off"] = "us"

    file = changed(folder, "plan.json", change)
    said = refusal(8, "run", file, "--dp-size", 1, "--micro-batch", 231, "--run-log", "none.jsonl", cwd=folder)
    assert "expected a run of at least one step of 231 samples, found 230" in said and not (folder / "none.jsonl").exists()
