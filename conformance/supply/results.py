"""What was measured of each loader, as values: a figure, or the words why there is none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from ...errors import UsageError
from ...reference.files import write_whole
from ...reference.schema import validate

FORMAT = "fivepoint-supply"


@dataclass(frozen=True)
class Measure:
    """One row of the table: its name in the file, its heading, its unit, and whether more is better."""

    name: str
    heading: str
    unit: str
    more_is_better: bool = False


MEASURES = (
    Measure("warm", "warm supply", "samples/s", True),
    Measure("cold", "cold supply, from opening on", "samples/s", True),
    Measure("first_batch_warm", "time to first batch, warm", "s"),
    Measure("first_batch_cold", "time to first batch, cold", "s"),
    Measure("start", "time to start and import", "s"),
    Measure("memory", "memory of a rank", "bytes"),
    Measure("memory_of_run", "memory that the run took", "bytes"),
    Measure("bytes_read", "bytes read a useful byte, cold", "bytes"),
    Measure("demand", "share of the demand met", "of 1", True),
    Measure("demand_slow", "share of the demand met, slow reads", "of 1", True),
    Measure("first_batch_slow", "time to first batch, slow reads", "s"),
    Measure("stall", "longest wait in a stall", "s"),
    Measure("resume_0", "first batch from the beginning", "s"),
    Measure("resume_1", "first batch, resumed at 1 %", "s"),
    Measure("resume_99", "first batch, resumed at 99 %", "s"),
    Measure("resume_long", "first batch, at 99 % of 10^9", "s"),
)
LIMITS = (
    Measure("memcpy", "copy in memory", "samples/s", True),
    Measure("pread_warm", "warm pread, 1 thread", "samples/s", True),
    Measure("pread_warm_threads", "warm pread, 16 threads", "samples/s", True),
    Measure("pread_cold", "cold pread, 16 threads", "samples/s", True),
    Measure("mmap_cold", "default mmap, cold", "samples/s", True),
)


@dataclass(frozen=True)
class Cell:
    """A figure, the median of rounds, with half the distance of their quartiles and what has to be known of it; or the reason for none."""

    value: float | None = None
    spread: float = 0.0
    note: str = ""
    reason: str = ""

    @classmethod
    def of(cls, values: list[float], note: str = "") -> "Cell":
        """Return the cell of the values of some rounds."""
        ordered, quarter = sorted(values), len(values) // 4
        return cls(median(ordered), (ordered[-1 - quarter] - ordered[quarter]) / 2, note)

    def to_json(self) -> dict[str, Any]:
        """Return the cell as a JSON object."""
        if self.value is None:
            return {"reason": self.reason or "not measured"}
        return {"value": self.value, "spread": self.spread} | ({"note": self.note} if self.note else {})


@dataclass
class Loader:
    """The cells of a loader; `own` is one that the others are compared with."""

    name: str
    version: str = ""
    own: bool = False
    promises: tuple[str, ...] = ()
    over_a_pipe: bool = False
    exact: bool = False
    """Whether it went on, wherever it was resumed, with the steps that the run that was not stopped served next."""
    compared: tuple[str, ...] = ()
    """Where it was resumed and some steps compared: "1 %", "99 %" of the run, and "an epoch's end" where the run came over one."""
    cells: dict[str, Cell] = field(default_factory=dict)


@dataclass
class Result:
    """All that was measured in one run: under which conditions, what the machine gives, and each loader."""

    conditions: Mapping[str, Any]
    limits: dict[str, Cell] = field(default_factory=dict)
    loaders: list[Loader] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return {
            "format": FORMAT,
            "version": 1,
            "conditions": dict(self.conditions),
            "limits": {name: cell.to_json() for name, cell in self.limits.items()},
            "loaders": [
                {
                    "loader": each.name,
                    "loader_version": each.version,
                    "own": each.own,
                    "promises": list(each.promises),
                    "over_a_pipe": each.over_a_pipe,
                    "exact": each.exact,
                    "compared": list(each.compared),
                }
                | {"measures": {measure.name: each.cells.get(measure.name, Cell()).to_json() for measure in MEASURES}}
                for each in self.loaders
            ],
        }

    def write(self, path: Path) -> None:
        """Write the result, whole or not at all."""
        write_whole(path, (json.dumps(self.to_json(), indent=1) + "\n").encode())


def read(path: Path) -> Result:
    """Return the result that `write` wrote; raises UsageError for any other file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as reason:
        raise UsageError(f"expected a file of `fivepoint peers bench --json` at {path}: {reason}") from reason
    validate(value, "supply", str(path), UsageError)
    loaders = [
        Loader(
            each["loader"],
            each["loader_version"],
            each["own"],
            tuple(each["promises"]),
            each["over_a_pipe"],
            each["exact"],
            tuple(each["compared"]),
            {name: Cell(**cell) for name, cell in each["measures"].items()},
        )
        for each in value["loaders"]
    ]
    return Result(value["conditions"], {name: Cell(**cell) for name, cell in value["limits"].items()}, loaders)
