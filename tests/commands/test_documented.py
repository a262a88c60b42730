"""docs/commands.md: its examples run, one after the other, and its exit codes are those of the errors."""

import inspect
import re
import shlex
from pathlib import Path

import pytest
from checkout import ROOT
from runs import process

from fivepoint import errors

pytestmark = pytest.mark.checkout

TEXT = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def test_the_examples_run(tmp_path):
    for name in ("web", "books"):
        (tmp_path / "texts" / name).mkdir(parents=True)
        for number in range(8):
            words = " ".join(f"{name} {number} has word {word * number % 97}." for word in range(80))
            (tmp_path / "texts" / name / f"{number}.txt").write_text(words)
    (run,) = re.findall(r"^```toml\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "run.toml").write_text(run)
    examples = re.findall(r"^\$ fivepoint (.+)$", TEXT, flags=re.MULTILINE)
    assert len(examples) == 14
    for example in examples:
        done = process(*shlex.split(example), cwd=tmp_path)
        assert done.returncode == 0, f"fivepoint {example}: {done.stderr}"
        assert done.stdout, example


def test_every_error_s_exit_code_is_in_the_table():
    table = dict(re.findall(r"^\| (\d+) \| (.+?) \|$", TEXT, flags=re.MULTILINE))
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if kind is not errors.FivepointError:
            assert name in table[str(kind.exit_code)], f"{name} has exit code {kind.exit_code}"


def test_every_command_is_described():
    helped = process("--help", cwd=Path())
    commands = re.findall(r"^│ (\w+)  ", helped.stdout, flags=re.MULTILINE)
    assert commands == re.findall(r"^\| `(\w+)` \|", TEXT, flags=re.MULTILINE)
