"""A job of real rank processes that is started, killed and started again, and what its ranks wrote down."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ranks import Layout

PROGRAM = Path(__file__).with_name("rank_process.py")
Trained = list[tuple[int, list[list[Any]]]]


class Job:
    """One run in a folder of its own: the plan, the state, the run log, and a folder for each leg."""

    def __init__(self, folder: Path, plan: dict[str, Any], choose: random.Random) -> None:
        folder.mkdir()
        self.folder = folder
        self.run_log = folder / "run.jsonl"
        self._choose = choose
        self._legs = 0
        (folder / "plan.json").write_text(json.dumps(plan))

    @property
    def consumed(self) -> int:
        """The samples of committed steps, as the saved state has them."""
        state = self.folder / "state.json"
        return json.loads(state.read_text())["consumed"] if state.exists() else 0

    def leg(self, layout: Layout, kill: bool) -> tuple[list[Trained], bool]:
        """Start all ranks; kill one at a random moment and then the others, or let them end.

        Returns what each rank trained, a list of (consumed, rows) a step, and whether the kill came before the end.
        """
        leg = self.folder / f"leg-{self._legs}"
        leg.mkdir()
        self._legs += 1
        job = {
            "plan": str(self.folder / "plan.json"),
            "state": str(self.folder / "state.json"),
            "run_log": str(self.run_log),
            "leg": str(leg),
            "dp_size": layout.dp_size,
            "micro_batch": layout.micro_batch,
            "accumulation": layout.accumulation,
            "pause": 0.002 if kill else 0,
            "save_every": self._choose.randint(1, 6),
            "save_inside": self._choose.random() < 0.5,
        }
        (leg / "job.json").write_text(json.dumps(job))
        command = [sys.executable, "-P", str(PROGRAM), str(leg / "job.json")]
        ranks = [subprocess.Popen([*command, str(rank)], stderr=subprocess.PIPE, text=True) for rank in range(layout.dp_size)]
        try:
            if kill:
                self._kill(ranks, leg)
            errors = [rank.communicate(timeout=120)[1] for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
        codes = [rank.returncode for rank in ranks]
        assert set(codes) <= ({0, -9} if kill else {0}), "\n".join(errors)
        return [read_trained(leg / f"trained-{rank}") for rank in range(layout.dp_size)], -9 in codes

    def _kill(self, ranks: list[subprocess.Popen[str]], leg: Path) -> None:
        """Send SIGKILL at a random moment: mostly in mid-run, sometimes while ranks still start."""
        if self._choose.random() < 0.85:
            while not (leg / "trained-0").exists() and ranks[0].poll() is None:
                time.sleep(0.002)
        time.sleep(self._choose.uniform(0, 0.4))
        victims = self._choose.sample(ranks, len(ranks))
        victims[0].kill()
        time.sleep(self._choose.choice([0, 0, 0.02]))
        for rank in victims[1:]:
            rank.kill()


def read_trained(path: Path) -> Trained:
    """Return the steps that a rank trained; a line that the kill tore was not trained."""
    if not path.exists():
        return []
    *lines, _torn = path.read_bytes().split(b"\n")
    return [tuple(json.loads(line)) for line in lines]


def committed(run_log: Path) -> list[dict[str, Any]]:
    """Return the records of the steps that count at the end of a run log: a start from an earlier state undoes later ones."""
    steps: list[dict[str, Any]] = []
    for line in run_log.read_text().splitlines():
        record = json.loads(line)
        if record.get("event") == "opened":
            steps = [step for step in steps if step["consumed"] <= record["consumed"]]
        else:
            steps.append(record)
    return steps
