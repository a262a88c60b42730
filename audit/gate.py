"""Whether ratios fell below a baseline by more than noise.

Noise is measured, not guessed: a baseline is made of several whole runs, and holds of each row the median, and how far the farthest run was
from it. A row falls when it is below the median by more than that distance and the spread within the run at hand, twice in a row.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from ..errors import ConfigError
from ..reference.schema import validate
from .supply import BESIDE, COLD, WARM, machine

LEAST = 0.01
"""Noise that every row has, as a share of it: memory is the same to the page in most runs, and a page more is no fall."""
MOST = 0.3
"""Noise, and spread within a run, that is believed, as a share: a row that moves more holds nothing, and is to be measured better."""
RUNS = 3
"""Runs of a baseline, at least: noise is not to be seen in fewer."""
Rows = Mapping[str, Mapping[str, Any]]
"""By what they compare: `times`, the ratio, and its `spread` within the run, or its `noise` between those of a baseline."""


def noted(runs: Sequence[Rows]) -> dict[str, dict[str, float]]:
    """Return the rows of the baseline that several runs make; raises ConfigError where they did not measure the same."""
    measured = Counter(name for run in runs for name in run)
    if lacking := sorted(name for name, count in measured.items() if count < len(runs)):
        raise ConfigError(f"expected the same rows from every run, found {lacking[0]!r} in some alone; record again")
    rows = {}
    for name in runs[0]:
        found = [run[name]["times"] for run in runs]
        middle = median(found)
        noise = min(max(*(abs(each - middle) for each in found), LEAST * middle), MOST * middle)
        rows[name] = {"times": middle, "noise": noise}
    return rows


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


def held(baseline: Rows, machines: Sequence[str], measure: Callable[[], Rows], say: Callable[[str], object], record: str) -> bool:
    """Measure, once more where a row fell, and say what fell both times; return whether nothing did.

    `machines` are the baseline's. On another one rows are compared and shown, and none of them fails: what differs may be the machine.
    `record` says what has to be done before one does.
    """
    known = machine() in machines
    if not known:
        say(f"the baseline is of {machines[0]}, and this is {machine()}: nothing fails here before {record}")
    wrong = fallen(baseline, measure())
    if wrong and known:
        say(f"{len(wrong)} of {len(baseline)} rows fell, measuring again")
        again = fallen(baseline, measure())
        wrong = {name: f"{reason}, and again: {again[name]}" for name, reason in wrong.items() if name in again}
    for name, reason in sorted(wrong.items()):
        say(f"{name}: {reason}")
    say(f"{len(baseline)} rows, {len(wrong)} {'fell by more than noise' if known else 'below those of another machine'}")
    return not (wrong and known)


@dataclass(frozen=True)
class Baseline:
    """Runs of `fivepoint bench`, each a line that --json printed, in the file at `path`, of one machine or several.

    `rows` are of the runs of this machine, or where they are too few, of those of the machine that has most.
    """

    path: Path
    runs: list[dict[str, Any]]
    rows: Rows
    machine: str

    @classmethod
    def read(cls, path: Path) -> "Baseline":
        """Return the baseline in a file; raises ConfigError for one that is none."""
        runs: list[dict[str, Any]] = []
        try:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                validate(run := json.loads(line), "command_bench", f"{path}:{number}", ConfigError)
                runs.append(run)
        except OSError as reason:
            raise ConfigError(f"expected a baseline at {path}, found none: {reason.strerror}; record one with --json >> {path}") from None
        except (ValueError, RecursionError) as reason:
            raise ConfigError(f"{path}:{len(runs) + 1}: expected what bench --json prints, found {reason}; record it anew") from None
        if len(runs) < RUNS:
            found = f"found {len(runs)}; record more with --json >> {path}"
            raise ConfigError(f"expected at least {RUNS} runs in {path}, for noise to be seen, {found}")
        others = Counter(run["machine"] for run in runs if run["machine"] != machine())
        chosen = machine() if len(runs) - others.total() >= RUNS else others.most_common(1)[0][0]
        return cls(path, runs, noted([compared(run) for run in runs if run["machine"] == chosen]), chosen)

    def expect_alike(self, extent: Mapping[str, Any]) -> None:
        """Raise ConfigError where a run measured something else than is to be measured."""
        for number, run in enumerate(self.runs, 1):
            for field, expected in extent.items():
                if run[field] != expected:
                    raise ConfigError(f"{self.path}:{number}: expected {field} {expected}, found {run[field]}; record the baseline anew")

    def held(self, measure: Callable[[], Mapping[str, Any]], say: Callable[[str], object]) -> bool:
        """Measure, and return whether no ratio fell."""
        record = f"{RUNS} runs of this machine are recorded: --json >> {self.path}"
        return held(self.rows, [self.machine], lambda: compared(measure()), say, record)


def compared(found: Mapping[str, Any]) -> Rows:
    """Return what a run of `fivepoint bench` compared."""
    supplies = {COLD: found["cold"], WARM: found["warm"]}
    return {f"{name} / {BESIDE[name]}": {"times": each["ratio"], "spread": each["spread"]} for name, each in supplies.items() if each}
