"""`fivepoint prepare` as a person runs it: what comes out is decided by the inputs alone."""

import hashlib
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from preparing import EOD, byte_tokenizer, documents, fivepoint, many, prepared, refused, texts, tree, write_jsonl

from fivepoint.corpus.origins import origins


@pytest.fixture
def tokenizer(tmp_path):
    return byte_tokenizer(tmp_path / "tokenizer.json")


def test_every_document_ends_in_one_end_of_document(tmp_path, tokenizer):
    written = ["one", f"with {EOD} inside", "", "é\n"]
    write_jsonl(tmp_path / "web.jsonl", written)
    (report,) = prepared(tmp_path / "out", "--tokenizer", tokenizer, "--source", f"web={tmp_path}/web.jsonl")
    assert texts(tmp_path / "out/web") == ["one", f"with {EOD} inside", "é\n"]
    assert (report["documents"], report["kept"], report["dropped"]) == (4, 3, {"empty": 1})
    manifest = json.loads((tmp_path / "out/web/manifest.json").read_text())
    assert (manifest["eod_id"], manifest["vocab_size"], manifest["dtype"]) == (256, 257, "uint16")
    assert manifest["tokenizer"] == {"name": "tokenizer.json", "sha256": hashlib.sha256(tokenizer.read_bytes()).hexdigest()}


def test_the_table_names_corpora_and_what_was_dropped(tmp_path, tokenizer):
    write_jsonl(tmp_path / "web.jsonl", ["one", ""])
    done = fivepoint("prepare", "--out", tmp_path / "o", "--tokenizer", tokenizer, "--source", f"web={tmp_path}/web.jsonl")
    assert done.returncode == 0 and done.stderr == ""
    assert "web" in done.stdout and "1 empty" in done.stdout and "dropped.jsonl" in done.stdout


def test_without_an_end_of_document_token(tmp_path, tokenizer):
    write_jsonl(tmp_path / "web.jsonl", ["one", "two"])
    prepared(tmp_path / "out", "--tokenizer", tokenizer, "--no-eod", "--source", f"web={tmp_path}/web.jsonl")
    assert documents(tmp_path / "out/web") == [list(b"one"), list(b"two")]
    assert "eod_id" not in json.loads((tmp_path / "out/web/manifest.json").read_text())


def test_repetitive_documents_are_dropped_and_listed(tmp_path, tokenizer):
    write_jsonl(tmp_path / "web.jsonl", ["a\nb\nc\nd", "a\na\na\na", "a\nb\na\nb\n"])
    (report,) = prepared(tmp_path / "o", "--tokenizer", tokenizer, "--min-unique-lines", "0.5", "--source", f"web={tmp_path}/web.jsonl")
    assert texts(tmp_path / "o/web") == ["a\nb\nc\nd", "a\nb\na\nb\n"]
    assert report["dropped"] == {"too few different lines": 1}
    line = {"document": "web.jsonl:2", "reason": "too few different lines", "different_lines": 1, "lines": 4}
    assert [json.loads(one) for one in (tmp_path / "o/web/dropped.jsonl").read_text().splitlines()] == [line]


@pytest.mark.slow
def test_the_holdout_and_the_rest_are_all_there_is_and_share_nothing(tmp_path, tokenizer):
    written = many(200) * 2
    write_jsonl(tmp_path / "web.jsonl", written)
    arguments = ["--tokenizer", tokenizer, "--source", f"web={tmp_path}/web.jsonl", "--holdout", "0.25"]
    prepared(tmp_path / "out", *arguments)
    train, holdout = texts(tmp_path / "out/web"), texts(tmp_path / "out/web-holdout")
    assert sorted(train + holdout) == sorted(written)
    assert not set(train) & set(holdout)
    assert 60 < len(holdout) < 140
    prepared(tmp_path / "other", *arguments, "--seed", "1")
    assert texts(tmp_path / "other/web-holdout") != holdout


