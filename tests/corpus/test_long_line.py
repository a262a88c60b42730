"""A line of JSON too long to be parsed at once gives what a short one gives, and is refused for the same."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from preparing import read_documents

from fivepoint.corpus import documents
from fivepoint.corpus.documents import NOT_UTF8
from fivepoint.errors import InputError

ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=60) | st.text('a"\\\n\u00e9\U0001f600\0', max_size=60)
LEAF = st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False) | ANY_TEXT
ANY_JSON = st.recursive(LEAF, lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner), max_leaves=6)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=ANY_TEXT,
    others=st.dictionaries(ANY_TEXT, ANY_JSON, max_size=3),
    ascii_only=st.booleans(),
    block=st.integers(1, 30),
    first=st.booleans(),
)
def test_a_long_line_gives_what_a_short_one_gives(tmp_path, monkeypatch, text, others, ascii_only, block, first):
    value = {"text": text, **others} if first else {**others, "text": text}
    value["text"] = text
    line = json.dumps(value, ensure_ascii=ascii_only, indent=None) + "\n"
    path = tmp_path / "web.jsonl"
    path.write_text(line + '{"text": "next"}\n')
    expected = [("web.jsonl:1", text), ("web.jsonl:2", "next")]
    assert read_documents(path) == expected
    monkeypatch.setattr(documents, "LONG_LINE", 2)
    monkeypatch.setattr("fivepoint.corpus.long_line._BLOCK", block)
    assert read_documents(path) == expected


@pytest.mark.parametrize(
    "line",
    [
        "{",
        '{"text": "a',
        '{"text": "\\q"}',
        '{"text" "a"}',
        '{"text": "a"} x',
        '{"text": "a\\u12"}',
        '{"a": tru, "text": "a"}',
        '{"text": "a\tb"}',
    ],
)
def test_a_long_line_that_is_not_json_is_refused(tmp_path, monkeypatch, line):
    monkeypatch.setattr(documents, "LONG_LINE", 1)
    (tmp_path / "web.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match=r"web\.jsonl:1 is not JSON"):
        read_documents(tmp_path / "web.jsonl")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": 1}', "found others"),
        ('{"text": 1}', "found something else"),
        ('{"text": "a", "text": "b"}', "found it twice"),
    ],
)
def test_a_long_line_without_the_text_is_refused(tmp_path, monkeypatch, line, message):
    monkeypatch.setattr(documents, "LONG_LINE", 1)
    (tmp_path / "web.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match=message):
        read_documents(tmp_path / "web.jsonl")


def test_a_long_line_that_is_not_utf8_is_skipped_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "LONG_LINE", 8)
    monkeypatch.setattr("fivepoint.corpus.long_line._BLOCK", 4)
    (tmp_path / "web.jsonl").write_bytes(b'{"text": "abc \xff def ghi"}\n{"text": "next"}\n')
    assert read_documents(tmp_path / "web.jsonl", invalid_utf8="skip") == [("web.jsonl:1", NOT_UTF8), ("web.jsonl:2", "next")]


def test_half_a_surrogate_pair_in_a_long_line_is_not_utf8(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "LONG_LINE", 8)
    (tmp_path / "web.jsonl").write_text('{"text": "abc \\ud800 def"}\n')
    with pytest.raises(InputError, match=r"web\.jsonl:1 is not UTF-8 text at byte 4;"):
        read_documents(tmp_path / "web.jsonl")
