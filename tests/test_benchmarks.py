"""The benchmark runs whole, small; its plot can be read back as an image; the gate tells a fall from noise."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT

from fivepoint.audit.gate import fallen, held
from fivepoint.audit.supply import machine
from fivepoint.errors import ConfigError

pytest.importorskip("torch")
pytestmark = [pytest.mark.checkout, pytest.mark.torch]
SMALL = ["--rounds", "2", "--megatokens", "1", "--steps", "200"]


spec = importlib.util.spec_from_file_location("benchmark_gate", ROOT / "benchmarks" / "gate.py")
spec.loader.exec_module(judge := importlib.util.module_from_spec(spec))
recorded = judge.recorded


def gate(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "benchmarks" / "gate.py", *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> list[dict]:
    folder = tmp_path_factory.mktemp("bench")
    command = [sys.executable, ROOT / "benchmarks" / "fastpath.py", *SMALL, "--json", folder / "rows.json"]
    done = subprocess.run([*command, "--plot", folder / "plot.png"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "torch DataLoader at its best" in done.stdout
    from PIL import Image

    with Image.open(folder / "plot.png") as picture:
        assert min(picture.size) > 300 and len(picture.convert("L").getcolors()) > 10
    return json.loads((folder / "rows.json").read_text())


@pytest.mark.slow
def test_every_comparison_is_measured(rows):
    assert len({(row["what"], row["against"]) for row in rows}) == len(rows) == 29
    assert all(row["times"] > 0 and row["spread"] >= 0 for row in rows)


@pytest.mark.slow
def test_the_gate_holds_for_what_is_expected_and_names_what_fell(rows, tmp_path):
    # So small a run is all noise: each row is allowed all of it, until one is expected to be what it cannot.
    expected = {f"{row['what']} / {row['against']}": {"times": row["times"], "noise": row["times"]} for row in rows}
    baseline = tmp_path / "baseline.json"
    baseline.write_text(json.dumps({"machine": machine(), "rows": expected}))
    done = gate("--baseline", baseline, *SMALL)
    assert done.returncode == 0 and done.stdout == "29 rows, 0 fell by more than noise\n", done.stdout + done.stderr
    (fallen, *_) = expected
    expected[fallen] = {"times": 10_000.0, "noise": 1.0}
    baseline.write_text(json.dumps({"machine": machine(), "rows": expected}))
    fell = gate("--baseline", baseline, *SMALL)
    assert fell.returncode == 1 and f"{fallen}: expected 10000.00 +- 1.00" in fell.stdout and "29 rows, 1 fell" in fell.stdout


def test_a_baseline_of_another_machine_fails_nothing(capsys):
    baseline = {"a / b": {"times": 10.0, "noise": 1.0}, "c / d": {"times": 1.0, "noise": 0.5}}
    found = {"a / b": {"times": 2.0, "spread": 0.1}, "c / d": {"times": 1.0, "spread": 0.1}}
    asked = []
    assert held(baseline, ["another"], lambda: asked.append(1) or found, print, "record one: --record 5")
    said = capsys.readouterr().out.splitlines()
    assert len(asked) == 1, "it is not measured again"
    assert said[0] == f"the baseline is of another, and this is {machine()}: nothing fails here before record one: --record 5"
    assert said[1:] == ["a / b: expected 10.00 +- 1.00, found 2.00 +- 0.10", "2 rows, 1 below those of another machine"]
    assert not held(baseline, ["another", machine()], lambda: found, print, "")


def test_noise_is_how_far_the_farthest_run_was():
    baseline = recorded([{"a / b": {"times": times}} for times in (2.0, 2.5, 2.1)])["rows"]
    assert baseline == {"a / b": {"times": 2.1, "noise": 0.4}}
    assert fallen(baseline, {"a / b": {"times": 1.61, "spread": 0.1}}) == {}
    assert fallen(baseline, {"a / b": {"times": 1.59, "spread": 0.1}}) == {"a / b": "expected 2.10 +- 0.40, found 1.59 +- 0.10"}
    assert "not in the baseline" in fallen({}, {"a / b": {"times": 3.0, "spread": 0.0}})["a / b"]
    assert "not measured" in fallen(baseline, {})["a / b"]


def test_a_row_that_moves_too_much_can_fail_all_the_same():
    baseline = recorded([{"a / b": {"times": times}} for times in (0.1, 1.0, 4.0)])["rows"]
    assert baseline == {"a / b": {"times": 1.0, "noise": 0.3}}
    assert fallen(baseline, {"a / b": {"times": 0.5, "spread": 3.0}})
    assert fallen(baseline, {"a / b": {"times": float("nan"), "spread": 0.0}})
    with pytest.raises(ConfigError, match="the same rows from every run"):
        recorded([{"a / b": {"times": 1.0}}, {"a / c": {"times": 1.0}}])


def test_without_a_baseline_or_with_too_few_runs_it_says_what_to_do(tmp_path: Path):
    missing = gate("--baseline", tmp_path / "none.json")
    assert missing.returncode == 2 and "record one with --record 5" in missing.stderr
    assert "at least 3 runs" in gate("--record", 2).stderr
    assert "cannot write" in gate("--record", 3, "--baseline", tmp_path / "none" / "baseline.json").stderr
    (tmp_path / "torn.json").write_text("{")
    assert "record one with --record 5" in gate("--baseline", tmp_path / "torn.json").stderr
    assert gate("--recrd", 3).returncode == 2
