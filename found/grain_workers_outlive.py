"""The workers of `mp_prefetch` run on after their process was killed.

They end with `close()` or when the process ends of its own accord; of one that is killed, by the scheduler or for want of memory, they
never hear, and keep its memory and files from the next attempt. A scheduler that ends the whole process group or container avoids it.

Clause: C5.3
Promised: nothing; the docstring of mp_prefetch recommends `it.close()` and speaks of garbage collection, not of a process that is killed
Upstream: not found (searched 2026-12-01: "grain mp_prefetch worker processes orphaned after main process killed SIGKILL", "google/grain
zombie worker processes remain after training is killed memory leak")
"""

import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import grain

SECONDS = 20


def children(parent: int) -> set[int]:
    """Return the processes whose parent is `parent`, by number."""
    stats = {int(path.parent.name): path.read_text() for path in Path("/proc").glob("[0-9]*/stat") if path.exists()}
    return {number for number, stat in stats.items() if int(stat.rpartition(")")[2].split()[1]) == parent}


def main() -> int:
    """Kill a process whose iterator has two workers, and look for them afterwards."""
    trainer = subprocess.Popen([sys.executable, __file__, "trainer"], stdout=subprocess.PIPE)
    assert trainer.stdout is not None
    trainer.stdout.readline()
    workers = children(trainer.pid)
    trainer.send_signal(signal.SIGKILL)
    trainer.wait()
    time.sleep(SECONDS)
    left = {number for number in workers if Path(f"/proc/{number}/cmdline").exists() and Path(f"/proc/{number}/cmdline").read_bytes()}
    print(f"grain {version('grain')}: {SECONDS} s after a SIGKILL: expected none of {len(workers)} children, got {len(left)}")
    for number in left:
        os.kill(number, signal.SIGKILL)
    return not left


if __name__ == "__main__":
    if "trainer" in sys.argv:
        samples = grain.MapDataset.range(1 << 20).to_iter_dataset()
        iterator = iter(samples.mp_prefetch(grain.multiprocessing.MultiprocessingOptions(num_workers=2)))
        next(iterator)
        print("ready", flush=True)
        time.sleep(600)
    sys.exit(main())
