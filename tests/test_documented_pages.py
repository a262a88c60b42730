"""docs/prepare.md and docs/train.md: their examples run, and do what the page says."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from checkout import ROOT
from preparing import many, write_jsonl
from runs import process
from served import write_plan

from fivepoint.audit.log_lines import read

pytestmark = pytest.mark.checkout


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_the_examples_of_prepare_run(tmp_path):
    (tmp_path / "texts" / "notes").mkdir(parents=True)
    for name in ("a.txt", "b.py", ".hidden"):
        (tmp_path / "texts" / "notes" / name).write_text(f"{name} holds words of its own\n" * 9)
    write_jsonl(tmp_path / "texts" / "web.jsonl", many(40))
    commands = [line[2:] for block in blocks("prepare.md", "console") for line in block.splitlines()]
    said = []
    for command in commands:
        words = shlex.split(command)
        done = (
            process(*words[1:], cwd=tmp_path)
            if words[0] == "fivepoint"
            else subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        said.append(done.stdout)
    assert len(said) == 5
    assert said[3] == '{"from": "web.jsonl:3"}\n' and said[4] == '5:{"from": "web.jsonl:5"}\n'
    assert json.loads((tmp_path / "corpora/code/documents.jsonl").read_text()) == {"from": "b.py"}
    assert (tmp_path / "small/web-holdout/documents.jsonl").exists()


@pytest.mark.torch
@pytest.mark.slow
def test_the_loop_of_train_goes_on_where_it_stood(tmp_path):
    pytest.importorskip("torch")
    plan = json.loads(write_plan(tmp_path).read_text())
    loop, sampled = blocks("train.md", "python")
    # The corpora of the tests hold serial numbers up to 5,400; the plan has 18 steps.
    (tmp_path / "loop.py").write_text(loop.replace("512", "6000"))
    stop = "    if step.number == 8 and state is None:\n        raise SystemExit(3)\n"
    (tmp_path / "stopped.py").write_text((tmp_path / "loop.py").read_text().replace("dist.destroy", stop + "dist.destroy"))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    codes = []
    for script, ranks in (("stopped.py", 2), ("loop.py", 3)):
        command = [
            sys.executable,
            "-P",
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--local-addr=127.0.0.1",
            f"--nproc-per-node={ranks}",
        ]
        done = subprocess.run([*command, script], cwd=tmp_path, env=environment, capture_output=True, text=True)
        codes.append(done.returncode)
    assert codes[0] != 0 and codes[1] == 0, done.stderr[-2000:]
    records = list(read(tmp_path / "run_log.jsonl"))
    assert [(record["step"], record["dp_size"]) for record in records if "event" in record] == [(0, 2), (5, 3)]
    assert [record["step"] for record in records if "event" not in record] == [*range(1, 9), *range(6, 19)]
    assert records[-1]["consumed"] <= sum(phase["length"] for phase in plan["phases"])
    done = subprocess.run([sys.executable, "-P", "-c", sampled], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[:4] == ["[0, 1]", "[2, 3]", "[4, 5]", "[12, 13]"], done.stderr[-2000:]
