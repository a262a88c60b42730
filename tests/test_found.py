"""found/run.py: what docstrings of reproductions must hold, and that docs/found.md says what they say."""

import importlib.util

import pytest
from checkout import ROOT

spec = importlib.util.spec_from_file_location("found_run", ROOT / "found" / "run.py")
assert spec is not None and spec.loader is not None
spec.loader.exec_module(run := importlib.util.module_from_spec(spec))

pytestmark = pytest.mark.checkout

DOCSTRING = '''"""Two epochs come in one order.

The seed alone decides it. Another seed for each epoch avoids it.

Clause: C3.4
Promised: "Epochs come in
other orders." (https://example.org/shuffle)
Upstream: not found (searched 2026-12-31: "same order")
"""
'''


@pytest.fixture
def said(tmp_path):
    def read(docstring: str, name: str = "grain_one_order.py"):
        (tmp_path / name).write_text(docstring, encoding="utf-8")
        return run.read(tmp_path / name)

    return read


def test_a_docstring_is_read_into_its_fields(said):
    found = said(DOCSTRING)
    assert (found.title, found.text) == (
        "Two epochs come in one order.",
        "The seed alone decides it. Another seed for each epoch avoids it.",
    )
    assert [clause.id for clause in found.clauses] == ["C3.4"]
    assert found.promised == '"Epochs come in other orders." (https://example.org/shuffle)'
    assert found.contradicts and found.library.startswith("grain 0.")


@pytest.mark.parametrize(
    ("line", "instead", "expected"),
    [
        (
            "Clause: C3.4\n",
            "",
            "expected the fields Clause, Promised, Upstream at the end .* grain_one_order.py, .* found Promised, Upstream",
        ),
        ("Clause: C3.4\n", "Peer: grain\nClause: C3.4\n", "found Peer, Clause, Promised, Upstream"),
        ("Clause: C3.4", "Clause: C3.4.", "expected Clause: C3.4, or several ids .* found 'C3.4.' in the docstring of grain_one_order.py"),
        ("Clause: C3.4", "Clause: C3.4, V9", "expected ids of clauses in spec/contract.md, found V9"),
        (" (https://example.org/shuffle)", "", "expected Promised: .* found '\"Epochs come in other orders.\"'"),
        ('(searched 2026-12-31: "same order")', "", "expected Upstream: .* found 'not found'"),
        ("one order.\n", "one order\n", "expected a sentence in one line"),
    ],
)
def test_a_docstring_of_another_form_is_refused(said, line, instead, expected):
    with pytest.raises(ValueError, match=expected):
        said(DOCSTRING.replace(line, instead))


def test_a_script_of_no_peer_is_refused(said):
    with pytest.raises(ValueError, match=r"expected a name that begins with that of a peer .* found unknown\.py"):
        said(DOCSTRING, "unknown.py")


def test_the_page_holds_what_the_docstrings_say():
    found = run.reproductions()
    assert len(found) > 25 and len({each.title for each in found}) == len(found)
    page = run.PAGE.read_text(encoding="utf-8")
    written = run.page(dict.fromkeys(found, "")).split("\n```\n\n```\n")
    assert [part for part in written if part not in page] == []
    assert page.count("\n### ") == len(found)
