"""Every fuzz target finds a bug that is planted into a copy of what it reads, from its committed seeds."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from checkout import ROOT, tracked

pytestmark = [pytest.mark.checkout, pytest.mark.slow]

SECONDS = 40


class Bug(NamedTuple):
    """An edit of a source file, and what is said of the input that meets it."""

    file: str
    sound: str
    planted: str
    said: str


NATIVE = {
    "order": Bug("csrc/resolver.cpp", "expect(spec.weights[i] == 0 || before.back() > 0, ", "expect(true, ", "Sanitizer"),
    "reading": Bug("csrc/documents.cpp", "start >= last && ", "", "an index that is out of order is refused"),
}
PYTHON = {
    "checkpoint_file": Bug("reference/checkpoint.py", 'validate(state, "checkpoint", "the checkpoint", CheckpointError)', "", "KeyError"),
    "documents": Bug("corpus/documents.py", "if field not in value:", "if not value:", "KeyError"),
    "index": Bug("reference/index.py", "except Exception as reason:", "except ValueError as reason:", "Error"),
    "manifest": Bug("reference/manifest.py", 'validate(value, "manifest", str(path), CorpusError)', "", "Error"),
    "plan_file": Bug("reference/rules.py", "unknown = sorted(set(phase.weights) - set(known))", "unknown = []", "KeyError"),
    "run_log": Bug("audit/log_lines.py", "except ValueError as reason:", "except UnicodeDecodeError as reason:", "JSONDecodeError"),
    "run_toml": Bug("reference/config.py", "except (ValueError, RecursionError) as reason:", "except RecursionError as reason:", "Error"),
    "trace": Bug("conformance/traces/recorded.py", "(OSError, Rubbish, DriverFault)", "(OSError, Rubbish)", "DriverFault"),
    "wire": Bug("conformance/doors/wire.py", "dtype not in DTYPES or any", "any", "TypeError"),
}


def fuzzed(folder: Path, bugs: dict[str, Bug]) -> subprocess.CompletedProcess[str]:
    """Copy the package and its fuzz targets into `folder`, plant the bugs, and run their targets."""
    copy = folder / "fivepoint"
    for path in tracked("*.py", "spec", "csrc", "fuzz"):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, copy / path)
    for bug in bugs.values():
        text = (copy / bug.file).read_text(encoding="utf-8")
        assert text.count(bug.sound) == 1, f"expected {bug.sound!r} once in {bug.file}"
        (copy / bug.file).write_text(text.replace(bug.sound, bug.planted), encoding="utf-8")
    command = [sys.executable, "-P", copy / "fuzz" / "run.py", "--seconds", str(SECONDS), *bugs]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def expect_found(done: subprocess.CompletedProcess[str], folder: Path, bugs: dict[str, Bug]) -> None:
    for name, bug in bugs.items():
        kept = [file.name for file in (folder / "fuzz-found").glob(f"{name}-*")]
        assert kept and bug.said in done.stdout, f"{name} found {kept}:\n{done.stdout[-5000:]}{done.stderr[-2000:]}"
    assert done.returncode == 1


@pytest.mark.skipif(shutil.which("clang++") is None, reason="needs clang++: apt-get install clang libclang-rt-dev")
@pytest.mark.parametrize("name", NATIVE)
def test_a_bug_planted_in_csrc_is_found(tmp_path, name):
    # Each in a copy of its own: one target may meet the other's bug.
    expect_found(fuzzed(tmp_path, {name: NATIVE[name]}), tmp_path, {name: NATIVE[name]})


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="needs atheris, which `make fuzz` installs")
@pytest.mark.parametrize("name", PYTHON)
def test_a_bug_planted_in_a_parser_is_found(tmp_path, name):
    expect_found(fuzzed(tmp_path, {name: PYTHON[name]}), tmp_path, {name: PYTHON[name]})


def test_every_target_has_seeds_and_a_planted_bug():
    seeds = {path.split("/")[2] for path in tracked("fuzz/seeds")}
    assert seeds == NATIVE.keys() | PYTHON.keys()
    assert {Path(path).stem for path in tracked("fuzz/*.cpp")} == NATIVE.keys()


def test_a_target_that_is_none_is_one_sentence(tmp_path):
    done = subprocess.run([sys.executable, "-P", ROOT / "fuzz" / "run.py", "moon"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "expected targets among" in done.stderr and "found moon" in done.stderr
