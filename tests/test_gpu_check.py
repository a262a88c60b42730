"""`make gpu-check` without a GPU: what it serves, how it reads a trace, that no part takes the others with it, what it says it lacks."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from checkout import ROOT

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.checkout, pytest.mark.torch]
GPU = ROOT / "benchmarks" / "gpu.py"


@pytest.fixture(autouse=True)
def found_by_name(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


@pytest.fixture
def gpu():
    # By another name than its own, which a checkout's folder may have.
    spec = importlib.util.spec_from_file_location("benchmark_gpu", GPU)
    spec.loader.exec_module(found := importlib.util.module_from_spec(spec))
    return found


def ran(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, GPU, *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, **environment})


def rows_of(script: str, seconds: float = 60) -> list:
    table = importlib.import_module("gpu_table")
    return list(table.rows_of("a part", [sys.executable, "-c", script], time.monotonic() + seconds))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_where_there_is_none_it_says_so_and_builds_nothing():
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "ARGS"))}  # as if no make had started it
    done = subprocess.run(["make", "gpu-check", f"GPU_PYTHON={sys.executable}"], cwd=ROOT, env=outside, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert said[-1] == f"no CUDA device that torch {torch.__version__} can use was found: nothing was checked"
    assert not [line for line in said if "setup.py" in line]


@pytest.mark.slow
def test_what_the_sanitizers_watch_is_served_whole():
    done = ran("--serve", "--device", "cpu")
    assert done.returncode == 0 and done.stdout.startswith("9 plans served on cpu"), done.stderr


def test_what_it_serves_can_be_of_another_build(tmp_path):
    (built,) = (ROOT / "fastpath").glob("_C*.so")
    other = tmp_path / "_C.so"
    other.write_bytes(built.read_bytes())
    done = ran("--serve", "--device", "cpu", "--module", other)
    assert done.returncode == 0 and done.stdout.endswith(f"by {other}\n"), done.stdout + done.stderr


BLOCKING = """
import sys
class Blocked:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {blocked}: raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Blocked())
"""


def test_it_needs_no_more_than_it_lists(tmp_path):
    # What else the extras install, and what the GPU's Python need not have.
    blocked = {"matplotlib", "tokenizers", "tiktoken", "sentencepiece", "pyarrow", "zstandard", "safetensors", "pytest", "hypothesis"}
    (tmp_path / "sitecustomize.py").write_text(BLOCKING.format(blocked=blocked))
    script = "import gpu_checks, gpu_speed, fivepoint.cli, fivepoint.conformance.suite as suite; suite.collected()"
    path = os.pathsep.join([str(tmp_path), str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr


def test_the_page_lists_what_it_needs(gpu):
    page = (ROOT / "docs" / "gpu.md").read_text()
    assert not [name for name in gpu.NEEDED if name not in page]


def test_what_is_missing_or_too_old_is_named_at_once(gpu, monkeypatch, capsys):
    monkeypatch.setattr(gpu, "NEEDED", {"numpy": 1, "no_such_package": 0, "setuptools": 10_000})
    monkeypatch.setattr(gpu, "without_device", lambda: "")
    monkeypatch.setattr(gpu, "checked", lambda *_: pytest.fail("began"))
    monkeypatch.setattr(sys, "argv", ["gpu.py"])
    assert gpu.main() == 2
    said = capsys.readouterr().err
    assert said.endswith("found no no_such_package, no setuptools from 10000 on\n") and said.count("\n") == 1


def test_what_the_caller_has_on_the_path_stays_there(gpu, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/carried")
    assert gpu.environment()["PYTHONPATH"] == f"{ROOT / '.path'}{os.pathsep}/carried"
    monkeypatch.delenv("PYTHONPATH")
    assert gpu.environment()["PYTHONPATH"] == str(ROOT / ".path")
    assert not gpu.missing()


def test_the_rows_of_a_part_that_ends_well_are_its_rows():
    table = importlib.import_module("gpu_table")
    script = (
        """import json; print(json.dumps({"what": "a", "found": 1.5, "wanted": 1.0})); print(json.dumps({"what": "b", "found": "x"}))"""
    )
    assert rows_of(script) == [table.Row("a", 1.5, 1.0), table.Row("b", "x")]


FIRST = """import json, os, time; print(json.dumps({"what": "first", "found": 1.0}), flush=True);"""


@pytest.mark.parametrize(
    ("end", "found", "note", "said"),
    [
        ("raise RuntimeError('why')", "failed", "exit code 1", "RuntimeError: why"),
        ("os.abort()", "failed", "exit code -6", ""),
        ("print('this is no row', flush=True)", "failed", "JSONDecodeError", ""),
        ("os.system('sleep 60')", "stopped", "after 8 s", ""),
    ],
)
def test_a_part_that_ends_badly_keeps_its_rows_and_says_so(end, found, note, said):
    table = importlib.import_module("gpu_table")
    rows = list(table.together({"a part": [sys.executable, "-c", FIRST + end]}, time.monotonic() + (8 if found == "stopped" else 60)))
    assert [row.what for row in rows] == ["first", "a part"] and rows[1].short
    assert rows[1].found == found and note in rows[1].note and said in rows[1].said, rows[1]


def test_parts_that_run_at_once_are_all_heard():
    table = importlib.import_module("gpu_table")
    parts = {name: [sys.executable, "-c", FIRST + end] for name, end in {"a": "", "b": "raise ValueError", "c": "time.sleep(60)"}.items()}
    rows = list(table.together(parts, time.monotonic() + 8))
    assert sorted(row.what for row in rows) == ["b", "c", "first", "first", "first"]


def test_who_stops_listening_ends_the_parts():
    table = importlib.import_module("gpu_table")
    rows = table.together({"a part": [sys.executable, "-c", FIRST + "time.sleep(60)"]}, time.monotonic() + 60)
    next(rows)
    (group,) = table.RUNNING
    rows.close()
    while table.RUNNING:
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)


def test_a_part_for_which_no_time_is_left_is_not_begun():
    assert [row.found for row in rows_of(FIRST, seconds=0)] == ["not run"]


def test_it_ends_within_eight_minutes_and_every_part_has_a_name_of_its_own(gpu):
    ends, names = [until for until, _ in gpu.STAGES], [name for _, names in gpu.STAGES for name in names]
    assert ends == sorted(ends) and ends[-1] <= 475 and len(set(names)) == len(names)


def test_the_whole_is_printed_written_and_short_where_a_part_is(gpu, monkeypatch, tmp_path, capsys):
    about = {"device": "a card", "driver": "", "torch": "2", "cuda": "13.0", "date": "", "command": ""}
    monkeypatch.setattr(gpu, "facts", lambda: about)
    monkeypatch.setattr(gpu, "STAGES", [(60, ["no such part"]), (60, ["left out"])])
    assert gpu.checked(tmp_path / "gpu.json", {"no such part"}) == 1
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "a card, driver unknown, torch 2, CUDA 13.0" and last.startswith("1 lines, 1 short, in "), (first, last)
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert found["device"] == "a card" and [row["what"] for row in found["rows"]] == ["no such part"]


def test_every_check_of_the_suite_is_in_one_of_its_parts(gpu):
    suite = importlib.import_module("fivepoint.conformance.suite")
    parts = [name.split("/")[1:] for _, names in gpu.STAGES for name in names if name.startswith("conformance")]
    asked = [check.id for chapters in parts for check in suite.collected(chapters)]
    assert sorted(asked) == sorted(check.id for check in suite.collected())


def test_what_is_short_is_what_is_not_within_its_bound():
    row = importlib.import_module("gpu_table").Row
    short = [row("", 0.8, 0.8), row("", 2.1, 2.1, "at most"), row("", 0.0, 0.001, "under"), row("", 5.0), row("", "clean", "clean")]
    assert not any(each.short for each in short)
    bad = [row("", 0.79, 0.8), row("", 2.2, 2.1, "at most"), row("", 0.001, 0.001, "under"), row("", float("nan"), 0.8)]
    assert all(each.short for each in [*bad, row("", "stopped", 0.8), row("", "failed", "clean")])
    assert "at most 2.1" in str(bad[1]) and "SHORT" in str(bad[1])


def test_the_copies_are_read_off_a_trace():
    # As torch's profiler exports it: complete events (ph X), times in microseconds.
    def event(category: str, name: str, duration: float, **arguments: object) -> dict:
        return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": 5839.0, "dur": duration, "args": arguments}

    copy = {"device": 0, "context": 1, "stream": 20, "correlation": 3, "memory bandwidth (GB/s)": 50.0}
    trace = {
        "schemaVersion": 1,
        "traceEvents": [
            {"name": "process_name", "ph": "M", "ts": 0, "pid": 0, "tid": 0, "args": {"name": "python"}},
            event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 10.5, bytes=525_000, **copy),
            event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 1.0, bytes=4096, **copy),
            event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 1.0, bytes=8, **copy),
            event("cuda_driver", "cuMemcpyHtoDAsync_v2", 3.0, correlation=3),
            event("kernel", "fivepoint_widen", 100.0, grid=[4, 512, 1]),
            event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 2.0, bytes=64, **copy),
        ],
    }
    assert importlib.import_module("gpu_speed").copies_of(trace) == [(525_000, 10.5e-6), (64, 2e-6)]


def test_the_table_is_written_with_what_it_is_about(tmp_path):
    table = importlib.import_module("gpu_table")
    table.written(tmp_path / "gpu.json", {"device": "a card", "seconds": 3}, [table.Row("a", 0.5, 0.8), table.Row("b", "clean", "clean")])
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert found["device"] == "a card" and [row["short"] for row in found["rows"]] == [True, False]


def test_the_source_tree_is_small_with_and_without_git(tmp_path: Path):
    checks = importlib.import_module("gpu_checks")
    assert 1 << 20 < checks.size_of(ROOT) < checks.MOST_MEBIBYTES * 2**20
    for name in ("csrc/a.cpp", "build/a.o", ".venv/large", ".path/other"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"12345")
    assert checks.size_of(tmp_path) == 10
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "csrc"], cwd=tmp_path, check=True)
    assert checks.size_of(tmp_path) == 10
