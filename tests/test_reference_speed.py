"""Opening a plan and resolving a position cost the same at any length of the run."""

import json
import subprocess
import sys
import time
from statistics import median

import pytest

from fivepoint.reference.plan import Plan

WEIGHTS = {"academic": 100, "books": 151, "code": 249, "math": 49, "web": 451}

OPEN = """
import json, resource, sys, time
from fivepoint.reference.plan import Plan
import fivepoint.reference.loader
value = json.loads(sys.stdin.read())
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
plan = Plan.from_json(value)
plan.admit()
plan.resolve(plan.length - 1)
print(time.perf_counter() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def make_plan(length: int, windows: int) -> dict:
    """Return a plan of five sources over `length` samples; each source has `windows` windows of 4,096 tokens."""
    corpora = {
        name: {"name": name, "manifest": f"{number:064x}", "content": f"{number:064x}", "tokens": windows * 4096 + 1}
        for number, name in enumerate(WEIGHTS)
    }
    return {
        "format": "fivepoint-plan",
        "version": 1,
        "seed": 5,
        "sources": [{"name": name, "corpora": [corpora[name]], "documents": "stored", "windows": "permuted"} for name in sorted(WEIGHTS)],
        "phases": [{"length": length, "grid": 4096, "seq_len": 4096, "rule": "earliest-deadline", "weights": WEIGHTS}],
        "skips": [[1000, 17]],
        "batch_sizes": [[0, 1000]],
    }


@pytest.mark.slow
@pytest.mark.clause("C5.1")
def test_opening_five_sources_and_half_a_billion_positions():
    plan = json.dumps(make_plan(5 * 10**8, 10**8))
    runs = [subprocess.run([sys.executable, "-c", OPEN], input=plan, check=True, capture_output=True, text=True) for _ in range(3)]
    seconds, mebibytes = zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    assert median(seconds) < 0.5, f"opening took {seconds} s"
    assert median(mebibytes) < 100, f"opening took {mebibytes} MiB"


@pytest.mark.clause("C4.10")
def test_a_position_resolves_within_a_millisecond_anywhere():
    plan = Plan.from_json(make_plan(5 * 10**8, 10**8))
    plan.resolve(0)
    for position in (1, 5 * 10**6, 495 * 10**6):
        times = []
        for near in range(position, position + 101):
            start = time.perf_counter()
            plan.resolve(near)
            times.append(time.perf_counter() - start)
        assert median(times) < 1e-3, f"position {position}: {median(times)} s"


@pytest.mark.clause("C3.7")
def test_the_way_back_takes_as_long_in_a_run_ten_thousand_times_longer():
    short, long = Plan.from_json(make_plan(10**5, 4 * 10**4)), Plan.from_json(make_plan(10**9, 4 * 10**8))
    ratios = []
    for attempt in range(7):
        seconds = []
        for plan in (short, long):
            start = time.perf_counter()
            for k in range(200):
                plan.where("web", "web", (attempt * 200 + k) * 4096 + 5, (attempt * 200 + k) * 4096 + 5)
            seconds.append(time.perf_counter() - start)
        ratios.append(seconds[1] / seconds[0])
    assert median(ratios) < 2, ratios
