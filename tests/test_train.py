"""examples/train.py: what it refuses, it refuses once, and before anything is written."""

import os
import subprocess
import sys

import checkout  # noqa: F401 examples/ is no part of the package
import pytest
from served import EXAMPLES, write_plan

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("train")
    write_plan(folder)
    return folder


def test_without_torchrun_it_says_what_to_run(folder):
    environment = {name: value for name, value in os.environ.items() if name != "RANK"}
    command = [sys.executable, EXAMPLES / "train.py", "plan.json", "--out", "run"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "expected to be started by torchrun" in done.stderr and "run torchrun --standalone" in done.stderr
    assert not (folder / "run").exists()


@pytest.mark.parametrize(("plan", "says"), [("plan.json", "divides, found 12"), ("none.json", "cannot read none.json")])
def test_what_all_ranks_are_refused_is_said_once_and_leaves_nothing(folder, plan, says):
    command = [sys.executable, "-P", "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nproc-per-node=5"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    script = [EXAMPLES / "train.py", plan, "--out", "run", "--micro-batch=1"]
    done = subprocess.run([*command, *script], cwd=folder, env=environment, capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if line.startswith("train.py")]
    assert done.returncode and len(said) == 1 and said[0].startswith("train.py, ranks 0, 1, 2, 3, 4: "), done.stderr
    assert says in said[0] and "rank 3: " not in done.stderr
    assert not (folder / "run").exists()