def test_the_holdout_is_chosen_by_content_and_seed_alone(tmp_path, tokenizer):
    """The rule by hand: SHA-256 of the seed and of the tokens' SHA-256 as uint32, its first 8 bytes below a share of 2^64."""
    written = many(40)
    write_jsonl(tmp_path / "web.jsonl", written)
    prepared(tmp_path / "out", "--tokenizer", tokenizer, "--source", f"web={tmp_path}/web.jsonl", "--holdout", "0.3", "--seed", "7")
    expected = []
    for text in written:
        content = hashlib.sha256(b"".join(byte.to_bytes(4, "little") for byte in text.encode())).digest()
        drawn = int.from_bytes(hashlib.sha256((7).to_bytes(8, "little") + content).digest()[:8], "little")
        if drawn * 10 < 3 * 2**64:
            expected.append(text)
    assert texts(tmp_path / "out/web-holdout") == expected


@pytest.mark.slow
def test_neither_workers_nor_hash_seed_decide(tmp_path, tokenizer):
    write_jsonl(tmp_path / "web.jsonl", [text * (number % 50) for number, text in enumerate(many(2000))])
    (tmp_path / "long.txt").write_text("".join(many(20_000)))
    sources = ["--source", f"web={tmp_path}/web.jsonl", "--source", f"long={tmp_path}/long.txt"]
    found = []
    for workers, seed in ((1, "0"), (3, "1")):
        arguments = [*sources, "--shard-bytes", "100000", "--holdout", "0.1", "--min-unique-lines", "0.01"]
        arguments += ["--tokenizer", tokenizer, "--workers", str(workers)]
        prepared(tmp_path / f"out{workers}", *arguments, PYTHONHASHSEED=seed)
        found.append(tree(tmp_path / f"out{workers}"))
    assert found[0] == found[1]
    assert len([name for name in found[0] if name.startswith("web/web-0")]) > 10


def test_a_long_document_is_cut_and_put_together(tmp_path, tokenizer):
    text = "".join(many(30_000))
    (tmp_path / "long.txt").write_text(text)
    (report,) = prepared(tmp_path / "out", "--tokenizer", tokenizer, "--source", f"long={tmp_path}/long.txt")
    assert report["long_documents"] == 1 and report["pieces"] > 2 and report["inexact"] == 0
    assert texts(tmp_path / "out/long") == [text]


@pytest.mark.slow
@pytest.mark.parametrize("invalid", ["replace", "skip"])
def test_what_is_done_about_text_that_is_not_utf8_is_counted(tmp_path, tokenizer, invalid):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_bytes(b"good \xff bad")
    (tmp_path / "in/b.txt").write_text("good")
    (report,) = prepared(tmp_path / "out", "--tokenizer", tokenizer, "--source", f"web={tmp_path}/in", "--invalid-utf8", invalid)
    if invalid == "replace":
        assert report["replaced"] == 1 and texts(tmp_path / "out/web") == ["good \ufffd bad", "good"]
    else:
        assert report["dropped"] == {"not UTF-8": 1} and texts(tmp_path / "out/web") == ["good"]


@pytest.mark.slow
def test_a_tokenizer_trained_on_the_spot_is_the_same_each_time(tmp_path):
    write_jsonl(tmp_path / "web.jsonl", many(500))
    for run in ("a", "b"):
        arguments = ["--train-bpe", "300", "--source", f"web={tmp_path}/web.jsonl", "--train-characters", "10000"]
        prepared(tmp_path / run, *arguments, PYTHONHASHSEED="1" if run == "a" else "2", RAYON_NUM_THREADS="1" if run == "a" else "4")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    assert json.loads((tmp_path / "a/web/manifest.json").read_text())["vocab_size"] == 300
    assert prepared(tmp_path / "a", *arguments)[0]["reused"]
    said = refused(3, "prepare", "--out", tmp_path / "a", *arguments, "--train-bpe", "301")
    assert f"trained on other inputs; to add a source to these corpora give --tokenizer {tmp_path}/a/tokenizer.json in place of" in said


