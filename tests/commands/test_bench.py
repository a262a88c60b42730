"""`fivepoint bench`: the figures agree with each other and with a disk whose speed is known; what was not cold is not called so."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from runs import answer, fivepoint, prepare_run, process, refusal
from scripted import built_shim

from fivepoint.audit.layout import Layout
from fivepoint.audit.supply import COPY, WARM, Share, extents
from fivepoint.reference.batch import open_corpora
from fivepoint.reference.plan import Plan

pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.clause("C5.4")]

SMALL = ["bench", "plan.json", "--micro-batch", 2, "--dp-size", 3, "--steps", 4, "--rounds", 3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return prepare_run(tmp_path_factory.mktemp("bench"))


def test_the_figures_agree_with_each_other(folder):
    found = answer("command_bench", *SMALL, "--step-seconds", 0.25, cwd=folder)
    assert (found["tokens_per_step"], found["steps"], found["rounds"]) == (4 * 8, 4, 3)
    assert found["demand_tokens_per_second"] == pytest.approx(32 / 0.25)
    for supply in filter(None, (found["cold"], found["warm"])):
        assert supply["tokens_per_second"] == pytest.approx(32 / supply["seconds_per_step"])
        assert supply["headroom"] == pytest.approx(0.25 / supply["seconds_per_step"])
        assert supply["headroom"] == pytest.approx(supply["tokens_per_second"] / found["demand_tokens_per_second"])


def test_a_slow_disk_is_as_slow_as_it_is(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", str(built_shim(tmp_path)))
    monkeypatch.setenv("SHIM_DELAY_MS", "20")
    # Four rows a step, one read after the other, each of 20 ms: steps of 80 ms, where windows do not cross shards.
    slow = process(*SMALL, "--threads", 1, "--step-seconds", 0.04, cwd=folder)
    assert slow.returncode == 0, slow.stderr
    assert "of what steps of 0.04 s take: the training would wait" in slow.stdout
    monkeypatch.setenv("SHIM_DELAY_MS", "0")
    assert "would wait" not in process(*SMALL, "--threads", 1, "--step-seconds", 0.04, cwd=folder).stdout


def test_memory_is_not_called_a_cold_disk(folder):
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("needs a file system in memory at /dev/shm")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        shutil.copytree(folder, Path(memory, "run"))
        assert answer("command_bench", *SMALL, cwd=Path(memory, "run"))["cold"] is None
        assert "nothing is said of a cold cache" in fivepoint(*SMALL, cwd=Path(memory, "run")).stdout


def test_what_only_reads_reads_the_bytes_of_the_windows(folder):
    plan = Plan.load(folder / "plan.json")
    readers = open_corpora(plan)
    share = Share(Layout.of(plan, 3, 4), 1)
    positions = share.positions(24, 17)
    assert positions == [24 + 12 * step + 4 + row for step in range(17) for row in range(4)]
    crossed = 0
    for position in positions:
        sample = plan.resolve(position)
        found = list(extents(plan, readers, [position]))
        crossed += len(found) > 1
        dtype = readers[sample.source, sample.spans[0].corpus].manifest.token_dtype
        read = b"".join(extent.path.read_bytes()[extent.offset : extent.offset + extent.length] for extent in found)
        tokens = [readers[sample.source, span.corpus].tokens(span.first, span.length) for span in sample.spans]
        assert read == b"".join(each.astype(dtype).tobytes() for each in tokens)
    assert crossed


def test_rounds_share_no_step(folder):
    share = Share(Layout.of(Plan.load(folder / "plan.json"), 1, 12), 0)
    served = [position for start in share.starts(4, 4) for position in share.positions(start, 4)]
    assert len(set(served)) == 4 * 4 * 12


@pytest.mark.parametrize(
    ("changed", "code", "said"),
    [
        (["--steps", 9], 8, "expected a run of at least 4 x 9 steps, one of them to warm up, found 19; ask for fewer --steps or --rounds"),
        (["--micro-batch", 5], 9, "choose another micro_batch or number of ranks"),
        (["--dp-rank", 3], 9, "dp_rank"),
    ],
)
def test_what_cannot_be_measured_is_refused(folder, changed, code, said):
    assert said in refusal(code, *SMALL, *changed, cwd=folder)


@pytest.fixture(scope="module")
def recorded(folder) -> list[dict]:
    """Three runs, whose ratios are known."""
    found = answer("command_bench", *SMALL, cwd=folder)
    runs = []
    for ratio in (1e-9, 2e-9, 4e-9):
        supplies = {name: found[name] and found[name] | {"ratio": ratio} for name in ("cold", "warm")}
        runs.append(found | supplies)
    return runs


def baseline(folder: Path, runs: list[dict]) -> str:
    (folder / "bench.jsonl").write_text("".join(f"{json.dumps(run)}\n" for run in runs))
    return "bench.jsonl"


def test_the_gate_holds_while_no_ratio_fell(folder, recorded):
    held = fivepoint(*SMALL, "--gate", baseline(folder, recorded), cwd=folder)
    rows = 1 + bool(recorded[0]["cold"])
    assert held.returncode == 0, held.stderr
    assert held.stdout.endswith(f"{rows} rows, 0 fell by more than noise\n")
    assert "measuring again" not in held.stdout and "the baseline is of" not in held.stdout


def test_the_gate_names_what_fell_twice(folder, recorded):
    high = [run | {"warm": run["warm"] | {"ratio": 1e9}} for run in recorded]
    fell = fivepoint(*SMALL, "--gate", baseline(folder, high), "--json", cwd=folder)
    assert fell.returncode == 1
    # What is printed for machines are the measurements alone: they may become lines of the next baseline.
    assert json.loads(fell.stdout.splitlines()[0])["plan_hash"] == recorded[0]["plan_hash"]
    assert "rows fell, measuring again" in fell.stderr
    row = f"{WARM} / {COPY}: expected 1000000000.00 +- 10000000.00, found "
    assert row in fell.stderr and ", and again: expected 1000000000.00" in fell.stderr
    assert fell.stderr.endswith(" 1 fell by more than noise\n")


def test_on_a_machine_that_the_baseline_does_not_know_nothing_fails(folder, recorded):
    high = [run | {"machine": "another", "warm": run["warm"] | {"ratio": 1e9}} for run in recorded]
    # Two runs of this machine are too few for noise to be seen.
    told = fivepoint(*SMALL, "--gate", baseline(folder, [*high, *recorded[:2]]), "--json", cwd=folder)
    assert told.returncode == 0 and len(told.stdout.splitlines()) == 1
    assert "the baseline is of another, and this is " in told.stderr
    assert "nothing fails here before 3 runs of this machine are recorded: --json >> bench.jsonl" in told.stderr
    assert f"{WARM} / {COPY}: expected 1000000000.00" in told.stderr
    assert told.stderr.endswith(" 1 below those of another machine\n")


def test_a_baseline_of_several_machines_holds_each_to_its_own_runs(folder, recorded):
    high = [run | {"machine": "another", "warm": run["warm"] | {"ratio": 1e9}, "cold": None} for run in recorded]
    held = fivepoint(*SMALL, "--gate", baseline(folder, [*high, *recorded]), cwd=folder)
    assert held.returncode == 0, held.stderr
    assert held.stdout.endswith(f"{1 + bool(recorded[0]['cold'])} rows, 0 fell by more than noise\n") and "another" not in held.stdout


def test_what_is_no_baseline_is_refused(folder, recorded):
    (folder / "torn.jsonl").write_text("{")
    for path, said in (
        ("none.jsonl", "No such file or directory"),
        ("torn.jsonl", "torn.jsonl:1"),
        (baseline(folder, recorded[:2]), "expected at least 3 runs"),
    ):
        assert said in refusal(3, *SMALL, "--gate", path, cwd=folder)
    (folder / "bench.jsonl").write_text('{"steps": 4}\n' * 3)
    assert "bench.jsonl:1: expected the key plan_hash" in refusal(3, *SMALL, "--gate", "bench.jsonl", cwd=folder)
    (folder / "bench.jsonl").write_bytes(b"\xff\n")
    assert "bench.jsonl" in refusal(3, *SMALL, "--gate", "bench.jsonl", cwd=folder)


@pytest.mark.parametrize(("field", "other"), [("plan_hash", "0" * 64), ("steps", 5), ("rounds", 4), ("tokens_per_step", 7)])
def test_a_baseline_of_other_measurements_is_refused(folder, recorded, field, other):
    runs = [*recorded, recorded[0] | {field: other}]
    assert f"bench.jsonl:4: expected {field} " in refusal(3, *SMALL, "--gate", baseline(folder, runs), cwd=folder)


def test_runs_that_measured_different_rows_are_no_baseline(folder, recorded):
    runs = [*recorded, recorded[0] | {"cold": None if recorded[0]["cold"] else recorded[0]["warm"] | {"seconds_to_first_batch": 1.0}}]
    assert "expected the same rows from every run" in refusal(3, *SMALL, "--gate", baseline(folder, runs), cwd=folder)
