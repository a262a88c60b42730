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
    return tmp_path


CASES = {
    "no such file": (7, ["--source", "a={}/nothing"], "nothing at"),
    "name twice": (3, ["--source", "a={}/good.jsonl", "--source", "a={}/body.jsonl"], "'a' twice"),
    "file twice": (3, ["--source", "a={}/good.jsonl", "--source", "b={}/good.jsonl"], "in a and in b"),
    "no name": (3, ["--source", "{}/good.jsonl"], "NAME=PATH"),
    "bad name": (3, ["--source", "../a={}/good.jsonl"], "corpus name"),
    "empty file": (7, ["--source", "a={}/empty.txt"], "found none of 1 documents (1 empty, 0 held out)"),
    "empty folder": (7, ["--source", "a={}/empty"], "expected files for source a"),
    "empty documents": (7, ["--source", "a={}/blank.jsonl"], "(2 empty, 0 held out)"),
    "nothing matches": (7, ["--source", "a={}", "--glob", "*.rs"], "*.rs"),
    "not UTF-8": (7, ["--source", "a={}/latin.txt"], "latin.txt is not UTF-8 text at byte 3;"),
    "torn JSON": (7, ["--source", "a={}/torn.jsonl"], "torn.jsonl:2 is not JSON"),
    "missing field": (7, ["--source", "a={}/body.jsonl"], "'text' in"),
    "cut gzip": (7, ["--source", "a={}/cut.jsonl.gz"], "cut.jsonl.gz is corrupt or cut short"),
    "missing column": (7, ["--source", "a={}/body.parquet"], "the column 'text'"),
    "all repetitive": (7, ["--source", "a={}/good.jsonl", "--holdout", "0.99999999999"], "2 held out"),
    "later source": (7, ["--source", "a={}/good.jsonl", "--source", "b={}/latin.txt"], "latin.txt"),
    "holdout of 1": (3, ["--source", "a={}/good.jsonl", "--holdout", "1"], "--holdout from 0 to below 1"),
    "holdout no number": (3, ["--source", "a={}/good.jsonl", "--holdout", "nan"], "decimal number"),
    "share above 1": (3, ["--source", "a={}/good.jsonl", "--min-unique-lines", "1.5"], "--min-unique-lines"),
    "no workers": (3, ["--source", "a={}/good.jsonl", "--workers", "0"], "--workers of at least 1"),
    "no such policy": (3, ["--source", "a={}/good.jsonl", "--invalid-utf8", "guess"], "refuse, replace or skip"),
    "no such EOD": (7, ["--source", "a={}/good.jsonl", "--eod", "<none>"], "'<none>'"),
    "EOD and none": (3, ["--source", "a={}/good.jsonl", "--eod", "a", "--no-eod"], "found both"),
    "EOD in text": (7, ["--source", "a={}/good.jsonl", "--eod", "o"], "choose another with --eod"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input(files, case):
    code, arguments, message = CASES[case]
    arguments = [argument.format(files) for argument in arguments]
    assert message in refused(code, "prepare", "--out", files / "out", "--tokenizer", files / "t.json", "--json", *arguments)
    left = sorted(tree(files / "out")) if (files / "out").exists() else []
    assert [name for name in left if not name.startswith("a/")] == []
    assert left == [] or (case == "later source" and json.loads((files / "out/a/manifest.json").read_text())["documents"] == 2)


TOKENIZERS = {
    "none": (3, [], "found none"),
    "two": (3, ["--tokenizer", "{}/t.json", "--train-bpe", "300"], "found both"),
    "missing": (7, ["--tokenizer", "{}/nothing.json"], "cannot read the tokenizer"),
    "rubbish": (7, ["--tokenizer", "{}/rubbish.json"], "expected a tokenizer in rubbish.json"),
    "too small": (3, ["--train-bpe", "256"], "at least 257"),
    "too large": (3, ["--train-bpe", "99999999999999"], "at most 4194304"),
    "no text": (3, ["--train-bpe", "300", "--train-characters", "0"], "--train-characters of at least 1"),
}


@pytest.mark.parametrize("case", TOKENIZERS)
def test_bad_tokenizer(files, case):
    code, arguments, message = TOKENIZERS[case]
    arguments = [argument.format(files) for argument in arguments]
    assert message in refused(code, "prepare", "--out", files / "out", "--source", f"a={files}/good.jsonl", *arguments)
    assert not (files / "out").exists() or tree(files / "out") == {}


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
