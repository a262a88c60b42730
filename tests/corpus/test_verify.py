"""`fivepoint verify` reads every byte: each kind of damage has its own sentence."""

import errno
import hashlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from preparing import fivepoint, refused

from fivepoint.corpus import verify
from fivepoint.corpus.verify import problems
from fivepoint.corpus.write import CorpusWriter
from fivepoint.errors import CorpusError
from fivepoint.reference.manifest import MANIFEST, Tokenizer
from fivepoint.reference.schema import validate


@pytest.fixture
def corpus(tmp_path):
    """A corpus of three shards of equal size, whose ids stay below 5,000."""
    return make(tmp_path / "web")


def make(folder, first=0, tokenizer="0" * 64, documents=30, eod_id=None):
    with CorpusWriter(folder, folder.name, 5000, Tokenizer("t", tokenizer), shard_bytes=20_000, eod_id=eod_id) as writer:
        for number in range(first, first + documents):
            writer.add(np.arange(1000) + number)
        writer.finish()
    return folder


def change(path, at, data):
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)


def remade(folder, **fields):
    """Change the manifest's first shard."""
    value = json.loads((folder / MANIFEST).read_text())
    value["shards"][0] |= fields
    (folder / MANIFEST).write_text(json.dumps(value))


def index(folder, starts, agree=True):
    """Give the first shard another index, and let the manifest agree with its hash."""
    np.save(folder / "web-00000.idx.npy", starts)
    if agree:
        remade(folder, index_sha256=hashlib.sha256((folder / "web-00000.idx.npy").read_bytes()).hexdigest())


def tokens(folder, values):
    """Give the first shard other tokens, and let the manifest agree with their hash."""
    data = np.asarray(values, dtype="<u2").tobytes()
    (folder / "web-00000.bin").write_bytes(data)
    remade(folder, sha256=hashlib.sha256(data).hexdigest())


def swap(folder):
    one, two = folder / "web-00000.bin", folder / "web-00001.bin"
    content = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(content)


