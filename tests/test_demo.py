"""The main job, end to end and small, in a folder with a space in its name; how it ends when it is interrupted; what it refuses."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import checkout  # noqa: F401 examples/ is no part of the package
import pytest
from served import EXAMPLES

STATEMENT = "PROVEN: the run trained on exactly the planned data, through a kill and two changes of the number of ranks."


def command(out: Path, *options: str) -> list[str]:
    return [sys.executable, str(EXAMPLES / "demo.py"), "--quick", "--out", str(out), *options]


def processes_that_name(path: Path) -> list[str]:
    """Return the command lines of all processes with `path` among their arguments."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:  # it ended meanwhile
            continue
        if str(path) in line and "demo.py" not in line:
            lines.append(line)
    return lines


@pytest.mark.slow
@pytest.mark.torch
def test_the_demo(tmp_path):
    pytest.importorskip("torch")
    out = tmp_path / "a demo"
    done = subprocess.run(command(out), capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    printed = done.stdout
    assert STATEMENT in printed and printed.count("NOT PROVEN:") == 2, printed[-3000:]
    assert "rank 1 (process" in printed and "attempt 3: 3 ranks" in printed, printed
    assert printed.count("(As expected: the fault was planted") == 2
    assert "\nrows" in printed and "more rows" in printed and "not committed" in printed
    assert "'a demo/run.toml'" in printed, "commands are printed as a shell takes them"

    proof = json.loads((out / "run" / "proof.json").read_bytes())
    assert proof["proven"] and proof["steps"] == 40 and proof["consumed"] == 1344 and proof["redone"], proof
    assert [attempt["dp_size"] for attempt in proof["attempts"]] == [2, 4, 3]
    for fault in ("prefetched", "cursors"):
        problems = json.loads((out / f"sabotaged-{fault}" / "proof.json").read_bytes())["problems"]
        assert problems[0].startswith("step ") and " rank " in problems[0] and "position" in problems[0], problems[:1]
    losses = [json.loads(line)["loss"] for line in (out / "run" / "losses.jsonl").read_text().splitlines()]
    assert losses[0] - losses[-1] > 1, f"expected the loss to fall, found {losses}"
    assert not [path for path in out.rglob("*") if path.name.endswith(".tmp")], "nothing half-written stays"
    assert processes_that_name(out) == []


@pytest.mark.parametrize("sign, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
@pytest.mark.slow
@pytest.mark.torch
def test_nothing_is_left_running(tmp_path, sign, code):
    pytest.importorskip("torch")
    out = tmp_path / "a demo"
    demo = subprocess.Popen(command(out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 300
    while not list(out.glob("run/ranks/rank-1.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_that_name(out), "expected ranks at work"
    os.kill(demo.pid, sign)
    assert demo.wait(30) == code, demo.stderr.read()
    while processes_that_name(out) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_that_name(out) == []


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("mine")
    done = subprocess.run(command(tmp_path), capture_output=True, text=True)
    assert done.returncode == 1 and "expected" in done.stderr and "found other files" in done.stderr, done.stderr
    assert (tmp_path / "run" / "thesis.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["the target.'\n<|endoftext|>", "\ufffdlong the", "path to \ufffd"])
def test_a_preview_is_found_in_its_text_also_where_a_window_cuts_it(tmp_path, text):
    script = """if True:
        import json, sys, summary
        summary.kept_lines = lambda out, source: [sys.argv[1].encode()]
        summary.origin(None, json.loads(sys.argv[2]))
    """
    line = json.dumps({"text": "along the path to the target.'\n", "from": "a.py"})

    def found(preview: str) -> int:
        document = json.dumps({"source": "a", "document": 0, "preview": {"text": preview}})
        return subprocess.run([sys.executable, "-c", script, line, document], cwd=EXAMPLES, capture_output=True).returncode

    assert found(text) == 0
    assert found("another text") == 1
