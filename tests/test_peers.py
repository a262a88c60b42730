"""The loaders of other projects: what is said of each, and what the suite finds in those whose environments `make test` makes."""

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from checkout import ROOT
from conforming import conform
from typer.testing import CliRunner

from fivepoint.cli import app
from fivepoint.conformance.peers import Peer, peers
from fivepoint.errors import UsageError

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
LOOKED_AT = ("D0", "C1.3", "C2", "C4.1", "C4.4")


@pytest.mark.parametrize("peer", peers().values(), ids=lambda peer: peer.name)
def test_each_says_its_version_its_settings_and_where_they_come_from(peer: Peer):
    spec = find_spec(peer.driver.partition(":")[0])
    assert spec is not None and spec.origin is not None, f"expected the module of {peer.driver}"
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    assert re.search(r"https://", docstring), f"{peer.name}: expected the page that recommends its settings"
    versions = dict(package.split("==") for package in peer.installed)
    assert any(version.rpartition(".")[0] in docstring for version in versions.values()), (
        f"{peer.name}: expected the version that it was written for"
    )


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
