"""Fails where a ratio of benchmarks/fastpath.py fell below the committed baseline by more than noise (fivepoint.audit.gate).

The baseline is recorded by several whole runs, each in a process of its own. Ratios move less between machines than times do, but they
move: record a baseline on the machine that the gate runs on, with --record, when it is quiet.

    make bench-gate, or .venv/bin/python benchmarks/gate.py --record 5
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fivepoint.audit.gate import RUNS, Rows, held, noted
from fivepoint.audit.supply import machine
from fivepoint.errors import ConfigError

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "baseline.json"


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
    rows = {name: {field: round(value, 3) for field, value in row.items()} for name, row in noted(runs).items()}
    return {"machine": machine(), "runs": len(runs), "rows": rows}


def main() -> int:
    """Record a baseline, or hold a run to it; exit code 1 where a row fell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=int, metavar="RUNS", help="measure so often, and write the baseline; 3 at least, 5 are better")
    parser.add_argument("--baseline", type=Path, default=BASELINE, metavar="FILE", help="in place of benchmarks/baseline.json")
    options, arguments = parser.parse_known_args()
    if options.record is not None:
        if options.record < RUNS:
            parser.error(f"expected at least {RUNS} runs, for noise to be seen, found {options.record}")
        try:
            options.baseline.open("a").close()
        except OSError as reason:
            parser.error(f"cannot write {options.baseline}: {reason.strerror}")
        try:
            baseline = recorded([measured(arguments) for _ in range(options.record)])
        except ConfigError as reason:
            parser.error(str(reason))
        options.baseline.write_text(json.dumps(baseline, indent=1) + "\n")
        print(f"{len(baseline['rows'])} rows written to {options.baseline}")
        return 0
    try:
        found = json.loads(options.baseline.read_text())
        baseline, recorded_on = found["rows"], found["machine"]
    except (OSError, ValueError, KeyError, TypeError) as reason:
        parser.error(f"found no baseline at {options.baseline} ({reason}); record one with --record 5")
    return int(not held(baseline, [recorded_on], lambda: measured(arguments), print, "a baseline of this machine is recorded: --record 5"))


if __name__ == "__main__":
    sys.exit(main())