STARTS = np.arange(0, 10_000, 1000)
DAMAGE = {
    "cut short": (
        lambda folder: (folder / "web-00001.bin").write_bytes(bytes(19_998)),
        ["web-00001.bin is cut short: expected 20000 bytes, found 19998"],
    ),
    "grown": (
        lambda folder: (folder / "web-00001.bin").write_bytes(bytes(20_002)),
        ["web-00001.bin has grown: expected 20000 bytes, found 20002"],
    ),
    "zeros at the end": (
        lambda folder: change(folder / "web-00002.bin", 12_000, bytes(8_000)),
        ["web-00002.bin is filled with zeros from byte 12288 to 20000"],
    ),
    "zeros": (
        lambda folder: change(folder / "web-00002.bin", 0, bytes(20_000)),
        ["web-00002.bin is filled with zeros from byte 0 to 20000"],
    ),
    "swapped": (swap, ["web-00000.bin holds the bytes of web-00001.bin", "web-00001.bin holds the bytes of web-00000.bin"]),
    "one bit": (lambda folder: change(folder / "web-00001.bin", 7, b"\xff"), ["web-00001.bin holds other bytes"]),
    "missing": (lambda folder: (folder / "web-00001.bin").unlink(), ["web-00001.bin is missing"]),
    "missing index": (lambda folder: (folder / "web-00001.idx.npy").unlink(), ["web-00001.idx.npy is missing"]),
    "extra shard": (
        lambda folder: shutil.copy(folder / "web-00001.bin", folder / "web-00007.bin"),
        ["web-00007.bin is in the folder but not in the manifest"],
    ),
    "points outside": (lambda folder: remade(folder, file="../web-00000.bin"), ["points outside its folder, to '../web-00000.bin'"]),
    "points to the root": (lambda folder: remade(folder, file="/etc/passwd.bin"), ["points outside its folder, to '/etc/passwd.bin'"]),
    "no manifest": (lambda folder: (folder / MANIFEST).write_text("{"), ["manifest.json is not valid JSON"]),
    "sums": (lambda folder: remade(folder, tokens=9_999, bytes=19_998), ["expected tokens to be the sum"]),
    "vocabulary": (lambda folder: tokens(folder, [*range(4_999), 5_000, *[0] * 5_000]), ["web-00000.bin holds token 5000 at number 4999"]),
    "index other": (lambda folder: index(folder, STARTS + (STARTS == 1000), agree=False), ["web-00000.idx.npy holds other bytes"]),
    "index first": (lambda folder: index(folder, STARTS + 1), ["web-00000.idx.npy begins at token 1"]),
    "index descends": (
        lambda folder: index(folder, STARTS[[0, 2, 1, *range(3, 10)]]),
        ["web-00000.idx.npy does not ascend: document 2 starts at 1000"],
    ),
    "index past": (lambda folder: index(folder, STARTS + (STARTS == 9000) * 1001), ["web-00000.idx.npy reaches past its shard"]),
    "index count": (lambda folder: index(folder, STARTS[:9]), ["web-00000.idx.npy has 9 documents: expected 10"]),
    "index dtype": (lambda folder: index(folder, STARTS.astype("<i4")), ["web-00000.idx.npy is no index of one row of int64"]),
    "index axes": (lambda folder: index(folder, STARTS.reshape(2, 5)), ["web-00000.idx.npy is no index of one row of int64"]),
    "index cut": (lambda folder: (folder / "web-00000.idx.npy").write_bytes(b"\x93NUMPY\x01"), ["web-00000.idx.npy is no index"]),
    "index pickled": (lambda folder: index(folder, STARTS.astype(object)), ["web-00000.idx.npy is no index of one row of int64"]),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage(corpus, case):
    assert list(problems(corpus)) == []
    damage, sentences = DAMAGE[case]
    damage(corpus)
    found = list(problems(corpus))
    assert len(found) == len(sentences), found
    for sentence, expected in zip(found, sentences, strict=True):
        assert expected in sentence


def test_a_file_that_cannot_be_read_is_named(corpus, monkeypatch):
    def fails(path, shard):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(verify, "_index", fails)
    found = list(problems(corpus))
    assert len(found) == 3 and all("idx.npy cannot be read: Input/output error; restore it from a copy" in sentence for sentence in found)


def test_a_corpus_that_may_not_be_entered_does_not_pass_for_verified(corpus, monkeypatch):
    exists = Path.exists

    def denied(path: Path) -> bool:
        if path.parent == corpus:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return exists(path)

    monkeypatch.setattr(Path, "exists", denied)
    with pytest.raises(CorpusError, match="Permission denied"):
        verify.corpora_in(corpus.parent)


def test_unfinished_files_and_reports_are_no_problem(corpus):
    (corpus / ".web-00009.bin.tmp").write_bytes(b"left over")
    (corpus / "report.json").write_text("{}")
    assert list(problems(corpus)) == []


@pytest.mark.slow
def test_the_command_on_whole_corpora(tmp_path):
    make(tmp_path / "in/web")
    make(tmp_path / "in/code", first=40)
    done = fivepoint("verify", tmp_path / "in", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) | {"corpora": 0} == {"corpora": 0, "tokens": 60_000, "documents": 60, "problems": []}
    assert "every byte as its manifest says" in fivepoint("verify", tmp_path / "in/web").stdout


@pytest.mark.slow
def test_the_command_lists_every_problem_and_leaves_with_4(corpus):
    swap(corpus)
    done = fivepoint("verify", corpus, "--json")
    validate(json.loads(done.stdout), "command_verify", "the output of verify", AssertionError)
    assert done.returncode == 4 and len(json.loads(done.stdout)["problems"]) == 2
    assert "expected 1 corpus as its manifest says, found 2 problems" in done.stderr
    assert fivepoint("verify", corpus).stdout.count("were swapped") == 2


def test_a_folder_without_a_corpus_is_refused(tmp_path):
    assert "expected a corpus with manifest.json" in refused(4, "verify", tmp_path)


def test_disjoint_corpora(tmp_path):
    one, two = make(tmp_path / "one"), make(tmp_path / "two", first=100)
    done = fivepoint("verify", "--disjoint", one, two)
    assert done.returncode == 0 and "no document is in two" in done.stdout


@pytest.mark.slow
def test_files_may_lie_elsewhere_and_be_linked(corpus):
    """Stores that keep one copy of each file link to it; the hashes say which bytes it must be (F1)."""
    for name in ("web-00001.bin", "web-00001.idx.npy"):
        shutil.move(corpus / name, corpus.parent / name)
        (corpus / name).symlink_to(corpus.parent / name)
    assert fivepoint("verify", corpus).returncode == 0
    change(corpus.parent / "web-00001.bin", 7, b"\xff")
    assert fivepoint("verify", corpus).returncode == 4


def test_corpora_with_problems_are_not_called_disjoint(tmp_path):
    one, two = make(tmp_path / "one"), make(tmp_path / "two", first=100)
    next(two.glob("*.bin")).unlink()
    done = fivepoint("verify", "--disjoint", "--json", one, two)
    assert done.returncode == 4 and "shared" not in json.loads(done.stdout)


def test_a_shared_document_is_named_whatever_ends_it(tmp_path):
    one = make(tmp_path / "one")
    with CorpusWriter(tmp_path / "two", "two", 5000, Tokenizer("t", "0" * 64), eod_id=4999, dtype="uint32") as writer:
        writer.add([])
        writer.add([1, 2, 4999])
        writer.add([*(np.arange(1000) + 17).tolist(), 4999])
        writer.finish()
    done = fivepoint("verify", "--disjoint", one, tmp_path / "two", "--json")
    validate(json.loads(done.stdout), "command_verify", "the output of verify", AssertionError)
    shared = json.loads(done.stdout)["shared"]
    assert done.returncode == 4 and [(one["first_document"], one["second_document"]) for one in shared] == [(17, 2)]


def test_corpora_of_other_tokenizers_cannot_be_compared(tmp_path):
    one, two = make(tmp_path / "one"), make(tmp_path / "two", first=100, tokenizer="1" * 64)
    assert "expected corpora of one tokenizer" in refused(4, "verify", "--disjoint", one, two)


@pytest.mark.slow
def test_one_corpus_cannot_be_disjoint(corpus):
    assert "at least two corpora" in refused(9, "verify", "--disjoint", corpus)


@pytest.mark.slow
def test_a_corpus_is_not_compared_with_itself(corpus):
    (corpus.parent / "link").symlink_to(corpus)
    for other in (corpus, corpus.parent / "link"):
        assert "which are one; take one out" in refused(9, "verify", "--disjoint", corpus, other)


@pytest.mark.slow
def test_a_shared_document_is_named_with_where_it_came_from(tmp_path):
    one, two = make(tmp_path / "one"), make(tmp_path / "two", first=29)
    (two / "documents.jsonl").write_text('{"from": "b.jsonl:7"}\n')
    done = fivepoint("verify", "--disjoint", one, two)
    assert done.returncode == 4 and f"document 29 of {one} and document 0 (b.jsonl:7) of {two}; drop it" in done.stderr
    done = fivepoint("verify", "--disjoint", one, two, "--json")
    validate(json.loads(done.stdout), "command_verify", "the output of verify", AssertionError)
    assert json.loads(done.stdout)["shared"][0]["second_origin"] == "b.jsonl:7"
