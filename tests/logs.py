"""Lines of a run log for the tests that need no run behind them."""

import json
from typing import Any


def step_record(step: int, batch_size: int = 4, **other: Any) -> dict[str, Any]:
    """Return the line of a step in a run of constant batch size."""
    record = {
        "step": step,
        "consumed": step * batch_size,
        "batch_size": batch_size,
        "dp_size": 2,
        "micro_batch": 1,
        "plan_hash": "a" * 64,
        "prefix_hash": "b" * 64,
        "phase": 0,
        "weights": {"web": 3, "books": 1},
        "seq_len": 8,
        "samples": {"web": batch_size},
        "applied": True,
    }
    return record | other


def opened(step: int, batch_size: int = 4) -> dict[str, Any]:
    """Return the line that a loader writes when it opens the log."""
    start = {"event": "opened", "step": step, "consumed": step * batch_size}
    return start | {"dp_size": 2, "micro_batch": 1, "plan_hash": "a" * 64, "prefix_hash": "b" * 64}


def lines(*records: dict[str, Any]) -> bytes:
    """Return the bytes of a log with these records."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
