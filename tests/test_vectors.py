"""The golden vectors: whole, current, and what the reference gives by every door."""

import json
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from vector_cases import INPUTS, Reference, cases, everything, results

from fivepoint import spec
from fivepoint.errors import FivepointError, RangeError
from fivepoint.reference.canonical import parse_json
from fivepoint.reference.schema import validate
from fivepoint.reference.vectors.case import Case
from fivepoint.reference.vectors.catalogue import FILES

FOLDER = Path(str(files(spec))) / "vectors"
# Committed, so that a case that is lost is missed.
COUNTS = {
    "permutation": 89,
    "weights": 38,
    "blend": 42,
    "resolve": 30,
    "skips": 26,
    "where": 39,
    "partition": 40,
    "boundaries": 24,
    "canonical": 49,
    "plan_hash": 31,
    "prefix_hash": 33,
}


def vectors(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the generator in a process of its own."""
    command = [sys.executable, "-P", "-m", "fivepoint.reference.vectors", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_every_file_has_its_cases() -> None:
    assert {path.stem: len(json.loads(path.read_bytes())["cases"]) for path in FOLDER.glob("*.json")} == COUNTS
    assert COUNTS.keys() == FILES.keys() == INPUTS.keys()
    assert min(COUNTS.values()) >= 20


@pytest.mark.parametrize("of", COUNTS)
def test_a_file_fits_its_schema(of: str) -> None:
    validate(spec.vectors(of), "vectors", f"{of}.json", FivepointError)
    assert spec.vectors(of)["of"] == of


@pytest.mark.parametrize("of", COUNTS)
def test_the_schema_misses_a_result(of: str) -> None:
    content = spec.vectors(of)
    case = content["cases"][len(content["cases"]) // 2]
    del case[min(results(of, case))]
    with pytest.raises(FivepointError):
        validate(content, "vectors", f"{of}.json", FivepointError)


@pytest.mark.parametrize("of", COUNTS)
def test_a_file_is_json_with_integers_only_in_ascii(of: str) -> None:
    content = (FOLDER / f"{of}.json").read_bytes()
    assert parse_json(content.decode("ascii")) == spec.vectors(of)
    assert content.endswith(b"}\n")


def test_ids_are_unique_and_name_their_file() -> None:
    ids = [(of, case["id"]) for of, case in everything()]
    assert len({id for _, id in ids}) == len(ids) == sum(COUNTS.values())
    assert not [id for of, id in ids if not id.startswith(of.replace("_", "-") + "-")]


def test_cited_clauses_exist() -> None:
    clauses = set(re.findall(r"^## ([CD]\d\.\d+) ", spec.text("contract.md"), re.MULTILINE))
    assert {clause for of in COUNTS for clause in spec.vectors(of)["clauses"]} <= clauses


def test_only_what_may_be_left_out_of_a_plan_leaves_its_hash() -> None:
    hashes = {case["id"]: case["plan_hash"] for case in cases("plan_hash")}
    same = {id for id in hashes if id.startswith("plan-hash-same-")}
    assert len(same) == 4
    assert {hashes.pop(id) for id in same} == {hashes["plan-hash-base"]}
    assert len(set(hashes.values())) == len(hashes)


@pytest.mark.parametrize(("of", "case"), [pytest.param(of, case, id=case["id"]) for of, case in everything()])
def test_the_reference_gives_the_results(of: str, case: dict[str, Any], tmp_path: Path) -> None:
    expected = {"refused": True} if "refused" in case else results(of, case)
    assert Reference(tmp_path).outcome(of, case) == expected, case["comment"]


@pytest.mark.slow
def test_the_files_are_current() -> None:
    done = vectors("--check")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("of", COUNTS)
def test_one_changed_byte_is_named_by_file_and_case(of: str, tmp_path: Path) -> None:
    case = cases(of)[COUNTS[of] // 2]
    content = (FOLDER / f"{of}.json").read_text(encoding="ascii")
    # The last digit of the case, which stands in one of its results, or in why it is refused.
    at = content.index(f'"{case["id"]}"')
    end = content.find('"id":', at)
    *_, digit = re.finditer(r"[0-9]", content[at:end])
    at += digit.start()
    path = tmp_path / f"{of}.json"
    path.write_text(content[:at] + str((int(content[at]) + 1) % 10) + content[at + 1 :], encoding="ascii")
    done = vectors("--check", "--folder", tmp_path, of)
    assert done.returncode == 1
    assert f"{path}: {case['id']} differs in " in done.stderr


def broken(folder: Path, of: str, before: str, after: str) -> str:
    """What the check says of a copy in which one text is replaced by another."""
    content = (FOLDER / f"{of}.json").read_text(encoding="ascii")
    assert before in content
    (folder / f"{of}.json").write_text(content.replace(before, after, 1), encoding="ascii")
    done = vectors("--check", "--folder", folder, of)
    assert done.returncode == 1
    return done.stderr


def test_white_space_counts(tmp_path: Path) -> None:
    assert "the cases are the same" in broken(tmp_path, "partition", "\n", "\n\n")


def test_a_case_under_another_id_is_named(tmp_path: Path) -> None:
    said = broken(tmp_path, "partition", '"partition-one-rank"', '"partition-one"')
    assert "partition-one-rank is missing; partition-one is not known" in said


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    assert "partition.json: is not a file of golden vectors" in broken(tmp_path, "partition", "{", "")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = vectors("--check", "--folder", tmp_path, "partition")
    assert done.returncode == 1
    assert f"{tmp_path / 'partition.json'}: cannot be read" in done.stderr


def test_a_file_of_no_algorithm_is_named(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "canonical.json", tmp_path)
    (tmp_path / "canonicals.json").write_text("{}", encoding="ascii")
    done = vectors("--check", "--folder", tmp_path, "canonical")
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path / 'canonicals.json'}: expected only permutation, ")


def test_writing_gives_the_committed_bytes(tmp_path: Path) -> None:
    assert vectors("--folder", tmp_path, "where", "canonical").returncode == 0
    for of in ("where", "canonical"):
        assert (tmp_path / f"{of}.json").read_bytes() == (FOLDER / f"{of}.json").read_bytes()


def test_an_unknown_name_is_refused() -> None:
    done = vectors("--check", "permutations")
    assert done.returncode == 2
    assert "found 'permutations'" in done.stderr


def test_the_printed_values_are_not_computed() -> None:
    """A wrong reference cannot write vectors that contradict what the specification prints."""
    printed = {case.id: case.known for file in FILES.values() for case in file.cases if case.known}
    text = spec.text("algorithms.md")
    for id in ("permutation-n-5", "permutation-n-1000", "permutation-n-10-to-9"):
        assert " ".join(map(str, printed[id]["y"])) in text
    for rule in ("earliest-deadline", "furthest-behind"):
        assert " ".join(map(str, printed[f"blend-printed-{rule}"]["source"])) in text


def refuse() -> dict[str, Any]:
    raise RangeError("out of range")


@pytest.mark.parametrize(
    ("case", "compute"),
    [
        (Case("a-case", "known", {}, known={"y": 1}), lambda: {"y": 2}),
        (Case("a-case", "known", {}, known={"y": 1}), dict),
        (Case("a-case", "refused", {}, refused="it is wrong"), lambda: {"y": 2}),
        (Case("a-case", "not refused", {}), refuse),
    ],
)
def test_a_contradicting_reference_cannot_write(case: Case, compute: Any) -> None:
    with pytest.raises(AssertionError, match="a-case: "):
        case.outcome(compute)
