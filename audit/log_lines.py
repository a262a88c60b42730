"""Lines of a run log: read one by one, held to their form, and found by their step (formats.md, F5; C4.11)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import RunLogError
from ..reference.canonical import parse_json
from ..reference.plan import Plan
from ..reference.schema import validate

Record = dict[str, Any]

ADVICE = "restore the log from a copy, or take that line out"


def read(path: str | Path) -> Iterator[Record]:
    """Yield the records of a log one by one, in the order of the file, without a torn last line; of lines with one `step` the last counts.

    Raises RunLogError for any other line that is not a record, with its number, and for a file that cannot be read.
    """
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n"):
                    yield parse(line, f"{path}, line {number}")
    except OSError as reason:
        raise RunLogError(f"cannot read the run log {path}: {reason.strerror or reason}; correct the path") from reason


def find_step(path: str | Path, step: int) -> tuple[Record, bool]:
    """Return the last record of `step`, and whether a later start from an earlier checkpoint undid it; one line at a time is in memory.

    Raises RunLogError as `read` does, and where no line names the step.
    """
    found, undone = None, False
    first, last = None, 0
    for record in read(path):
        if "event" in record:
            undone = undone or (found is not None and record["step"] < step)
            continue
        first, last = min(first or record["step"], record["step"]), max(last, record["step"])
        if record["step"] == step:
            found, undone = record, False
    if found is None:
        held = f"steps between {first} and {last}" if first else "no step"
        raise RunLogError(
            f"expected a line of step {step} in the run log {path}, found {held}; give one of them, or the log of the run that served it"
        )
    return found, undone


def expect_same_past(plan: Plan, record: Record, log: str | Path) -> None:
    """Raise RunLogError unless the plan serves, up to the end of the step, what the step's line says; its future is free (C4.8)."""
    consumed = record["consumed"]
    if consumed > plan.length or plan.prefix_hash(consumed) != record["prefix_hash"]:
        raise RunLogError(
            f"step {record['step']} of {log} was served by plan {record['plan_hash']}, whose past up to position {consumed} "
            f"is not that of this plan, {plan.plan_hash}; give that plan, or one amended from it"
        )


def parse(line: bytes, where: str) -> Record:
    """Return the record that a whole line holds; raises RunLogError, beginning with `where`, for a line that holds none."""
    try:
        record = parse_json(line.decode("utf-8"))
    except ValueError as reason:
        raise RunLogError(
            f"{where}: expected a record in JSON, found {shown(line.decode('utf-8', 'backslashreplace'))} ({reason}); {ADVICE}"
        ) from reason
    try:
        check(record, where)
    except RunLogError as reason:
        raise RunLogError(f"{reason}; {ADVICE}") from None
    found: Record = record
    return found


def check(record: Any, where: str) -> None:
    """Hold a record to its schema, and to what the schema cannot say: its step lies in the run and is shared evenly."""
    try:
        validate(record, "run_log", where, RunLogError)
    except RunLogError as reason:
        raise RunLogError(
            f'{where}: expected a step\'s record or an event "opened" (formats.md, F5), found {shown(str(record))}'
        ) from reason
    if "event" in record:
        return
    if record["batch_size"] > record["consumed"] or record["batch_size"] % (record["dp_size"] * record["micro_batch"]):
        raise RunLogError(
            f"{where}: expected a batch_size of at most consumed that dp_size * micro_batch divides, "
            f"found {record['batch_size']}, {record['consumed']} and {record['dp_size']} * {record['micro_batch']}"
        )


def shown(text: str) -> str:
    """Return the beginning of a text, quoted."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
