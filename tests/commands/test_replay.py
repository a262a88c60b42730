"""`fivepoint replay`: the rows and documents of a step, against a walk through the whole run and the raw files."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from corpora import write_corpus
from independent.run import walk
from independent.steps import deal
from logs import lines, opened
from plans import corpora_of, make_plan, phase
from runs import answer, fivepoint, prepare_run, refusal, steps

from fivepoint.audit.log_lines import find_step, read
from fivepoint.errors import printable
from fivepoint.reference.manifest import Tokenizer

pytestmark = pytest.mark.clause("C4.11")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A run of 8 steps on 2 ranks, past a skip at position 40."""
    folder = prepare_run(tmp_path_factory.mktemp("replay"))
    steps("plan.json", "--dp-size", 2, "--micro-batch", 3, "--steps", 8, "--run-log", "run.jsonl", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def plan(folder) -> dict:
    return json.loads((folder / "plan.json").read_text())


@pytest.fixture(scope="module")
def corpora(folder, plan) -> dict:
    return corpora_of({"paths": {name: [folder / path for path in paths] for name, paths in plan["paths"].items()}})


@pytest.mark.parametrize("step", [1, 4, 8])
def test_a_step_is_what_a_walk_through_the_run_finds(folder, plan, corpora, step):
    found = answer("command_replay", "replay", "plan.json", "run.jsonl", "--step", step, cwd=folder)
    first = 12 * (step - 1)
    samples = walk(plan, corpora)[first : first + 12]
    by_name = {(source, corpus.name): corpus for source, held in corpora.items() for corpus in held}

    rows, documents, previews = [], Counter(), {}
    for rank, micro_batches in enumerate(deal(first, 12, 2, 3)):
        for number, positions in enumerate(micro_batches):
            for row, position in enumerate(positions):
                sample = samples[position - first]
                rows.append((position, rank, number, row, sample.source, sample.corpus, sample.epoch, sample.window, sample.first))
                for token in range(sample.first, sample.first + 9):
                    document = (sample.source, sample.corpus, by_name[sample.source, sample.corpus].documents()[token])
                    documents[document] += 1
                    previews[document] = min(token, previews.get(document, token))

    keys = ("position", "dp_rank", "micro_batch", "row", "source", "corpus", "epoch", "window", "first_token")
    assert [tuple(row[key] for key in keys) for row in found["rows"]] == rows
    assert {(each["source"], each["corpus"], each["document"]): each["tokens"] for each in found["documents"]} == documents
    assert [each["tokens"] for each in found["documents"]] == sorted(documents.values(), reverse=True)
    for each in found["documents"]:
        corpus = by_name[each["source"], each["corpus"]]
        assert each["first_token"] == previews[each["source"], each["corpus"], each["document"]]
        preview = each["preview"]["tokens"]
        assert preview == corpus.tokens[each["first_token"] : each["first_token"] + len(preview)]
    totals = Counter(row[4] for row in rows)
    assert {each["source"]: (each["samples"], each["tokens"]) for each in found["sources"]} == {k: (n, 9 * n) for k, n in totals.items()}


def test_documents_are_named_with_where_they_came_from(folder):
    (folder / "corpora/web/documents.jsonl").write_text("".join(json.dumps({"from": f"a/{number}.txt"}) + "\n" for number in range(10)))
    try:
        found = answer("command_replay", "replay", "plan.json", "run.jsonl", "--step", 1, cwd=folder)["documents"]
        named = {each["document"]: each["origin"] for each in found if "origin" in each}
        assert named and named == {each["document"]: f"a/{each['document']}.txt" for each in found if each["source"] == "web"}
        said = fivepoint("replay", "plan.json", "run.jsonl", "--step", 1, cwd=folder).stdout
        assert "from" in said and f"a/{min(named)}.txt" in said
    finally:
        (folder / "corpora/web/documents.jsonl").unlink()


def test_an_amended_plan_replays_its_past(folder, plan):
    amended = json.loads(json.dumps(plan))
    amended["phases"][1]["weights"] = {"books": 3, "wiki": 1}
    amended["batch_sizes"] = [[0, 12], [96, 24]]
    (folder / "amended.json").write_text(json.dumps(amended))
    asked = ("replay", "run.jsonl", "--step", 8)
    replayed = [answer("command_replay", asked[0], file, *asked[1:], cwd=folder) for file in ("plan.json", "amended.json")]
    assert replayed[0] == replayed[1]


def test_another_past_is_refused_by_name(folder, plan):
    other = json.loads(json.dumps(plan))
    other["seed"] = 6
    (folder / "other.json").write_text(json.dumps(other))
    said = refusal(6, "replay", "other.json", "run.jsonl", "--step", 4, cwd=folder)
    assert (
        f"step 4 of run.jsonl was served by plan {find_step(folder / 'run.jsonl', 4)[0]['plan_hash']}, whose past up to position 48" in said
    )


def test_a_plan_that_ends_before_the_step_is_refused(folder, plan):
    shorter = json.loads(json.dumps(plan))
    shorter["phases"] = [{**shorter["phases"][0], "length": 90}]
    (folder / "shorter.json").write_text(json.dumps(shorter))
    assert "whose past up to position 96 is not" in refusal(6, "replay", "shorter.json", "run.jsonl", "--step", 8, cwd=folder)


def test_a_step_served_again_is_replayed_as_it_was_served_last(folder, plan):
    """As after a crash: from step 5 on the run went on with a larger batch; step 8 was not reached again."""
    records = list(read(folder / "run.jsonl"))
    again = json.loads(json.dumps(plan))
    again["batch_sizes"] = [[0, 12], [60, 24]]
    (folder / "again.json").write_text(json.dumps(again))
    (folder / "again.jsonl").write_bytes(lines(*records))
    saved = ["--start", 60, "--steps", 1, "--run-log", "again.jsonl"]
    steps("again.json", "--dp-size", 4, "--micro-batch", 3, *saved, cwd=folder)
    sixth = answer("command_replay", "replay", "again.json", "again.jsonl", "--step", 6, cwd=folder)
    assert (sixth["batch_size"], sixth["dp_size"], sixth["undone"], len(sixth["rows"])) == (24, 4, False, 24)
    eighth = answer("command_replay", "replay", "again.json", "again.jsonl", "--step", 8, cwd=folder)
    assert (eighth["batch_size"], eighth["undone"]) == (12, True)


def test_a_corrupt_line_in_the_middle_of_the_log_is_refused(folder):
    records = list(read(folder / "run.jsonl"))
    (folder / "corrupt.jsonl").write_bytes(lines(*records[:3]) + b'{"step": 3, "consumed"\n' + lines(*records[3:]))
    said = refusal(6, "replay", "plan.json", "corrupt.jsonl", "--step", 1, cwd=folder)
    assert "corrupt.jsonl, line 4: expected a record" in said and "restore the log from a copy" in said


def test_a_line_that_names_other_samples_is_refused(folder):
    record, _ = find_step(folder / "run.jsonl", 2)
    (folder / "changed.jsonl").write_bytes(lines(opened(0), record | {"samples": {"web": 12}}))
    assert "expected samples {'books'" in refusal(6, "replay", "plan.json", "changed.jsonl", "--step", 2, cwd=folder)


def test_missing_data_and_missing_steps_are_refused(folder, plan):
    assert "found steps between 1 and 8" in refusal(6, "replay", "plan.json", "run.jsonl", "--step", 9, cwd=folder)
    gone = {**plan, "paths": {**plan["paths"], "web": ["gone"]}}
    (folder / "gone.json").write_text(json.dumps(gone))
    assert "found no folder there" in refusal(4, "replay", "gone.json", "run.jsonl", "--step", 1, cwd=folder)


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> Path:
    """A run over two corpora, of which one was made by a tokenizer that is at hand."""
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("words")
    vocabulary = {f"w{number}": number for number in range(50)}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="w0"))
    model.save(str(folder / "words.json"))
    made = Tokenizer("words.json", hashlib.sha256((folder / "words.json").read_bytes()).hexdigest())
    write_corpus(folder / "known", [range(50)] * 3, vocab_size=50, tokenizer=made)
    write_corpus(folder / "unknown", [range(40)] * 3)
    value = make_plan({"known": [folder / "known"], "unknown": [folder / "unknown"]}, [phase(8, {"known": 1, "unknown": 1}, 4)])
    value["budgets"]["unknown"]["tokenizer_signed_off"] = "the tests"
    (folder / "plan.json").write_text(json.dumps(value))
    steps("plan.json", "--dp-size", 1, "--micro-batch", 8, "--run-log", "run.jsonl", cwd=folder)
    return folder


def test_previews_are_text_where_the_tokenizer_is_the_corpus_s(words):
    asked = ("replay", "plan.json", "run.jsonl", "--step", 1, "--tokenizer", "words.json")
    for document in answer("command_replay", *asked, cwd=words)["documents"]:
        text = " ".join(f"w{token}" for token in document["preview"]["tokens"])
        assert document["preview"].get("text") == (text if document["source"] == "known" else None)


def test_a_tokenizer_of_another_corpus_is_refused(words):
    (words / "other.json").write_text((words / "words.json").read_text() + "\n")
    said = refusal(7, "replay", "plan.json", "run.jsonl", "--step", 1, "--tokenizer", "other.json", cwd=words)
    assert "expected a tokenizer that made a corpus of the step" in said


def test_a_preview_gives_the_terminal_no_orders():
    assert printable("a\x1b[31m\nß\u202e") == "a\\x1b[31m\\nß\\u202e"
