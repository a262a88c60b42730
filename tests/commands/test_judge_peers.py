"""The command `fivepoint peers judge`: its files and exit code, peers that cannot be judged, and proofs that are shown again."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from conforming import BROKEN
from typer.testing import CliRunner

from fivepoint.cli import app
from fivepoint.conformance.peers import peers
from fivepoint.errors import FivepointError, OutputError, UsageError
from fivepoint.reference.schema import validate

HONEST = "small:SharesNoToken"
CHECK = "C2.1/one-rank-each"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Stand in a folder in which the environment of grain has all but the library."""
    monkeypatch.chdir(tmp_path)
    home = tmp_path / ".peers" / "grain"
    (home / "bin").mkdir(parents=True)
    (home / "packages.txt").write_text("".join(f"{package}\n" for package in peers()["grain"].installed))
    (home / "bin" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (home / "bin" / "python").chmod(0o755)


def judge(*words):
    """Return the exit code, what the command printed, and what it said in refusing."""
    done = CliRunner().invoke(app, ["peers", "judge", *map(str, words)])
    if isinstance(done.exception, FivepointError):
        return done.exception.exit_code, done.output, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output, ""


def reports(folder=Path("peers-report")):
    """Return the reports of the file of all, by loader."""
    held = json.loads((folder / "report.json").read_text())
    validate(held, "comparison", "report.json", UsageError)
    for each in held["reports"]:
        validate(each, "conformance", "report.json", UsageError)
        assert json.loads((folder / f"{each['loader']}.json").read_text()) == each
    return {each["loader"]: each for each in held["reports"]}


def shown_again(report, check, folder):
    """Run the command that a report gives for a broken check, in a folder, as a shell runs it; return the finding and the report's."""
    (before,) = [each for each in report["findings"] if each["check"] == check]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    again = folder / "again.json"
    imports = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        f"{before['reproduce']} --json {again}",
        shell=True,
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONPATH": imports},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, (before["reproduce"], done.stdout, done.stderr)
    held = json.loads(again.read_text())
    assert held["mode"] == "case", before["reproduce"]
    (after,) = held["findings"]
    return before, after


def test_a_peer_that_cannot_be_imported_is_noted_and_the_others_are_judged():
    code, said, refused = judge("grain", "--select", "C2.1", "--beside", HONEST)
    held = reports()
    assert list(held) == [HONEST, "grain"]
    assert "No module named 'grain'" in held["grain"]["not_judged"] and held["grain"]["clauses"] == []
    assert "not_judged" not in held[HONEST] and held[HONEST]["findings"]
    assert said.count("grain: not judged, ") == 2, said
    assert code == UsageError.exit_code and "grain" in refused and "No module named 'grain'" in refused, refused
    page = Path("peers-report/index.html").read_text(encoding="utf-8")
    assert "No module named &#39;grain&#39;" in page


def test_a_loader_that_is_named_twice_is_judged_once():
    code, _, _ = judge("grain", "--select", "C2.1", "--beside", HONEST, "--beside", HONEST)
    assert code == UsageError.exit_code
    assert [each["loader"] for each in json.loads(Path("peers-report/report.json").read_text())["reports"]] == [HONEST, "grain"]


def test_what_was_found_is_written_before_it_is_shown(monkeypatch):
    def nobody_reads(comparison):
        raise SystemExit(1)

    monkeypatch.setattr("fivepoint.conformance.report.terminal.print_comparison", nobody_reads)
    code, _, _ = judge("grain", "--select", "C2.1", "--beside", BROKEN)
    assert code == 1 and reports()[BROKEN]["findings"]
    assert Path("peers-report/index.html").exists()


def test_who_stops_reading_stops_nothing(tmp_path):
    command = [sys.executable, "-P", "-m", "fivepoint.cli", "peers", "judge", "grain", "--select", "C2.1", "--beside", HONEST]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        running.stdout.close()
        said = running.stderr.read()
    assert running.returncode == UsageError.exit_code and "Traceback" not in said, said
    assert list(reports()) == [HONEST, "grain"]


def test_a_run_that_is_stopped_keeps_what_was_judged(monkeypatch):
    from fivepoint.conformance import turns

    opened = turns.opened

    def interrupted(names):
        if names == ["grain"]:
            raise KeyboardInterrupt
        return opened(names)

    monkeypatch.setattr(turns, "opened", interrupted)
    Path("peers-report").mkdir()
    Path("peers-report/grain.json").write_text("of yesterday")
    done = CliRunner().invoke(app, ["peers", "judge", "grain", "--select", "C2.1", "--beside", HONEST])
    assert done.exit_code == 130, done.output
    held = json.loads(Path("peers-report/report.json").read_text())["reports"]
    assert [each.get("not_judged") for each in held] == [None, "the run was stopped"]
    assert Path("peers-report/grain.json").read_text() == "of yesterday"


def test_a_proof_is_shown_again_from_any_folder(tmp_path):
    judge("grain", "--select", "C2.1", "--beside", BROKEN, "--into", "my reports")
    (tmp_path / "other").mkdir()
    before, after = shown_again(reports(Path("my reports"))[BROKEN], CHECK, tmp_path / "other")
    for field in ("check", "clause", "verdict", "expected", "got", "where", "case"):
        assert after[field] == before[field], field


@pytest.mark.parametrize("into", ["taken", "taken/in", "/proc/x"])
def test_a_folder_that_cannot_be_made_is_refused_in_a_sentence(into):
    Path("taken").touch()
    code, _, refused = judge("grain", "--beside", HONEST, "--into", into)
    assert code == OutputError.exit_code and refused.startswith(f"cannot write {into}: "), refused


def test_a_clause_that_there_is_not_is_refused():
    code, _, refused = judge("grain", "--select", "C9")
    assert code == UsageError.exit_code and "found C9" in refused


@pytest.mark.slow
@pytest.mark.checkout
def test_real_peers_are_judged_beside_a_small_loader(tmp_path):
    shutil.rmtree(".peers")
    Path(".peers").symlink_to(ROOT / ".peers")
    select = ["--select", CHECK, "--select", "C3.4/wide-seeds"]
    code, said, refused = judge("grain", "torch-sampler", *select, "--beside", HONEST)
    assert (code, refused) == (0, ""), said
    held = reports()
    assert list(held) == [HONEST, "torch-sampler", "grain"]
    verdicts = {name: {row["clause"]: row["verdict"] for row in report["clauses"]} for name, report in held.items()}
    assert verdicts["grain"]["C3.4"] == "holds" and verdicts["torch-sampler"]["C3.4"] == "broken"
    assert "torch-sampler: " in said and "1 broken" in said
    (tmp_path / "other").mkdir()
    before, after = shown_again(held["torch-sampler"], "C3.4/wide-seeds", tmp_path / "other")
    assert (after["expected"], after["got"], after["case"]) == (before["expected"], before["got"], before["case"])
