"""The contract as a document: its form, its ids, and that every clause has a test."""

import ast
import re

import pytest
from checkout import ROOT, tracked

from fivepoint import spec

pytestmark = pytest.mark.checkout

CLAUSE = re.compile(r"^## ([CD]\d\.\d+) (.+)\n(.+?)\n\n\*Why\.\* (.+?)\n\*Check\.\* (.+?)\n", re.MULTILINE)
CLAUSES = {match[1]: match for match in CLAUSE.finditer(spec.text("contract.md"))}
SECTIONS = {
    "A": re.findall(r"^## (A\d) ", spec.text("algorithms.md"), re.MULTILINE),
    "F": re.findall(r"^## (F\d) ", spec.text("formats.md"), re.MULTILINE),
}
# Supply, memory over time and leaks are judged by the conformance suite and the benchmarks, from outside.
JUDGED_FROM_OUTSIDE = {"C5.2", "C5.3", "C5.5"}


def marked_clauses() -> set[str]:
    """Return the ids in every `pytest.mark.clause(...)` of the tests."""
    found = set()
    for path in tracked("tests/*.py"):
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "clause":
                found |= {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
    return found


def test_every_heading_of_a_clause_has_its_sentence_reason_and_check():
    headings = re.findall(r"^## (\S+)", spec.text("contract.md"), re.MULTILINE)
    assert headings == list(CLAUSES), "a clause departs from: heading, sentence, *Why.*, *Check.*"


@pytest.mark.parametrize("clause", CLAUSES)
def test_a_clause_is_one_sentence_with_must_or_should(clause):
    sentence = CLAUSES[clause][3]
    assert len(re.findall(r"\bMUST\b|\bSHOULD\b", sentence)) == 1, sentence
    assert sentence.endswith(".") and not re.search(r"[.!?] [A-Z]", sentence), f"more than one sentence: {sentence}"


def test_ids_ascend_without_gaps():
    chapters = [clause.split(".")[0] for clause in CLAUSES]
    assert list(dict.fromkeys(chapters)) == ["D0", "C1", "C2", "C3", "C4", "C5"]
    for chapter in set(chapters):
        numbers = [int(clause.split(".")[1]) for clause in CLAUSES if clause.startswith(chapter)]
        assert numbers == list(range(1, len(numbers) + 1)), chapter


def test_every_cited_id_exists():
    astray = []
    for path in tracked("*.md", "*.py", "*.json", "*.mjs", "*.toml"):
        text = (ROOT / path).read_text(encoding="utf-8")
        for cited in re.findall(r"\b([CD]\d\.\d{1,2})\b(?!\.\d)", text):
            if cited not in CLAUSES:
                astray.append(f"{path} cites clause {cited}")
        if path.endswith((".py", ".md")):
            # Sections are cited in brackets or as "formats.md, F3"; A4 alone may be a size of paper.
            for cited in re.findall(r"(?:\.md, |[(;] ?)([AF]\d)\b(?=[,;)])", text):
                if cited not in SECTIONS[cited[0]]:
                    astray.append(f"{path} cites section {cited}")
    assert not astray, "\n".join(astray)


def test_every_clause_has_a_test():
    assert set(CLAUSES) - marked_clauses() == JUDGED_FROM_OUTSIDE


def test_every_marked_clause_exists():
    assert marked_clauses() <= set(CLAUSES)
