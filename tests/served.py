"""A run as examples/train.py logs it, without torch: every rank is played in turn, and logs the SHA-256 of what it was served."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpora import Serial, write_corpus
from plans import make_plan, phase

from fivepoint.audit.run_log import RunLog
from fivepoint.reference.loader import Loader
from fivepoint.reference.plan import Plan

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def write_plan(folder: Path) -> Path:
    """Write two corpora and a plan of 18 steps over them, in which weights and batch size change, and return its file."""
    serial = Serial()
    sources = {name: [write_corpus(folder / name, serial.documents([300] * 9), shard_bytes=3000)] for name in ("code", "prose")}
    phases = [phase(100, {"code": 3, "prose": 1}, 8), phase(252, {"code": 1, "prose": 1}, 8)]
    path = folder / "plan.json"
    plan = make_plan(sources, phases, batch_sizes=[[0, 12], [96, 24]])
    path.write_text(json.dumps({**plan, "paths": {name: [name] for name in sources}}))
    return path


def serve(plan: Path, run: Path, dp_size: int, micro_batch: int, steps: int, state: dict[str, Any] | None = None) -> dict[str, Any]:
    """Serve `steps` steps to `dp_size` ranks, log them in the folder `run`, and return the state after them."""
    (run / "ranks").mkdir(parents=True, exist_ok=True)
    log = run / "run_log.jsonl"
    with RunLog(log) as run_log:
        ranks = [
            Loader(Plan.load(plan), rank, dp_size, micro_batch, checkpoint=state, log=None if rank else run_log.write)
            for rank in range(dp_size)
        ]
        attempt = log.read_text().count('"opened"')
        for _ in range(steps):
            for rank, loader in enumerate(ranks):
                step = next(loader)
                with open(run / "ranks" / f"rank-{rank}.jsonl", "a", encoding="utf-8") as file:
                    for number, batch in enumerate(step):
                        tokens = batch.inputs.astype("<i8").tobytes() + batch.targets.astype("<i8").tobytes()
                        line = {"attempt": attempt, "step": step.number, "rank": rank, "dp_size": dp_size, "micro_batch": number}
                        print(json.dumps({**line, "sha256": hashlib.sha256(tokens).hexdigest()}), file=file)
                loader.commit()
    return ranks[0].state_dict()


def rewrite(path: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Let `change` edit the lines of a log in place."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def prove(plan: Path, run: Path) -> tuple[int, str]:
    """Run examples/prove.py, and return its exit code and all that it printed."""
    done = subprocess.run([sys.executable, EXAMPLES / "prove.py", plan, run], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr
