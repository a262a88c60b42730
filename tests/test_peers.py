"""The loaders of other projects: what is said of each, and what the suite finds in those whose environments `make test` makes."""

import ast
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from checkout import ROOT
from conforming import conform
from typer.testing import CliRunner

from fivepoint.cli import app
from fivepoint.conformance.peers import Peer, peers
from fivepoint.errors import FivepointError, UsageError

HERE = ("torch", "grain")
"""Environments that install in a minute or two."""
KNOWN = {
    "torch-sampler": {"C3.4"},
    "torchdata-stateful": {"C3.4", "C4.4"},
    "torchdata-naive": {"C3.4"},
    "torchdata-nodes": {"C3.4", "C1.3"},
    "datasets-in-order": {"C4.4"},
    "accelerate": {"C4.1"},
}
"""Clauses that each breaks, of those that are looked at here; docs/found.md says how."""
LIBRARIES = {
    "torch-sampler": "torch",
    "torchdata-stateful": "torchdata",
    "torchdata-naive": "torchdata",
    "torchdata-nodes": "torchdata",
    "olmo-core": "ai2-olmo-core",
    "nanoset": "datatrove",
    "webdataset": "webdataset",
    "datasets": "datasets",
    "datasets-in-order": "datasets",
    "accelerate": "accelerate",
    "trainer": "transformers",
    "grain": "grain",
    "grain-elastic": "grain",
    "megatron": "megatron-core",
    "megatron-cyclic": "megatron-core",
    "mosaic": "mosaicml-streaming",
    "litdata": "litdata",
}
"""The package that each is about."""
LOOKED_AT = ("D0", "C1.3", "C2", "C4.1", "C4.4")


@pytest.mark.parametrize("peer", peers().values(), ids=lambda peer: peer.name)
def test_each_says_its_version_its_settings_and_where_they_come_from(peer: Peer):
    spec = find_spec(peer.driver.partition(":")[0])
    assert spec is not None and spec.origin is not None, f"expected the module of {peer.driver}"
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    assert re.search(r"https://", docstring), f"{peer.name}: expected the page that recommends its settings"
    version = dict(package.split("==") for package in peer.installed)[LIBRARIES[peer.name]]
    # PyTorch counts its documentation, and its fixes, by the first two numbers.
    said = version.removesuffix(".0") if LIBRARIES[peer.name] == "torch" else version
    assert re.search(rf"(?<![\d.]){re.escape(said)}(?![\d])(?!\.\d)", docstring), f"{peer.name}: expected {said}, which its environment has"


def test_an_environment_that_is_not_there_is_asked_for_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = conform("grain")
    assert done.code == UsageError.exit_code
    packages = ", ".join(peers()["grain"].installed)
    expected = f"expected an environment for grain in .peers/grain, found none with {packages}; fivepoint peers build grain makes it"
    assert done.out == expected


def test_a_peer_that_is_unknown_is_refused_with_those_that_there_are():
    done = CliRunner().invoke(app, ["peers", "build", "grian"])
    assert isinstance(done.exception, UsageError) and "found grian" in str(done.exception) and "webdataset" in str(done.exception)


def test_an_environment_that_was_not_finished_is_none(tmp_path):
    peer = peers()["grain"]
    home = tmp_path / peer.environment / "bin"
    home.mkdir(parents=True)
    (home / "python").touch()
    with pytest.raises(UsageError, match="found none with grain"):
        peer.python(tmp_path)
    (home.parent / "packages.txt").write_text("".join(f"{package}\n" for package in peer.installed))
    assert peer.python(tmp_path) == home / "python"