def test_a_vocabulary_smaller_than_was_asked_for_is_said(tmp_path):
    (tmp_path / "a.txt").write_text("twenty bytes of text")
    done = fivepoint("prepare", "--out", tmp_path / "out", "--train-bpe", "2000", "--source", f"a={tmp_path}/a.txt")
    found = json.loads((tmp_path / "out/a/manifest.json").read_text())["vocab_size"]
    assert done.returncode == 0 and f"{found} ids of the 2,000 that were asked for" in done.stdout.replace("\n", " "), done.stdout
    report = json.loads((tmp_path / "out/tokenizer.report.json").read_text())
    assert (report["asked"], report["vocab_size"]) == (2000, found) and found < 2000


@pytest.mark.slow
def test_a_trained_tokenizer_that_other_corpora_need_is_not_written_over(tmp_path):
    for name in ("a", "b"):
        write_jsonl(tmp_path / f"{name}.jsonl", many(50, name))
    a, b = ([f"--source={name}={tmp_path}/{name}.jsonl"] for name in ("a", "b"))
    arguments = ["prepare", "--out", tmp_path / "out"]
    assert fivepoint(*arguments, "--train-bpe", "300", *a).returncode == 0
    before = tree(tmp_path / "out")
    said = refused(3, *arguments, "--train-bpe", "300", "--force", *b)
    assert f"found a; give --tokenizer {tmp_path}/out/tokenizer.json, name their sources too" in said
    assert tree(tmp_path / "out") == before
    assert fivepoint(*arguments, "--tokenizer", tmp_path / "out/tokenizer.json", *a, *b).returncode == 0
    assert tree(tmp_path / "out").items() >= before.items()
    assert fivepoint(*arguments, "--train-bpe", "300", "--force", *a, *b).returncode == 0
    hashes = {json.loads((tmp_path / f"out/{name}/manifest.json").read_text())["tokenizer"]["sha256"] for name in ("a", "b")}
    assert hashes == {hashlib.sha256((tmp_path / "out/tokenizer.json").read_bytes()).hexdigest()}


def test_every_document_s_origin_stands_in_its_line(tmp_path, tokenizer):
    written = many(60)
    (tmp_path / "in").mkdir()
    write_jsonl(tmp_path / "in/b.jsonl", [*written, "", "again\nagain\nagain"])
    (tmp_path / "in/a:1\n.txt").write_text("a name of two lines")
    pq.write_table(pa.table({"text": ["first row", "second row"]}), tmp_path / "in/c.parquet")
    arguments = ["--tokenizer", tokenizer, "--source", f"web={tmp_path}/in", "--holdout", "0.3", "--min-unique-lines", "0.5"]
    (report,) = prepared(tmp_path / "out", *arguments)
    by_origin = {f"b.jsonl:{number}": text for number, text in enumerate(written, 1)}
    by_origin |= {"a:1\n.txt": "a name of two lines", "c.parquet:1": "first row", "c.parquet:2": "second row"}
    seen = []
    for corpus in report["corpora"]:
        folder = tmp_path / "out" / corpus["name"]
        named = [json.loads(line)["from"] for line in (folder / corpus["origins"]).read_text().splitlines()]
        assert [by_origin[name] for name in named] == texts(folder)
        assert origins(folder, range(10**6)) == dict(enumerate(named))
        seen += named
    assert sorted(seen) == sorted(by_origin)


