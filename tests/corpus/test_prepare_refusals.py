"""What `fivepoint prepare` refuses: one sentence, an exit code that says which kind, and nothing written."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from preparing import byte_tokenizer, refused, tree, write_jsonl


@pytest.fixture
def files(tmp_path):
    """A folder with a tokenizer and an input of each kind, good and bad."""
    byte_tokenizer(tmp_path / "t.json")
    write_jsonl(tmp_path / "good.jsonl", ["one", "two"])
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "empty").mkdir()
    write_jsonl(tmp_path / "blank.jsonl", ["", ""])
    write_jsonl(tmp_path / "body.jsonl", ["one"], field="body")
    (tmp_path / "latin.txt").write_bytes("café".encode("latin-1"))
    (tmp_path / "torn.jsonl").write_text('{"text": "one"}\n{"text": "tw')
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"text": "one"}\n' * 99)[:-9])
    pq.write_table(pa.table({"body": ["one"]}), tmp_path / "body.parquet")
    (tmp_path / "rubbish.json").write_text("{}")
    (tmp_path / "run.toml").write_text("seed = 1\n[sources.a]\n")
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.txt").write_text("one")
    return tmp_path


CASES = {
    "no such file": (7, ["--source", "a={}/nothing"], "nothing at"),
    "name twice": (9, ["--source", "a={}/good.jsonl", "--source", "a={}/body.jsonl"], "'a' twice"),
    "file twice": (9, ["--source", "a={}/good.jsonl", "--source", "b={}/good.jsonl"], "in a and in b"),
    "no name": (2, ["--source", "{}/good.jsonl"], "NAME=PATH"),
    "bad name": (2, ["--source", "../a={}/good.jsonl"], "found '../a'; choose another"),
    "long name": (2, ["--source", "x" * 193 + "={}/good.jsonl"], "a corpus name of at most 192 bytes"),
    "empty file": (7, ["--source", "a={}/empty.txt"], "found none of 1 documents (1 empty, 0 held out)"),
    "empty folder": (7, ["--source", "a={}/empty"], "expected files for source a"),
    "empty documents": (7, ["--source", "a={}/blank.jsonl"], "(2 empty, 0 held out)"),
    "nothing matches": (7, ["--source", "a={}/mixed", "--glob", "*.rs"], "*.rs"),
    "not UTF-8": (7, ["--source", "a={}/latin.txt"], "latin.txt is not UTF-8 text at byte 3;"),
    "torn JSON": (7, ["--source", "a={}/torn.jsonl"], "torn.jsonl:2 is not JSON"),
    "missing field": (7, ["--source", "a={}/body.jsonl"], "'text' in"),
    "cut gzip": (7, ["--source", "a={}/cut.jsonl.gz"], "cut.jsonl.gz is corrupt or cut short"),
    "missing column": (7, ["--source", "a={}/body.parquet"], "the column 'text'"),
    "all repetitive": (7, ["--source", "a={}/good.jsonl", "--holdout", "0.99999999999"], "2 held out"),
    "later source": (7, ["--source", "a={}/good.jsonl", "--source", "b={}/latin.txt"], "latin.txt"),
    "holdout of 1": (2, ["--source", "a={}/good.jsonl", "--holdout", "1"], "--holdout from 0 to below 1"),
    "holdout of 2": (2, ["--source", "a={}/good.jsonl", "--holdout", "2"], "below 1, found 2; give a share"),
    "holdout no number": (2, ["--source", "a={}/good.jsonl", "--holdout", "nan"], "decimal number"),
    "share above 1": (2, ["--source", "a={}/good.jsonl", "--min-unique-lines", "1.5"], "--min-unique-lines from 0 to 1, found 1.5; "),
    "no workers": (2, ["--source", "a={}/good.jsonl", "--workers", "0"], "--workers of at least 1"),
    "negative seed": (2, ["--source", "a={}/good.jsonl", "--seed", "-1"], "--seed of at least 0"),
    "no such policy": (2, ["--source", "a={}/good.jsonl", "--invalid-utf8", "guess"], "refuse, replace or skip"),
    "no such EOD": (7, ["--source", "a={}/good.jsonl", "--eod", "<none>"], "'<none>'"),
    "EOD and none": (9, ["--source", "a={}/good.jsonl", "--eod", "a", "--no-eod"], "found both"),
    "empty EOD": (2, ["--source", "a={}/good.jsonl", "--eod", ""], "found an empty one"),
    "encoding of another kind": (
        7,
        ["--source", "a={}/good.jsonl", "--encoding", "cl100k_base"],
        "found tokenizers JSON, which needs none",
    ),
    "EOD in text": (7, ["--source", "a={}/good.jsonl", "--eod", "o"], "choose another with --eod"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_bad_input(files, case):
    code, arguments, message = CASES[case]
    arguments = [argument.format(files) for argument in arguments]
    assert message in refused(code, "prepare", "--out", files / "out", "--tokenizer", files / "t.json", "--json", *arguments)
    if case == "later source":
        assert [path.name for path in (files / "out").iterdir()] == ["a"]
        assert json.loads((files / "out/a/manifest.json").read_text())["documents"] == 2
    else:
        assert not (files / "out").exists(), "a folder that was made for nothing is gone"


TOKENIZERS = {
    "none": (9, [], "found none"),
    "two": (9, ["--tokenizer", "{}/t.json", "--train-bpe", "300"], "found both"),
    "missing": (7, ["--tokenizer", "{}/nothing.json"], "cannot read the tokenizer"),
    "rubbish": (7, ["--tokenizer", "{}/rubbish.json"], "expected a tokenizer in rubbish.json"),
    "a TOML file": (7, ["--tokenizer", "{}/run.toml"], "a sentencepiece model), found what seems to be a TOML file; give one of these"),
    "text": (7, ["--tokenizer", "{}/empty/../latin.txt"], "a sentencepiece model), found something else; give one of these"),
    "an encoding to train": (9, ["--train-bpe", "300", "--encoding", "cl100k_base"], "leave --encoding out"),
    "too small": (2, ["--train-bpe", "256"], "at least 257"),
    "too large": (2, ["--train-bpe", "99999999999999"], "at most 4194304"),
    "no text": (2, ["--train-bpe", "300", "--train-characters", "0"], "--train-characters of at least 1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", TOKENIZERS)
def test_bad_tokenizer(files, case):
    code, arguments, message = TOKENIZERS[case]
    arguments = [argument.format(files) for argument in arguments]
    assert message in refused(code, "prepare", "--out", files / "out", "--source", f"a={files}/good.jsonl", *arguments)
    assert not (files / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("out", "source"), [("texts", "texts"), ("texts/out", "texts"), ("out", "out/a"), ("out", "out/a-holdout/b.txt")])
def test_output_among_what_is_read(files, out, source):
    """The next run would read what this one wrote, or find strangers where its corpora go."""
    path = files / source
    (path if path.suffix == "" else path.parent).mkdir(parents=True)
    (path / "b.txt" if path.suffix == "" else path).write_text("text")
    before = tree(files)
    arguments = ("--tokenizer", files / "t.json", "--source", f"a={path}")
    assert "found " in refused(9, "prepare", "--out", files / out, *arguments)
    assert tree(files) == before


@pytest.mark.slow
def test_an_output_folder_that_was_there_stays(files):
    (files / "out").mkdir()
    refused(7, "prepare", "--out", files / "out", "--tokenizer", files / "t.json", "--source", f"a={files}/latin.txt")
    assert (files / "out").is_dir()
    refused(7, "prepare", "--out", files / "out/deep/er", "--tokenizer", files / "t.json", "--source", f"a={files}/latin.txt")
    assert list((files / "out").iterdir()) == []


def test_no_text_to_train_on(files):
    assert "expected text to train" in refused(7, "prepare", "--out", files / "o", "--source", f"a={files}/empty.txt", "--train-bpe", "300")


def test_a_library_that_is_missing_is_named_with_what_brings_it(files):
    # A package of that name, earlier on the path, that says what an absent one makes Python say.
    (files / "absent" / "pyarrow").mkdir(parents=True)
    (files / "absent" / "pyarrow" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'pyarrow'\", name='pyarrow')")
    arguments = ("prepare", "--out", files / "out", "--tokenizer", files / "t.json", "--source", f"a={files / 'body.parquet'}")
    said = refused(7, *arguments, PYTHONPATH=str(files / "absent"))
    assert "need the package pyarrow: pip install 'fivepoint[prepare]'" in said
    assert not (files / "out" / "a").exists()
