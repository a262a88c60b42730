"""`fivepoint bench`: the figures agree with each other and with a disk whose speed is known; what was not cold is not called so."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from runs import answer, fivepoint, prepare_run, process, refusal
from scripted import built_shim

from fivepoint.audit.layout import Layout
from fivepoint.audit.supply import Share, extents
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
