"""docs/judge-your-loader.md: its commands run and print what it shows; the loader and the workflow that it names do as it says."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml
from checkout import ROOT
from corpora import Serial, write_corpus

from fivepoint.conformance.driver import Settings
from fivepoint.conformance.drivers.reference import plan_for
from fivepoint.reference.loader import Loader

PAGE = (ROOT / "docs" / "judge-your-loader.md").read_text(encoding="utf-8")
WORKFLOW = ROOT / "examples" / "workflow.yml"
DRIVER = ROOT / "examples" / "javascript" / "driver.mjs"
SPEAKS = shlex.quote(shlex.join(["node", str(DRIVER)]))
"""The command that speaks for the loader in JavaScript, as a word of a shell."""
SELECTED = ("--select", "C2.5", "--select", "C3.4")
"""What stands for the whole suite, to save minutes: the clauses that the driver of the page breaks."""

pytestmark = [pytest.mark.checkout, pytest.mark.torch]
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which .ci/run installs (nodejs)")


def blocks(language: str) -> list[str]:
    """The blocks of one language, without the indentation of a list."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", PAGE, flags=re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


def exchanges(block: str) -> list[tuple[str, str]]:
    """Each command of a console block with the output that stands below it."""
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]


def settled(output: str) -> list[str]:
    """The lines of an output without what differs from machine to machine: seconds, and the width of a table."""
    lines = (re.sub(r"(?<![\w.])\d+\.\d(?![\w.])", "S", re.sub("─+", "─", line)).split() for line in output.splitlines())
    return [" ".join(words) for words in lines if words]


