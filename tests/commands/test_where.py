"""`fivepoint where`: every position, step and rank that sees a document or tokens, against a search through the whole run."""

import json
import time
from pathlib import Path

import pytest
from independent.run import walk
from independent.run import where as search
from independent.steps import deal
from logs import lines
from plans import corpora_of, phase
from runs import answer, fivepoint, prepare_run, refusal, steps

from fivepoint.audit.layout import Layout
from fivepoint.audit.log_lines import read
from fivepoint.audit.where import where
from fivepoint.reference.plan import Plan

pytestmark = pytest.mark.clause("C3.7")

LAYOUT = ("--dp-size", 2, "--micro-batch", 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A run of which 5 steps were served on 2 ranks and saved, then 3 on 4 ranks."""
    folder = prepare_run(tmp_path_factory.mktemp("where"))
    steps("plan.json", *LAYOUT, "--steps", 5, "--run-log", "run.jsonl", "--save", "saved.json", cwd=folder)
    steps("plan.json", "--dp-size", 4, "--micro-batch", 1, "--steps", 3, "--run-log", "run.jsonl", "--resume", "saved.json", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def plan(folder) -> dict:
    return json.loads((folder / "plan.json").read_text())


@pytest.fixture(scope="module")
def corpora(folder, plan) -> dict:
    return corpora_of({"paths": {name: [folder / path for path in paths] for name, paths in plan["paths"].items()}})


@pytest.fixture(scope="module")
def run(plan, corpora) -> list:
    return walk(plan, corpora)


def places(dp_size: int, micro_batch: int, first_step: int = 1, last_step: int = 19) -> dict[int, tuple[int, int, int, int]]:
    """Return (step, rank, micro-batch, row) of each position that these steps serve."""
    return {
        position: (step, rank, number, row)
        for step in range(first_step, last_step + 1)
        for rank, micro_batches in enumerate(deal(12 * (step - 1), 12, dp_size, micro_batch))
        for number, positions in enumerate(micro_batches)
        for row, position in enumerate(positions)
    }


def named(found: dict) -> dict[int, tuple[int | None, ...]]:
    keys = ("step", "dp_rank", "micro_batch", "row")
    return {each["position"]: tuple(each.get(key) for key in keys) for each in found["positions"]}


DOCUMENTS = [("books", "novels", 0), ("books", "novels", 2), ("books", "poems", 7), ("web", "web", 4), ("wiki", "wiki", 1)]


@pytest.mark.parametrize(("source", "corpus", "document"), DOCUMENTS)
def test_a_document_is_found_wherever_a_search_finds_it(folder, corpora, run, source, corpus, document):
    found = answer(
        "command_where", "where", "plan.json", *LAYOUT, "--source", source, "--corpus", corpus, "--document", document, cwd=folder
    )
    held = next(each for each in corpora[source] if each.name == corpus)
    tokens = [token for token, number in enumerate(held.documents()) if number == document]
    assert (found["first_token"], found["last_token"]) == (tokens[0], tokens[-1])
    expected = search(run, source, corpus, tokens[0], tokens[-1])
    dealt = places(2, 3)
    assert named(found) == {position: dealt.get(position, (None,) * 4) for position in expected}
    for each in found["positions"]:
        sample = run[each["position"]]
        assert (each["epoch"], each["window"], each["first_token"]) == (sample.epoch, sample.window, sample.first)
        assert each["asked_tokens"] == len(set(tokens) & set(range(sample.first, sample.first + 9)))


def test_every_range_of_tokens_is_found_wherever_a_search_finds_it(folder, run):
    opened = Plan.load(folder / "plan.json")
    for first in range(0, 183, 7):
        for last in {first, first + 8, 182}:
            if last < 183:
                found = where(opened, "wiki", "wiki", range(first, last + 1), Layout.of(opened))
                assert [each["position"] for each in found["positions"]] == search(run, "wiki", "wiki", first, last), (first, last)


def test_a_document_of_no_tokens_and_a_tail_are_seen_nowhere(folder):
    asked = ("where", "plan.json", "--source")
    assert answer("command_where", *asked, "books", "--corpus", "novels", "--document", 1, cwd=folder)["positions"] == []
    assert answer("command_where", *asked, "web", "--tokens", "545:549", cwd=folder)["positions"] == []


def test_steps_in_the_log_are_named_as_they_were_served(folder, run):
    asked = ("where", "plan.json", "--source", "web", "--tokens", "0:549", "--run-log", "run.jsonl")
    found = answer("command_where", *asked, "--dp-size", 3, "--micro-batch", 4, cwd=folder)
    expected = places(3, 4) | places(2, 3, last_step=5) | places(4, 1, 6, 8)
    assert named(found) == {position: expected[position] for position in search(run, "web", "web", 0, 549)}
    assert found["consumed"] == 96
    assert all(each["seen"] == (each["position"] < 96) for each in found["positions"])


def test_steps_that_a_later_start_undid_are_not_served(folder, tmp_path):
    records = list(read(folder / "run.jsonl"))
    (tmp_path / "undone.jsonl").write_bytes(lines(*records, {**records[0], "step": 6, "consumed": 72}))
    asked = ("where", "plan.json", "--source", "web", "--tokens", "0:549")
    found = answer("command_where", *asked, "--run-log", tmp_path / "undone.jsonl", cwd=folder)
    assert found["consumed"] == 72
    assert {each["position"] < 72 for each in found["positions"] if "dp_rank" in each} == {True}


def test_a_checkpoint_tells_what_was_seen(folder):
    asked = ("where", "plan.json", "--source", "web", "--tokens", "0:549", "--run-log", "run.jsonl")
    found = answer("command_where", *asked, "--checkpoint", "saved.json", cwd=folder)
    assert found["consumed"] == 60
    assert {each["seen"] for each in found["positions"]} == {True, False}
    assert all(each["seen"] == (each["position"] < 60) for each in found["positions"])


def test_without_batch_sizes_steps_follow_from_the_ranks(folder, plan, tmp_path):
    free = {key: value for key, value in plan.items() if key != "batch_sizes"}
    (folder / "free.json").write_text(json.dumps(free))
    asked = ("where", "free.json", "--source", "web", "--tokens", "0:9")
    assert all("step" not in each for each in answer("command_where", *asked, cwd=folder)["positions"])
    found = answer("command_where", *asked, *LAYOUT, "--accumulation", 2, cwd=folder)
    assert named(found) == {each["position"]: places(2, 3)[each["position"]] for each in found["positions"]}


def test_time_does_not_depend_on_the_length_of_the_run():
    """One epoch of 10^5 and of 10^9 windows: a document of 100 tokens, found in both within twice the time."""
    best = []
    for length in (10**5, 10**9):
        corpus = {"name": "web", "manifest": "a" * 64, "content": "b" * 64, "tokens": 8 * length + 1}
        source = {"name": "web", "corpora": [corpus], "documents": "stored", "windows": "permuted"}
        value = {"format": "fivepoint-plan", "version": 1, "seed": 1, "sources": [source], "phases": [phase(length, {"web": 1}, 8)]}
        plan = Plan.from_json(value | {"skips": [], "batch_sizes": [[0, 512]]})
        layout = Layout.of(plan, 8, 4)
        times = []
        for _ in range(15):
            begun = time.perf_counter()
            found = where(plan, "web", "web", range(4000, 4100), layout)
            times.append(time.perf_counter() - begun)
        assert len(found["positions"]) == 14
        best.append(min(times))
    assert best[1] < 2 * best[0], f"seconds at 10^5 and 10^9 positions: {best}"


def test_people_read_what_was_asked_and_where_it_came_from(folder):
    asked = ("where", "plan.json", "--source", "web")
    said = fivepoint(*asked, "--tokens", "5:9", cwd=folder).stdout
    assert said.startswith("tokens 5 to 9 of corpus web of source web stand in "), said
    assert fivepoint(*asked, "--tokens", "549:549", cwd=folder).stdout.startswith(
        "tokens 549 to 549 of corpus web of source web stand in 0 samples"
    )
    assert fivepoint(*asked, "--document", 4, cwd=folder).stdout.startswith(
        "document 4 of corpus web of source web, tokens 57 to 176, stands in"
    )
    (folder / "corpora/web/documents.jsonl").write_text("".join(json.dumps({"from": f"web.jsonl:{line}"}) + "\n" for line in range(2, 12)))
    try:
        assert fivepoint(*asked, "--document", 4, cwd=folder).stdout.startswith("document 4 (web.jsonl:6) of corpus web of")
        assert answer("command_where", *asked, "--document", 4, cwd=folder)["origin"] == "web.jsonl:6"
    finally:
        (folder / "corpora/web/documents.jsonl").unlink()


def test_a_position_that_no_step_serves_is_said_to_be_none(folder):
    assert "never served" in fivepoint("show", "plan.json", "--position", 229, cwd=folder).stdout
    assert "never served" not in fivepoint("show", "plan.json", "--position", 227, cwd=folder).stdout


REFUSED = {
    "an unknown source": (8, ["--source", "blogs", "--tokens", "0:1"], "expected a source of the plan (books, web, wiki), found 'blogs'"),
    "no corpus of several": (8, ["--source", "books", "--tokens", "0:1"], "(novels, poems), found none; name it with --corpus"),
    "an unknown corpus": (8, ["--source", "books", "--corpus", "web", "--tokens", "0:1"], "found 'web'"),
    "a document past the last": (8, ["--source", "web", "--document", "10"], "a document from 0 to 9"),
    "tokens past the last": (8, ["--source", "web", "--tokens", "0:550"], "tokens from 0 to 549"),
    "tokens backwards": (9, ["--source", "web", "--tokens", "5:4"], "found '5:4'"),
    "neither": (9, ["--source", "web"], "found neither"),
    "both": (9, ["--source", "web", "--tokens", "0:1", "--document", "0"], "found both"),
    "B not divisible": (9, ["--source", "web", "--tokens", "0:1", "--dp-size", "5"], "divides, found 12"),
    "a log that is not there": (6, ["--source", "web", "--tokens", "0:1", "--run-log", "none.jsonl"], "cannot read the run log none.jsonl"),
    "a checkpoint that is none": (
        5,
        ["--source", "web", "--tokens", "0:1", "--checkpoint", "plan.json"],
        "plan.json: expected format",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused(folder, kind):
    code, options, sentence = REFUSED[kind]
    assert sentence in refusal(code, "where", "plan.json", *options, cwd=folder)


def test_a_log_of_another_past_is_refused(folder, plan):
    (folder / "other.json").write_text(json.dumps(plan | {"seed": 6}))
    said = refusal(6, "where", "other.json", "--source", "web", "--tokens", "0:549", "--run-log", "run.jsonl", cwd=folder)
    assert "whose past up to position" in said


def test_a_log_of_another_past_is_refused_also_where_it_covers_nothing_asked(folder, plan, tmp_path):
    last = (folder / "run.jsonl").read_bytes().splitlines(keepends=True)[-1]
    (tmp_path / "late.jsonl").write_bytes(last)
    (folder / "other.json").write_text(json.dumps(plan | {"seed": 6}))
    asked = ("where", "other.json", "--source", "web", "--tokens", "0:0", "--run-log", tmp_path / "late.jsonl")
    assert "whose past up to position" in refusal(6, *asked, cwd=folder)
