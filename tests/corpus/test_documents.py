"""Documents of files of every kind: which there are, in which order, and what is refused."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from preparing import read_documents, write_jsonl

from fivepoint.corpus.documents import LONG_LINE, NOT_UTF8
from fivepoint.corpus.sources import parse_sources
from fivepoint.errors import InputError, OptionError, UsageError


def test_the_files_of_a_folder_come_in_the_order_of_their_paths(tmp_path):
    for name in ("b.txt", "a/z.py", "a.txt", "B.txt", ".hidden", ".git/x", "é.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert read_documents(tmp_path) == [(name, name) for name in ("B.txt", "a.txt", "a/z.py", "b.txt", "é.md")]
    assert read_documents(tmp_path, ["*.py", "b.*"]) == [("a/z.py", "a/z.py"), ("b.txt", "b.txt")]


def test_linked_files_are_read_and_linked_folders_are_not(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "blob").write_text("content")
    (tmp_path / "in/link.txt").symlink_to(tmp_path / "blob")
    (tmp_path / "in/circle").symlink_to(tmp_path / "in")
    (tmp_path / "in/dangling").symlink_to(tmp_path / "nothing")
    assert read_documents(tmp_path / "in") == [("link.txt", "content")]


def test_a_line_of_jsonl_is_a_document_and_blank_lines_are_none(tmp_path):
    path = tmp_path / "web.jsonl"
    path.write_text('\ufeff{"text": "one"}\n\n  \n{"text": "", "n": [1]}\n{"text": "t\\u00e9\\n\\ud83d\\ude00"}')
    assert read_documents(path) == [("web.jsonl:1", "one"), ("web.jsonl:4", ""), ("web.jsonl:5", "té\n😀")]


@pytest.mark.parametrize("length", [1, LONG_LINE])
def test_a_byte_order_mark_begins_a_file_and_no_text(tmp_path, length):
    text = "\ufeff" + "a" * length
    (tmp_path / "book.txt").write_text("\ufeff" + text)
    (tmp_path / "web.jsonl").write_text("\ufeff" + f'{{"text": "{text}"}}\n' * 2)
    assert [text for _, text in read_documents(tmp_path / "book.txt")] == [text]
    assert [text for _, text in read_documents(tmp_path / "web.jsonl")] == [text, text]


@pytest.mark.parametrize("length", [1, LONG_LINE])
def test_a_field_named_twice_is_refused(tmp_path, length):
    path = tmp_path / "web.jsonl"
    path.write_text('{"meta": {"text": "one"}, "text": "other", "more": ["text"]}\n')
    assert read_documents(path) == [("web.jsonl:1", "other")]
    path.write_text('{"text": "one", "text": "' + "a" * length + '"}\n')
    with pytest.raises(InputError, match=r"the field 'text' once in .*web\.jsonl:1, found it twice"):
        read_documents(path)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("kind", [".jsonl", ".txt"])
def test_compressed_files_of_several_members(tmp_path, kind, suffix):
    compress = gzip.compress if suffix == ".gz" else zstandard.ZstdCompressor().compress
    blocks = [b'{"text": "one"}\n{"te', b'xt": "two"}\n'] if kind == ".jsonl" else [b"one\n", b"two\n"]
    path = tmp_path / f"web{kind}{suffix}"
    path.write_bytes(b"".join(map(compress, blocks)))
    expected = [(f"{path.name}:1", "one"), (f"{path.name}:2", "two")] if kind == ".jsonl" else [(path.name, "one\ntwo\n")]
    assert read_documents(path) == expected


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("damage", ["cut", "changed", "other"])
def test_a_corrupt_compressed_file_is_refused(tmp_path, suffix, damage):
    data = b'{"text": "some text here"}\n' * 1000
    params = zstandard.ZstdCompressor(write_checksum=True)
    data = bytearray(gzip.compress(data) if suffix == ".gz" else params.compress(data))
    if damage == "cut":
        del data[len(data) // 2 :]
    elif damage == "changed":
        data[-3] ^= 255  # of the length or the checksum at the end
    else:
        data[:] = b"not compressed at all"
    path = tmp_path / f"web.jsonl{suffix}"
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"web\.jsonl{suffix} is corrupt or cut short"):
        read_documents(path)


def test_a_field_of_another_name_is_shown_in_one_line(tmp_path):
    (tmp_path / "web.jsonl").write_text(json.dumps({"a\nb\x1b": "one", "body": "two"}))
    with pytest.raises(InputError) as refused:
        read_documents(tmp_path / "web.jsonl")
    assert r"found a\nb\x1b, body;" in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "values", [pa.array(["one", "", "té"]), pa.array([b"one", b"", "té".encode()]), pa.array(["one", "", "té"]).dictionary_encode()]
)
def test_a_row_of_parquet_is_a_document(tmp_path, values):
    pq.write_table(pa.table({"n": [1, 2, 3], "body": values}), tmp_path / "web.parquet", row_group_size=2)
    assert read_documents(tmp_path / "web.parquet", text_field="body") == [
        ("web.parquet:1", "one"),
        ("web.parquet:2", ""),
        ("web.parquet:3", "té"),
    ]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"body": ["a"], "n": [1]}, "the column 'text' in .*found body, n"),
        ({"text": [1]}, "expected text in column 'text'.*found int64"),
        ({"text": ["a", None]}, "found none in row 2"),
    ],
)
def test_parquet_without_the_text_is_refused(tmp_path, table, message):
    pq.write_table(pa.table(table), tmp_path / "web.parquet")
    with pytest.raises(InputError, match=message):
        read_documents(tmp_path / "web.parquet")


def test_a_file_that_is_not_parquet_is_refused(tmp_path):
    (tmp_path / "web.parquet").write_text("not Parquet")
    with pytest.raises(InputError, match=r"cannot read .*web\.parquet as Parquet"):
        read_documents(tmp_path / "web.parquet")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"web\.jsonl:2 is not JSON"),
        ('{"text": "a"} x', r"web\.jsonl:2 is not JSON"),
        ("[" * 100_000, r"web\.jsonl:2 is not JSON"),
        ('"text"', r"JSON object in .*web\.jsonl:2, found str"),
        ('{"body": "a", "id": 1}', r"the field 'text' in .*web\.jsonl:2, found body, id"),
        ('{"text": null}', r"text in the field 'text' of .*web\.jsonl:2, found null"),
    ],
)
def test_a_line_that_holds_no_text_is_refused(tmp_path, line, message):
    (tmp_path / "web.jsonl").write_text('{"text": "a"}\n' + line + "\n")
    with pytest.raises(InputError, match=message):
        read_documents(tmp_path / "web.jsonl")


BAD = {
    "web.txt": (b"good " * 300_000 + b"\xff bad", 1_500_000),
    "web.jsonl": (b'{"text": "good"}\n{"text": "\xff bad"}\n', 10),
    "surrogate.jsonl": (b'{"text": "good"}\n{"text": "\\ud800 bad"}\n', 0),
    "half.txt": (b"good \xe2\x82", 5),
}


@pytest.mark.parametrize("name", BAD)
def test_text_that_is_not_utf8(tmp_path, name):
    content, byte = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"{name}(:2)? is not UTF-8 text at byte {byte};"):
        read_documents(tmp_path / name)
    assert read_documents(tmp_path / name, invalid_utf8="skip")[-1][1] == NOT_UTF8
    replaced = read_documents(tmp_path / name, invalid_utf8="replace")[-1][1]
    assert "\ufffd" in replaced and ("bad" in replaced or name == "half.txt")


def test_parquet_that_is_not_utf8(tmp_path):
    pq.write_table(pa.table({"text": pa.array([b"a", b"\xff"], pa.binary())}), tmp_path / "web.parquet")
    with pytest.raises(InputError, match=r"web\.parquet:2 is not UTF-8"):
        read_documents(tmp_path / "web.parquet")
    assert [text for _, text in read_documents(tmp_path / "web.parquet", invalid_utf8="skip")] == ["a", NOT_UTF8]


@pytest.mark.parametrize("arguments", [["web"], ["web="], ["=x"], ["../up=x"], [".web=x"]])
def test_a_malformed_source_is_refused(arguments):
    with pytest.raises(OptionError):
        parse_sources(arguments, [])


def test_a_name_that_a_holdout_takes_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    with pytest.raises(UsageError, match="'web-holdout' twice"):
        parse_sources([f"web={tmp_path}/a.txt", f"web-holdout={tmp_path}/b.txt"], [], "-holdout")


def test_a_file_in_two_sources_is_refused(tmp_path):
    write_jsonl(tmp_path / "web.jsonl", ["a"])
    with pytest.raises(UsageError, match=r"web\.jsonl in a and in b"):
        parse_sources([f"a={tmp_path}", f"b={tmp_path}/web.jsonl"], [])
