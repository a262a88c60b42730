"""The wheel: what is in it, and that what is in it works without the checkout, without torch, on another Python."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from checkout import ROOT, tracked

import fivepoint

pytestmark = pytest.mark.checkout

FLOORS = {"audit", "conformance", "corpus", "fastpath", "reference", "spec", "trainers"}
FILES = tracked()
COPY = "a checkout of any name"
ROOT_FILES = {"__init__.py", "cli.py", "errors.py", "py.typed"}


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command outside the checkout's environment; its output is the failure's message."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON", "COV_"))}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=outside,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a copy of the tracked files in a folder that is not called fivepoint."""
    copy = tmp_path_factory.mktemp("wheel") / COPY
    for path in FILES:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, copy / path)
    run(sys.executable, "-P", "-m", "build", "--wheel", "--no-isolation", "--outdir", copy.parent, cwd=copy)
    (built,) = copy.parent.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def contents(wheel) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_nothing_but_fivepoint_lands_in_site_packages(contents):
    tops = {name.split("/")[0] for name in contents}
    assert tops == {"fivepoint", f"fivepoint-{fivepoint.__version__}.dist-info"}


def test_the_wheel_holds_the_floors_and_nothing_else(contents):
    expected = {f"fivepoint/{path}" for path in FILES if path in ROOT_FILES or path.split("/")[0] in FLOORS}
    found = {name for name in contents if name.startswith("fivepoint/")}
    (native,) = (name for name in found if name.endswith(sysconfig.get_config_var("EXT_SUFFIX")))
    assert native.startswith("fivepoint/fastpath/_C.")
    found.remove(native)
    left_out, strays = sorted(expected - found), sorted(found - expected)
    assert not left_out, f"tracked in a floor, yet not in the wheel: {left_out}; name them in setup.py, or move them"
    assert not strays, f"in the wheel, yet not tracked in a floor: {strays}"


def test_the_specification_is_in_the_wheel(contents):
    assert {name for name in contents if name.startswith("fivepoint/spec/schemas/") and name.endswith(".json")}
    assert "fivepoint/spec/formats.md" in contents


def test_the_scripts_of_the_root_stay_out(contents):
    strays = {"setup.py", "conftest.py", "tests", "examples", "benchmarks", "docs", "csrc", "fuzz"}
    assert not {name for name in contents if name.split("/")[1] in strays}


@pytest.mark.slow
def test_the_conformance_suite_runs_from_the_wheel_in_any_folder(wheel, tmp_path):
    run(sys.executable, "-m", "venv", "--without-pip", "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, wheel, cwd=tmp_path)
    # numpy, pytest and the rest come from here; the .pth files over there, the checkout's among them, are not read
    (site / "rest.pth").write_text(f"{Path(pytest.__file__).parent.parent}\n", encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    found = run(python, "-c", "import fivepoint; print(fivepoint.__file__)", cwd=elsewhere)
    assert Path(found.strip()).is_relative_to(site)
    suite = (python, "-m", "pytest", "--pyargs", "fivepoint.conformance", "--loader", "reference", "-q")
    output = run(*suite, "-k", "C2.1 or C2.3 or declaration", cwd=elsewhere)
    assert "3 passed" in output, output
    output = run(tmp_path / "venv" / "bin" / "python", "-m", "fivepoint.cli", "conform", "reference", "--select", "C2.1", cwd=elsewhere)
    assert "holds: C2.1" in output


def other_python(version: str) -> Path | None:
    """Find a Python of this version that runs and has venv; one on PATH may be an empty promise."""
    on_path = shutil.which(f"python{version}")
    homes = sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python{version}"))
    for python in [*([Path(on_path)] if on_path else []), *homes]:
        probe = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([python, "-c", probe], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == version:
            return python
    return None


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_tests_pass_from_a_wheel_on_python_3_12_without_torch(wheel, tmp_path):
    python = other_python("3.12")
    if python is None:
        pytest.skip("no Python 3.12 that runs and has venv was found on PATH or in ~/.pyenv/versions")
    run(python, "-m", "venv", "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    run(
        *(python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt"),
        # a wheel of its own, built there in isolation from the copy beside the other wheel
        *(f"fivepoint[prepare,bench] @ {(wheel.parent / COPY).as_uri()}", "pytest", "pytest-timeout", "hypothesis"),
        cwd=tmp_path,
    )
    run(
        python,
        "-c",
        "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is not None)",
        cwd=tmp_path,
    )

    elsewhere = tmp_path / "elsewhere"
    for path in [*tracked("tests"), "pyproject.toml"]:
        (elsewhere / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, elsewhere / path)
    output = run(python, "-P", "-m", "pytest", "-m", "not torch and not checkout and not slow and not long", cwd=elsewhere)
    assert " passed" in output, output
