"""What the reference costs: opening a plan, resolving a position, finding a document, resuming. Medians, in one run.

.venv/bin/python benchmarks/reference.py
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

from rich.console import Console
from rich.table import Table

from fivepoint.reference import checkpoint
from fivepoint.reference.plan import Plan

WEIGHTS = {"academic": 100, "books": 151, "code": 249, "math": 49, "web": 451}
SEQ_LEN = 4096
OPEN = """
import json, resource, sys, time
from fivepoint.reference.plan import Plan
value = json.loads(sys.stdin.read())
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
plan = Plan.from_json(value)
plan.admit()
plan.resolve(plan.length - 1)
print(time.perf_counter() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def make_plan(samples: int, scale: int = 1) -> dict:
    """Return the plan of a run over five sources, whose weights are decimals of three places times `scale`, plus one."""
    windows = samples
    sources = [
        {
            "name": name,
            "corpora": [{"name": name, "manifest": f"{i:064x}", "content": f"{i:064x}", "tokens": windows * SEQ_LEN + 1}],
            "documents": "stored",
            "windows": "permuted",
        }
        for i, name in enumerate(sorted(WEIGHTS))
    ]
    weights = {name: weight * scale + (scale > 1 and name == "web") for name, weight in WEIGHTS.items()}
    phase = {"length": samples, "grid": SEQ_LEN, "seq_len": SEQ_LEN, "rule": "earliest-deadline", "weights": weights}
    return {
        "format": "fivepoint-plan",
        "version": 1,
        "seed": 5,
        "sources": sources,
        "phases": [phase],
        "skips": [],
        "batch_sizes": [[0, 1000]],
    }


def opening(plan: dict) -> tuple[float, float]:
    """Return the median seconds and MiB that a new process needs to open a plan, its imports not counted."""
    runs = [
        subprocess.run([sys.executable, "-c", OPEN], input=json.dumps(plan), check=True, capture_output=True, text=True) for _ in range(5)
    ]
    seconds, mebibytes = zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    return median(seconds), median(mebibytes)


def microseconds(call: Callable[[int], object], arguments: list[int]) -> float:
    """Return the median time of one call, over blocks of 50 arguments."""
    times = []
    for begin in range(0, len(arguments), 50):
        start = time.perf_counter()
        for argument in arguments[begin : begin + 50]:
            call(argument)
        times.append((time.perf_counter() - start) / 50)
    return median(times) * 1e6


def main() -> None:
    """Print the table."""
    table = Table("what", "100,000 positions", "500,000,000 positions", title="the reference, 5 sources (median)")
    values = [make_plan(10**5), make_plan(5 * 10**8)]
    plans = [Plan.from_json(value) for value in values]
    opened = [opening(value) for value in values]
    table.add_row("open a plan, weights of 3 decimals", *(f"{seconds * 1e3:.0f} ms, {mebibytes:.0f} MiB" for seconds, mebibytes in opened))
    seconds, mebibytes = opening(make_plan(5 * 10**8, scale=1000))
    table.add_row("the same, weights of 6 decimals", "", f"{seconds * 1e3:.0f} ms, {mebibytes:.0f} MiB")
    spread = [[plan.length * k // 2000 for k in range(2000)] for plan in plans]
    table.add_row("resolve a position", *(f"{microseconds(plan.resolve, at):.0f} us" for plan, at in zip(plans, spread, strict=True)))
    found = [microseconds(lambda k, p=plan: p.where("web", "web", k * SEQ_LEN + 5, k * SEQ_LEN + 5), list(range(1000))) for plan in plans]
    table.add_row("find the positions of a token", *(f"{each:.0f} us" for each in found))
    resumed = [[checkpoint.make(plan, plan.length * k // 100, 0) for k in (1, 99)] for plan in plans]
    taken = [
        [microseconds(lambda _, p=plan, s=state: checkpoint.accept(p, s), [0] * 200) for state in both]
        for plan, both in zip(plans, resumed, strict=True)
    ]
    table.add_row("accept a checkpoint at 1 % and at 99 %", *(f"{first:.0f} and {last:.0f} us" for first, last in taken))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
