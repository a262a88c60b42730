"""One data-parallel rank as a process: `python rank_process.py JOB.json RANK`, made to be killed.

It "trains" each step by writing down what it was served, waits for the other ranks, and commits. Rank 0 saves the state
every few steps, after the commit or while the next step is under way, and writes the run log.
"""

import hashlib
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

from fivepoint.audit.run_log import RunLog
from fivepoint.reference.loader import Loader
from fivepoint.reference.plan import Plan


def main(job_file: str, rank: int) -> None:
    job = json.loads(Path(job_file).read_text())
    state_file = Path(job["state"])
    log = RunLog(job["run_log"], fsync_every=1000) if rank == 0 else None
    loader = Loader(
        Plan.load(job["plan"]),
        rank,
        job["dp_size"],
        job["micro_batch"],
        job["accumulation"],
        checkpoint=json.loads(state_file.read_text()) if state_file.exists() else None,
        log=log.write if log else None,
    )
    trained = os.open(Path(job["leg"], f"trained-{rank}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    barrier = Barrier(Path(job["leg"]), rank, job["dp_size"])
    barrier.wait()
    for step in loader:
        due = rank == 0 and (loader.steps + 1) % job["save_every"] == 0
        if due and job["save_inside"]:
            save(state_file, loader.state_dict())
        rows = []
        for batch in step:
            rows += rows_of(batch)
            time.sleep(random.uniform(0, job["pause"]))
        os.write(trained, json.dumps([loader.consumed, rows]).encode() + b"\n")
        barrier.wait()
        loader.commit()
        if due and not job["save_inside"]:
            save(state_file, loader.state_dict())
    if rank == 0:
        save(state_file, loader.state_dict())


def rows_of(batch: Any) -> list[list[Any]]:
    """Return each row's position and the SHA-256 of its tokens."""
    tokens = [[*inputs, targets[-1]] for inputs, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True)]
    return [[position, digest(row)] for position, row in zip(batch.positions.tolist(), tokens, strict=True)]


def digest(tokens: Any) -> str:
    """Return the SHA-256 of a sample's tokens."""
    return hashlib.sha256(" ".join(map(str, tokens)).encode()).hexdigest()


def save(path: Path, state: dict[str, Any]) -> None:
    """Let the state appear under its name whole."""
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps(state))
    os.replace(unfinished, path)


class Barrier:
    """Lets no rank go on before all came: each grows a file of its own by a byte."""

    def __init__(self, folder: Path, rank: int, dp_size: int) -> None:
        self._files = [folder / f"barrier-{other}" for other in range(dp_size)]
        self._own = os.open(self._files[rank], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._parent = os.getppid()
        self._count = 0

    def wait(self) -> None:
        """Return when every rank has come as often as this one; end where the parent has ended."""
        self._count += 1
        os.write(self._own, b".")
        while any(not file.exists() or file.stat().st_size < self._count for file in self._files):
            if os.getppid() != self._parent:
                sys.exit("the process that started the ranks is gone")
            time.sleep(0.0005)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
