"""examples/prove.py: an honest run is proven, and each kind of difference is reported with its step, rank and positions."""

import shutil
from pathlib import Path

import checkout  # noqa: F401 examples/ is no part of the package
import pytest
from served import prove, rewrite, serve, write_plan


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> Path:
    """Return a folder with plan.json and run/: 5 steps on 2 ranks, of which the last 2 are lost, then 6 steps on 3 and 5 on 4 ranks."""
    folder = tmp_path_factory.mktemp("honest")
    plan, run = write_plan(folder), folder / "run"
    state = serve(plan, run, 2, 3, 3)
    serve(plan, run, 2, 3, 2, state)
    state = serve(plan, run, 3, 2, 6, state)
    serve(plan, run, 4, 3, 5, state)
    return folder


@pytest.fixture
def folder(honest, tmp_path) -> Path:
    return Path(shutil.copytree(honest, tmp_path / "copy"))


def check_reported(folder: Path, *expected: str) -> None:
    code, printed = prove(folder / "plan.json", folder / "run")
    assert code == 1 and "NOT PROVEN" in printed, f"expected exit code 1 and a report, found {code}: {printed}"
    for line in expected:
        assert f"- {line}\n" in printed, f"expected {line!r}, found {printed}"


def test_an_honest_run_is_proven(folder):
    code, printed = prove(folder / "plan.json", folder / "run")
    assert code == 0, printed
    for line in (
        "attempt 3: steps 4 to 9 on 3 ranks, 2 samples at a time on each",
        "- the 14 steps that count trained on each of the positions 0 to 239 exactly once, and on no other",
        "- steps 4 to 5 were committed, lost and redone; the 8 micro-batches lost are those of the plan too",
    ):
        assert line in printed, f"expected {line!r}, found {printed}"


def test_micro_batches_of_a_step_that_was_killed_are_told_from_those_of_lost_steps(folder):
    """Step 5 of the second attempt was begun on both ranks, and never committed."""
    rewrite(
        folder / "run" / "run_log.jsonl",
        lambda lines: lines.remove(next(each for each in lines if each.get("step") == 5 and "event" not in each)),
    )
    code, printed = prove(folder / "plan.json", folder / "run")
    assert code == 0, printed
    assert (
        "- steps 4 to 4 were committed, lost and redone; the 8 micro-batches lost, 4 of them of a step that was not committed before"
        in printed
    )
    assert "the trainer itself writes" in printed


def test_a_flipped_digest(folder):
    def flip(lines):
        line = next(line for line in lines if line["step"] == 12)
        line["sha256"] = line["sha256"][:-1] + ("0" if line["sha256"][-1] != "0" else "1")

    rewrite(folder / "run" / "ranks" / "rank-2.jsonl", flip)
    check_reported(
        folder,
        "step 12, rank 2, micro-batch 0: expected the tokens of positions 180 to 182, "
        "found tokens that the plan has at no 3 neighbouring positions",
        "positions 180 to 182: expected once in the steps that count, found no times",
    )


def test_a_flipped_digest_of_a_lost_step(folder):
    rewrite(folder / "run" / "ranks" / "rank-1.jsonl", lambda lines: lines[6].update(sha256="0" * 64))
    check_reported(
        folder,
        "step 4, rank 1, micro-batch 0: expected the tokens of positions 42 to 44, "
        "found tokens that the plan has at no 3 neighbouring positions",
    )


def test_a_missing_line(folder):
    rewrite(folder / "run" / "ranks" / "rank-0.jsonl", lambda lines: lines.pop())
    check_reported(
        folder,
        "step 14, rank 0, micro-batch 1: expected one line in attempt 4, found none",
        "positions 219 to 221: expected once in the steps that count, found no times",
    )


def test_a_missing_rank(folder):
    (folder / "run" / "ranks" / "rank-3.jsonl").unlink()
    check_reported(folder, "step 10, rank 3, micro-batch 0: expected one line in attempt 4, found none")


def test_a_line_twice(folder):
    rewrite(folder / "run" / "ranks" / "rank-3.jsonl", lambda lines: lines.append(lines[-1]))
    check_reported(
        folder,
        "step 14, rank 3, micro-batch 1: expected one line in attempt 4, found 2",
        "positions 237 to 239: expected once in the steps that count, found 2 times",
    )


def test_a_repeated_position(folder):
    """A rank that trained on what another rank trained on a step before."""

    def repeat(lines):
        lines[-1]["sha256"] = lines[-3]["sha256"]

    rewrite(folder / "run" / "ranks" / "rank-3.jsonl", repeat)
    check_reported(
        folder,
        "step 14, rank 3, micro-batch 1: expected the tokens of positions 237 to 239, found those of positions 213 to 215",
        "positions 213 to 215: expected once in the steps that count, found 2 times",
        "positions 237 to 239: expected once in the steps that count, found no times",
    )


def test_a_step_that_the_run_log_misses(folder):
    rewrite(folder / "run" / "run_log.jsonl", lambda lines: lines.pop(10))
    check_reported(folder, "step 6: expected a line in the run log, found none")


def test_another_count_of_consumed_samples(folder):
    rewrite(folder / "run" / "run_log.jsonl", lambda lines: lines[-1].update(consumed=264))
    check_reported(folder, "step 14: expected consumed = 240 after it in the run log, found 264")


def test_a_torn_last_line_is_left_out(folder):
    with open(folder / "run" / "ranks" / "rank-0.jsonl", "a", encoding="utf-8") as file:
        file.write('{"attempt": 4, "st')
    assert prove(folder / "plan.json", folder / "run")[0] == 0


def test_nothing_is_proven_from_a_damaged_log(folder):
    path = folder / "run" / "ranks" / "rank-0.jsonl"
    path.write_text(path.read_text().replace('"step": 2', '"step', 1))
    code, printed = prove(folder / "plan.json", folder / "run")
    assert code == 2 and "rank-0.jsonl, line 3: expected JSON" in printed, printed


def test_nothing_is_proven_from_changed_shards(folder):
    (path,) = (folder / "code").glob("*-00001.bin")
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    code, printed = prove(folder / "plan.json", folder / "run")
    assert code == 2 and "expected SHA-256" in printed, printed