def patched(source: str, diff: str) -> str:
    """The source after a diff whose changes are whole runs of lines."""
    for taken, given in re.findall(r"((?:^-.*\n)*)((?:^\+.*\n)+)", diff, flags=re.MULTILINE):
        before, after = (re.sub(r"^[-+]", "", text, flags=re.MULTILINE) for text in (taken, given))
        assert source.count(before) == 1, before
        source = source.replace(before, after)
    return source


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Run a line of shell as whoever follows the page does, in a folder of its own; nothing is installed."""
    commands = tmp_path / "commands"
    commands.mkdir()
    python = f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -P"
    for name, words in {"python": "", "pip": "-m pip", "pytest": "-m pytest", "fivepoint": "-m fivepoint.cli"}.items():
        (commands / name).write_text(f'{python} {words} "$@"\n')
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    # What is asked for must be installed here: nothing is fetched, and nothing changed.
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_DRY_RUN", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    folder = tmp_path / "repository"
    folder.mkdir()

    def run(line: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "-eo", "pipefail", "-c", line]
        return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")

    run.folder = folder
    return run


def write_repository(folder: Path) -> None:
    """Write the files that the workflow expects, as the page has them."""
    (mine,), (diff,), (known,), (run,) = map(blocks, ("python", "diff", "text", "toml"))
    (folder / "mine.py").write_text(patched(mine, diff))
    (folder / "known.txt").write_text(known)
    (folder / "run.toml").write_text(run)
    (folder / "requirements.txt").write_text("fivepoint[prepare,train]\n")
    (folder / "texts").mkdir()
    for number, page in enumerate(sorted((ROOT / "spec").glob("*.md"))):
        shutil.copy(page, folder / "texts" / f"{number}.md")


def shortened(line: str) -> str:
    """A command that judges everything, made to judge what this test has time for."""
    whole = line.startswith("fivepoint conform mine:Mine") and "--select" not in line
    return f"{line} {shlex.join(SELECTED)}" if whole else line


def lower(baseline: Path) -> None:
    """Divide the ratios of a baseline: whether a busy machine keeps up with itself is not what is tested."""
    runs = [json.loads(line) for line in baseline.read_text().splitlines()]
    assert len(runs) == 5, "expected what the page and the workflow record"
    for supply in (run[name] for run in runs for name in ("cold", "warm") if run[name]):
        supply["ratio"] /= 1000
    baseline.write_text("".join(f"{json.dumps(run)}\n" for run in runs))


def has_numpy_and_torch_alone(home: Path) -> None:
    """Make an environment in which the page's driver finds all that it needs, and no fivepoint."""
    subprocess.run([sys.executable, "-P", "-m", "venv", "--without-pip", home], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    # The .pth files over there, the checkout's among them, are not read.
    (packages / "rest.pth").write_text(f"{Path(pytest.__file__).parent.parent}\n")


@needs_node
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_command_does_what_the_page_says(shell):
    pytest.importorskip("torch")
    write_repository(shell.folder)
    (mine,), (diff,) = blocks("python"), blocks("diff")
    (shell.folder / "mine.py").write_text(mine)
    (shell.folder / "examples").symlink_to(ROOT / "examples")
    has_numpy_and_torch_alone(shell.folder / "other")
    broken = []
    for block in blocks("console"):
        if PAGE.index(block) > PAGE.index(diff):
            (shell.folder / "mine.py").write_text(patched(mine, diff))
        for command, shown in exchanges(block):
            done = shell(shortened(command.replace("PATH/TO/CHECKOUT", "fivepoint")))
            if shown:
                assert settled(done.stdout) == settled(shown), f"{command} printed\n{done.stdout}"
            if ">> bench.jsonl" in command:
                lower(shell.folder / "bench.jsonl")
            if done.returncode:
                broken.append(command)
                assert done.returncode == 1, f"{command} printed\n{done.stdout}"
    assert broken == ["fivepoint conform mine:Mine --select C2"]


@pytest.mark.slow
def test_the_promise_that_goes_could_not_be_kept(shell):
    pytest.importorskip("torch")
    write_repository(shell.folder)
    mine = shell.folder / "mine.py"
    mine.write_text(mine.read_text().replace('"whole_epochs", "whole_steps"', '"whole_epochs", "layout", "whole_steps"'))
    done = shell("fivepoint conform mine:Mine --select C3.2")
    assert done.returncode == 1 and "C3.2 Order is not a matter of layout is broken (C3.2/any-layout)" in done.stdout, done.stdout


@needs_node
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("chapters", [("V1", "V3", "C1.2"), ("C2", "C3.3"), ("C4.3", "C4.7", "C4.12")])
def test_the_loader_in_javascript_holds(shell, chapters):
    done = shell(f"fivepoint conform --process {SPEAKS} " + " ".join(f"--select {chapter}" for chapter in chapters))
    assert done.returncode == 0, done.stdout
    assert "refused:" not in done.stdout, done.stdout


@needs_node
@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mode", ["quick", "full"])
def test_the_loader_in_javascript_holds_in_every_clause(shell, mode):
    done = shell(f"fivepoint conform --process {SPEAKS} --{mode} --json report.json")
    assert done.returncode == 0, done.stdout


class Process:
    """The process of examples/javascript/driver.mjs, asked as DRIVERS.md says."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(["node", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        assert self.process.wait(30) == 0

    def ask(self, do: str, state: bytes | None = None, **fields: object) -> tuple[dict, list[bytes]]:
        frames = [] if state is None else [{"dtype": "uint8", "shape": [len(state)]}]
        line = json.dumps({"do": do, **fields, "frames": frames}).encode()
        self.process.stdin.write(line + b"\n" + (state or b""))
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        sizes = {"int64": 8, "uint8": 1}
        shapes = ((sizes[frame["dtype"]], frame["shape"]) for frame in reply["frames"])
        return reply, [self.process.stdout.read(size * shape[0] * (shape[1] if shape[1:] else 1)) for size, shape in shapes]


@pytest.fixture
def request_of_a_run(tmp_path) -> dict[str, object]:
    """Corpora of two sources, and what a `build` over them says; the seed and a skip are beyond what a double holds exactly."""
    serial = Serial()
    for name in ("a", "b"):
        write_corpus(tmp_path / "corpus" / name, serial.documents([90] * 9), shard_bytes=900)
    phases = [{"length": 40, "weights": {"a": "0.7", "b": "0.3"}}]
    skips = [[5, 2**47 + 1]]
    settings = {"seed": 2**64 - 3, "seq_len": 8, "sources": {"b": ["b"], "a": ["a"]}, "phases": phases, "skips": skips}
    settings |= {"max_epochs": {}, "signed_off": True, "rule": "earliest-deadline", "boundaries": False, "batch_size": None}
    layout = {"dp_rank": 0, "dp_size": 1, "micro_batch": 4, "accumulation": 1}
    return {"corpus": str(tmp_path / "corpus"), "workdir": str(tmp_path), "settings": settings, "layout": layout}


@needs_node
def test_checkpoints_of_the_loader_in_javascript_are_those_of_the_reference(tmp_path, request_of_a_run):
    plan = plan_for(tmp_path / "corpus", Settings.from_json(request_of_a_run["settings"]))
    with Loader(plan, 0, 1, 4) as loader, Process() as process:
        assert process.ask("build", **request_of_a_run)[0] == {"ok": None, "frames": []}
        for _ in range(3):
            _, (inputs, targets) = process.ask("next")
            (batch,) = next(loader)
            assert (inputs, targets) == (batch.inputs.astype("<i8").tobytes(), batch.targets.astype("<i8").tobytes())
            loader.commit()
            process.ask("commit")
        _, (state,) = process.ask("save")
    assert json.loads(state) | {"plan_hash": ""} == loader.state_dict() | {"plan_hash": ""}
    with Loader(plan, 0, 1, 4, checkpoint=json.loads(state)) as resumed, Process() as process:
        process.ask("build", state, **request_of_a_run)
        _, (inputs, _) = process.ask("next")
        assert inputs == next(iter(next(resumed))).inputs.astype("<i8").tobytes()


@needs_node
@pytest.mark.parametrize("state", [b"{", b"{}", b'{"format": "fivepoint-checkpoint", "version": 1}', b"\xff"])
def test_what_is_no_checkpoint_is_refused(request_of_a_run, state):
    with Process() as process:
        assert "refused" in process.ask("build", state, **request_of_a_run)[0]
        assert "refused" in process.ask("unheard of")[0]


@pytest.fixture(scope="module")
def workflow() -> dict:
    # YAML 1.1 reads the key `on` as true.
    found = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    return {"on" if key is True else key: value for key, value in found.items()}


def test_the_workflow_may_read_and_no_more(workflow):
    assert workflow["permissions"] == {"contents": "read"}
    assert set(workflow["on"]) == {"push", "pull_request", "workflow_dispatch"}
    for job in workflow["jobs"].values():
        assert job["runs-on"] and job["timeout-minutes"] and "permissions" not in job
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/none@v0"))
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_step_of_the_workflow_runs(workflow, shell):
    pytest.importorskip("torch")
    write_repository(shell.folder)
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            if "run" in step:
                done = shell(shortened(step["run"]))
                assert done.returncode == 0, f"{step['run']}: {done.stdout}"
                if ">> bench.jsonl" in step["run"]:
                    lower(shell.folder / "bench.jsonl")
            for path in step.get("with", {}).get("path", "").split():
                assert (shell.folder / path).exists() or path == "fivepoint-cases", path
            if path := step.get("with", {}).get("cache-dependency-path"):
                assert (shell.folder / path).exists()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_clause_that_is_newly_broken_fails_the_workflow(workflow, shell):
    pytest.importorskip("torch")
    write_repository(shell.folder)
    (shell.folder / "known.txt").write_text("")
    (judged,) = (step["run"] for step in workflow["jobs"]["contract"]["steps"] if "conform" in step.get("run", ""))
    done = shell(shortened(judged))
    assert done.returncode == 1, done.stdout
    failed = ElementTree.parse(shell.folder / "conformance.xml").findall(".//testcase/failure")
    assert len(failed) == 2 and all("seed" in each.text for each in failed)
    for check in ("one-source", "wide-seeds"):
        assert list((shell.folder / "fivepoint-cases").rglob(f"C3.4-{check}.json"))