def test_origins_are_found_across_blocks_and_missing_ones_are_none(tmp_path):
    with open(tmp_path / "documents.jsonl", "w") as file:
        file.writelines(json.dumps({"from": f"{'long ' * 2000}:{number}"}) + "\n" for number in range(300))
    assert {number: name[-4:] for number, name in origins(tmp_path, [0, 105, 299, 300]).items()} == {
        0: "g :0",
        105: ":105",
        299: ":299",
    }
    (tmp_path / "documents.jsonl").write_text('{"from": "a"}\n{"fr\n{"from": "c"}')
    assert origins(tmp_path, [0, 2]) == {0: "a"} and origins(tmp_path, [1]) == {} == origins(tmp_path / "none", [0])


def test_a_finished_source_is_kept_and_a_missing_one_made(tmp_path, tokenizer):
    write_jsonl(tmp_path / "a.jsonl", many(10))
    write_jsonl(tmp_path / "b.jsonl", many(10, "b "))
    first = ["--tokenizer", tokenizer, "--source", f"a={tmp_path}/a.jsonl"]
    prepared(tmp_path / "out", *first)
    before = (tmp_path / "out/a/a-00000.bin").stat().st_mtime_ns
    reports = prepared(tmp_path / "out", *first, "--source", f"b={tmp_path}/b.jsonl")
    assert [report["reused"] for report in reports] == [True, False]
    assert (tmp_path / "out/a/a-00000.bin").stat().st_mtime_ns == before


@pytest.mark.slow
def test_other_inputs_are_refused_and_with_force_written(tmp_path, tokenizer):
    write_jsonl(tmp_path / "a.jsonl", many(10))
    arguments = ["--out", tmp_path / "out", "--tokenizer", tokenizer, "--source", f"a={tmp_path}/a.jsonl"]
    assert fivepoint("prepare", *arguments, "--holdout", "0.5").returncode == 0
    before = tree(tmp_path / "out")
    assert "(holdout)" in refused(3, "prepare", *arguments)
    write_jsonl(tmp_path / "a.jsonl", many(11))
    assert "(files)" in refused(3, "prepare", *arguments, "--holdout", "0.5")
    assert tree(tmp_path / "out") == before
    assert fivepoint("prepare", *arguments, "--force").returncode == 0
    assert texts(tmp_path / "out/a") == many(11)
    assert not (tmp_path / "out/a-holdout").exists()


def test_a_damaged_output_is_not_reused(tmp_path, tokenizer):
    write_jsonl(tmp_path / "a.jsonl", many(10))
    arguments = ["--out", tmp_path / "out", "--tokenizer", tokenizer, "--source", f"a={tmp_path}/a.jsonl"]
    assert fivepoint("prepare", *arguments).returncode == 0
    with open(tmp_path / "out/a/a-00000.bin", "ab") as file:
        file.write(b"xx")
    assert "was changed since" in refused(4, "prepare", *arguments)


def test_a_corpus_of_somebody_else_is_left_alone(tmp_path, tokenizer):
    write_jsonl(tmp_path / "a.jsonl", many(10))
    arguments = ["--out", tmp_path / "out", "--tokenizer", tokenizer, "--source", f"a={tmp_path}/a.jsonl"]
    assert fivepoint("prepare", *arguments).returncode == 0
    (tmp_path / "out/a/report.json").unlink()
    before = tree(tmp_path / "out")
    assert "not prepared from source a" in refused(4, "prepare", *arguments, "--force")
    assert tree(tmp_path / "out") == before


@pytest.mark.slow
def test_what_would_be_refused_after_training_is_refused_before(tmp_path, tokenizer):
    write_jsonl(tmp_path / "web.jsonl", many(30))
    arguments = ["--out", tmp_path / "out", "--source", f"web={tmp_path}/web.jsonl"]
    fivepoint("prepare", *arguments, "--tokenizer", tokenizer)
    before = tree(tmp_path / "out")
    training = [*arguments, "--train-bpe", "300"]
    assert "with another tokenizer than the one to be trained" in refused(3, "prepare", *training)
    assert "found --eod <end>; leave it out" in refused(9, "prepare", *training, "--force", "--eod", "<end>")
    assert tree(tmp_path / "out") == before
