"""Fails where a ratio of benchmarks/fastpath.py fell below the committed baseline by more than noise.

Noise is measured, not guessed. The baseline is recorded by several whole runs, each in a process of its own: of each row it holds the
median, and how far the farthest run was from it. A row fails when it falls below the median by more than that distance and the spread
within the run at hand, and does so again when everything is measured a second time. Ratios move less between machines than times do, but
they move: record a baseline on the machine that the gate runs on, with --record, when it is quiet.

    make bench-gate, or .venv/bin/python benchmarks/gate.py --record 5
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "baseline.json"
LEAST = 0.01
"""Noise that every row has, as a share of it: memory is the same to the page in most runs, and a page more is no fall."""
MOST = 0.3
"""Noise, and spread within a run, that is believed, as a share: a row that moves more holds nothing, and is to be measured better."""
Rows = Mapping[str, Mapping[str, Any]]


def measured(arguments: Sequence[str]) -> Rows:
    """Run the benchmark whole, and return its rows by what they compare."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "rows.json")
        done = subprocess.run([sys.executable, HERE / "fastpath.py", "--json", out, *arguments], stdout=subprocess.DEVNULL)
        if done.returncode:
            raise SystemExit(done.returncode)  # it said why
        return {f"{row['what']} / {row['against']}": row for row in json.loads(out.read_text())}


def recorded(runs: Sequence[Rows]) -> dict[str, Any]:
    """Return the baseline that several runs make."""
    rows = {}
    if differ := set.union(*map(set, runs)) - set.intersection(*map(set, runs)):
        raise SystemExit(f"expected the same rows from every run, found {sorted(differ)[0]!r} in some alone; record again")
    for name in runs[0]:
        found = [run[name]["times"] for run in runs]
        middle = median(found)
        noise = min(max(*(abs(each - middle) for each in found), LEAST * middle), MOST * middle)
        rows[name] = {"times": round(middle, 3), "noise": round(noise, 3)}
    return {"machine": machine(), "runs": len(runs), "rows": rows}


def machine() -> str:
    """Return what this machine calls its processor."""
    said = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(":")[2].strip() for line in said.splitlines() if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def fallen(baseline: Rows, found: Rows) -> dict[str, str]:
    """Return the rows that fell by more than noise, and what is wrong with each; a row that is gone, or new, is wrong as well."""
    wrong = dict.fromkeys(baseline.keys() - found.keys(), "in the baseline and not measured: record the baseline anew")
    wrong |= dict.fromkeys(found.keys() - baseline.keys(), "measured and not in the baseline: record the baseline anew")
    for name in baseline.keys() & found.keys():
        expected, row = baseline[name], found[name]
        spread = min(row["spread"], MOST * row["times"])
        if not row["times"] >= expected["times"] - expected["noise"] - spread:  # a ratio that is no number holds nothing, too
            wrong[name] = f"expected {expected['times']:.2f} +- {expected['noise']:.2f}, found {row['times']:.2f} +- {row['spread']:.2f}"
    return wrong


def main() -> int:
    """Record a baseline, or hold a run to it; exit code 1 where a row fell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=int, metavar="RUNS", help="measure so often, and write the baseline; 3 at least, 5 are better")
    parser.add_argument("--baseline", type=Path, default=BASELINE, metavar="FILE", help="in place of benchmarks/baseline.json")
    options, arguments = parser.parse_known_args()
    if options.record is not None:
        if options.record < 3:
            parser.error(f"expected at least 3 runs, for noise to be seen, found {options.record}")
        try:
            options.baseline.open("a").close()
        except OSError as reason:
            parser.error(f"cannot write {options.baseline}: {reason.strerror}")
        baseline = recorded([measured(arguments) for _ in range(options.record)])
        options.baseline.write_text(json.dumps(baseline, indent=1) + "\n")
        print(f"{len(baseline['rows'])} rows written to {options.baseline}")
        return 0
    try:
        held = json.loads(options.baseline.read_text())
        baseline, recorded_on = held["rows"], held["machine"]
    except (OSError, ValueError, KeyError, TypeError) as reason:
        parser.error(f"found no baseline at {options.baseline} ({reason}); record one with --record 5")
    if recorded_on != machine():
        print(f"the baseline is of {recorded_on}, and this is {machine()}: record one here with --record 5, before a fall is believed")
    wrong = fallen(baseline, measured(arguments))
    if wrong:
        print(f"{len(wrong)} of {len(baseline)} rows fell, measuring again")
        again = fallen(baseline, measured(arguments))
        wrong = {name: f"{reason}, and again: {again[name]}" for name, reason in wrong.items() if name in again}
    for name, reason in sorted(wrong.items()):
        print(f"{name}: {reason}")
    print(f"{len(baseline)} rows, {len(wrong)} fell by more than noise")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
