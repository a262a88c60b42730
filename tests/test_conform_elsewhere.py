"""A loader in another environment, which has numpy and no fivepoint: `fivepoint conform --python`."""

import re
import subprocess
import venv
from pathlib import Path

import numpy
import pytest
from conforming import conform

from fivepoint import conformance
from fivepoint.errors import UsageError

PAGE = (Path(conformance.__file__).parent / "DRIVERS.md").read_text(encoding="utf-8")
MINE = re.findall(r"^```python\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory) -> Path:
    """The interpreter of an environment with numpy, and nothing else."""
    home = tmp_path_factory.mktemp("elsewhere") / "an environment"
    venv.create(home, symlinks=True)
    (packages,) = home.glob("lib/*/site-packages")
    installed = Path(numpy.__file__).parents[1]
    for part in ("numpy", "numpy.libs"):
        if (installed / part).exists():
            (packages / part).symlink_to(installed / part)
    return home / "bin" / "python"


def test_it_has_no_fivepoint(elsewhere):
    assert subprocess.run([elsewhere, "-P", "-c", "import fivepoint"], capture_output=True).returncode == 1


@pytest.mark.parametrize("processes", [[], ["--processes"]])
def test_a_loader_that_lives_elsewhere_is_judged_there(elsewhere, tmp_path, monkeypatch, processes):
    monkeypatch.chdir(tmp_path)
    says_where = MINE.replace('version = "1.0"', f'import sys\n    assert sys.prefix == {str(elsewhere.parents[1])!r}\n    version = "1.0"')
    (tmp_path / "mine.py").write_text(says_where, encoding="utf-8")
    ended = conform("mine:Mine", "--python", elsewhere, "--select", "C2.2", *processes)
    assert ended.code == 0, ended.out
    assert re.search(r"^holds: C2.2", ended.out, re.MULTILINE)


def test_the_command_of_a_proof_names_the_interpreter(elsewhere, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE.replace("own.dp_rank *", "0 *"), encoding="utf-8")
    ended = conform("mine:Mine", "--python", elsewhere, "--select", "C2.1")
    assert ended.code == 1
    assert f"mine:Mine --python {str(elsewhere)!r}" in ended.out


SPAWNS = """
import multiprocessing
import numpy as np
from fivepoint.conformance.driver import Driver

def wrapped(rows):
    return [rows]

class Spawns(Driver):
    def build(self, corpus, workdir, settings, layout, states):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            (self.version,) = pool.apply(wrapped, (type(self).__module__,))
        raise RuntimeError(f"spawned from {self.version}")
"""


def test_processes_that_are_spawned_there_find_fivepoint(elsewhere, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spawns.py").write_text(SPAWNS, encoding="utf-8")
    ended = conform("spawns:Spawns", "--python", elsewhere, "--select", "D0.1")
    assert "RuntimeError: spawned from spawns" in ended.out, ended.out


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("nowhere/python", "expected a Python after --python, found nowhere/python: No such file or directory"),
        ("/bin/false", "expected a Python of version 3.11 or newer with numpy after --python, found /bin/false, which says nothing"),
    ],
)
def test_what_is_no_python_is_refused_in_a_sentence(tmp_path, monkeypatch, python, said):
    monkeypatch.chdir(tmp_path)
    ended = conform("mine:Mine", "--python", python)
    assert (ended.code, ended.out) == (UsageError.exit_code, said)


def test_an_environment_without_numpy_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    venv.create(tmp_path / "bare", symlinks=True)
    ended = conform("mine:Mine", "--python", "bare/bin/python")
    assert ended.code == UsageError.exit_code
    assert "which says ModuleNotFoundError: No module named 'numpy'" in ended.out
