"""Golden vectors against an implementation in JavaScript, written from the specification's text alone."""

import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parent / "javascript"
VECTORS = Path(str(files("fivepoint.spec"))) / "vectors"
# the results of a case of each file, as the table in spec/vectors/README.md has them
RESULTS = {
    "permutation": {"y"},
    "weights": {"weights"},
    "blend": {"source", "draw", "worst_deviation"},
    "resolve": {"samples"},
    "skips": {"samples"},
    "where": {"positions"},
    "partition": {"step", "batch_size", "accumulation", "ranks", "complete"},
    "boundaries": {"document_ids", "position_ids", "loss_mask", "cu_seqlens", "max_seqlen"},
    "canonical": {"canonical", "sha256"},
    "plan_hash": {"plan_hash"},
    "prefix_hash": {"cut", "prefix_hash"},
}

pytestmark = [
    pytest.mark.checkout,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which .ci/run installs (nodejs)"),
]


def node(script: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    command = ["node", SCRIPTS / script, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=300)


def counts(output: str) -> dict[str, tuple[int, int]]:
    """Cases and failures of each file, from its line `permutation: 23 cases, 0 failures`."""
    lines = re.findall(r"^(\w+): (\d+) cases, (\d+) failures$", output, re.MULTILINE)
    return {name: (int(cases), int(failures)) for name, cases, failures in lines}


@pytest.mark.clause("C1.2")
@pytest.mark.clause("C3.3")
def test_the_text_gives_every_result() -> None:
    done = node("check.mjs", VECTORS)
    cases = {path.stem: len(json.loads(path.read_bytes())["cases"]) for path in VECTORS.glob("*.json")}
    assert counts(done.stdout) == {name: (number, 0) for name, number in cases.items()}, done.stdout
    assert cases.keys() == RESULTS.keys()
    assert done.returncode == 0


def changed(value: Any) -> Any:
    """A value of the same kind that differs in one place."""
    match value:
        case bool():
            return not value
        case int():
            return value ^ 1
        case str():
            return value + "0"
        case [first, *rest]:
            return [changed(first), *rest]
        case dict() if value:
            return value | {min(value): changed(value[min(value)])}
    return [0]


@pytest.mark.slow
@pytest.mark.parametrize("name", RESULTS)
def test_a_changed_result_is_reported(name: str, tmp_path: Path) -> None:
    """Every case is changed, so that none passes unseen: in one of its results, or from refused to not refused."""
    vectors = json.loads((VECTORS / f"{name}.json").read_bytes())
    for number, case in enumerate(vectors["cases"]):
        if "refused" in case:
            case["complete"] = case.pop("refused")
        else:
            results = sorted(RESULTS[name] & case.keys())
            one = results[number % len(results)]
            case[one] = changed(case[one])
    (tmp_path / f"{name}.json").write_text(json.dumps(vectors), encoding="utf-8")
    done = node("check.mjs", tmp_path)
    number = len(vectors["cases"])
    assert counts(done.stdout) == {name: (number, number)}
    assert re.findall(rf"^{name} (\S+): expected ", done.stdout, re.MULTILINE) == [c["id"] for c in vectors["cases"]]
    assert done.returncode == 1


def test_nothing_to_check_is_a_failure(tmp_path: Path) -> None:
    assert node("check.mjs", tmp_path).returncode == 1
    (tmp_path / "unheard_of.json").write_text('{"format": "fivepoint-vectors", "version": 1, "of": "unheard_of", "cases": []}')
    assert node("check.mjs", tmp_path).returncode == 1


@pytest.mark.slow
def test_values_and_properties_in_the_text() -> None:
    done = node("text.test.mjs")
    assert done.returncode == 0, done.stdout