@pytest.mark.parametrize("taken", [".peers", ".peers/grain", ".peers/grain/packages.txt/in"])
def test_what_is_no_environment_is_refused_in_a_sentence(taken, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(taken).parent.mkdir(parents=True, exist_ok=True)
    Path(taken).touch()
    done = conform("grain")
    assert done.code == UsageError.exit_code and done.out.startswith("expected an environment for grain in .peers/grain"), done.out


def build(*names):
    """Return what `fivepoint peers build` printed, and what it said in refusing."""
    done = CliRunner().invoke(app, ["peers", "build", *names])
    assert done.exception is None or isinstance(done.exception, FivepointError), done.exception
    return done.output, str(done.exception or "")


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """Return the commands that make environments, none of which is run; each prints a line, as do those that build."""
    monkeypatch.chdir(tmp_path)
    given = []

    def noted(command, **_):
        given.append(command)
        Path(".peers", "grain").mkdir(parents=True, exist_ok=True)
        print("a command")
        return subprocess.CompletedProcess(command, 0, "")

    monkeypatch.setattr(subprocess, "run", noted)
    return given


def test_it_is_said_that_an_environment_is_made_before_it_is(commands):
    said, refused = build("grain", "grain-elastic")
    assert not refused
    making = "making .peers/grain, which takes minutes and about 0.2 GB"
    there = ["grain: in .peers/grain", "grain-elastic: in .peers/grain"]
    assert said.splitlines() == [making, *["a command"] * 3, *there], said
    assert build("grain", "grain-elastic")[0].splitlines() == there


def test_nothing_is_made_where_there_is_no_room(commands, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1_000_000_000))
    said, refused = build("grain", "olmo-core", "torch-sampler", "datasets")
    assert (said, commands) == ("", [])
    assert refused == ("expected room for about 3.1 GB in .peers (torch, olmo, grain), found 1.0 GB; free space there, or name fewer peers")
    assert build("grain")[1] == ""


def test_a_folder_of_environments_that_cannot_be_made_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(".peers").touch()
    _, refused = build("grain")
    assert refused.startswith("cannot write .peers: ") and "\n" not in refused, refused


@pytest.mark.slow
@pytest.mark.checkout
@pytest.mark.parametrize("name", [name for name, peer in peers().items() if peer.environment in HERE])
def test_it_is_judged_in_an_environment_of_its_own(name, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    select = [word for clause in LOOKED_AT for word in ("--select", clause)]
    done = conform(name, *select, "--budget", 60, "--cases", tmp_path)
    verdicts = dict(re.findall(r"^(holds|still holds|broken): (.+)$", done.out, re.MULTILINE))
    holding = verdicts.get("holds", verdicts.get("still holds", "")).split()
    assert {"D0.2", "D0.4"} <= {*holding}, done.out
    assert {*verdicts.get("broken", "").split()} <= KNOWN.get(name, set()), done.out


@pytest.mark.checkout
@pytest.mark.parametrize(("begin", "expected"), [("grain", {"grain"}), ("torch", {"torch"}), ("no_such", set())])
def test_reproductions_are_run_in_the_environments_of_their_own_peers(begin, expected, tmp_path):
    """The targets of the Makefile, where the programs of .venv say what they are asked for."""
    for name in ("Makefile", "found"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in (
        "pyproject.toml",
        "constraints.txt",
        "setup.py",
        "csrc/build.py",
        ".venv/installed",
        ".venv/native",
        ".venv/bin/fivepoint",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{tmp_path}\n")
    (tmp_path / ".venv/bin/fivepoint").write_text('#!/bin/sh\necho asked: "$@"\n')
    (tmp_path / ".venv/bin/python").write_text(f'#!/bin/sh\n[ "$2" = found/run.py ] && echo ran: "$3" || exec {sys.executable} "$@"\n')
    for name in ("fivepoint", "python"):
        (tmp_path / ".venv/bin" / name).chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(["make", "-s", "found", f"FOUND={begin}"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    *built, last = done.stdout.splitlines()
    assert (last, done.returncode) == (f"ran: {begin}", 0), done.stderr
    asked = [name for line in built for name in line.removeprefix("asked: peers build").split()]
    assert len(built) == len(expected) and {peers()[name].environment for name in asked} == expected, built
