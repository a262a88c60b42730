"""Steps that are taken inside the process of a driver, for whoever measures how fast they come: a trainer's tokens stay there, too."""

import time
from typing import Any

import numpy as np

from ..driver import Array, Driver, MicroBatch

PAGE = 4096
"""Bytes of which a consumer looks at one token."""


def pulled(driver: Driver, steps: int, period: float = 0.0, seconds: float = float("inf")) -> tuple[dict[str, Any], list[Array]]:
    """Take and commit up to `steps` steps, in each of which the consumer works for `period` seconds; no further one after `seconds`.

    Returns {"rows": how many came, "ended": whether the run is over, "nanoseconds": from the first request to the last commit}, and the
    nanoseconds that the consumer waited for each step, int64 [steps].
    """
    waits: list[int] = []
    rows, ended = 0, False
    begun = time.perf_counter_ns()
    while len(waits) < steps:
        asked = time.perf_counter_ns()
        if waits and asked - begun >= seconds * 1e9:
            break
        step = driver.next()
        if step is None:
            ended = True
            break
        rows += sum(_rows(batch) for batch in step)
        waits.append(time.perf_counter_ns() - asked)
        if period:
            time.sleep(period)
        driver.commit()
    return {"rows": rows, "ended": ended, "nanoseconds": time.perf_counter_ns() - begun}, [np.array(waits, np.int64)]


def _rows(batch: MicroBatch) -> int:
    """Return how many rows a micro-batch has, when all of it is there: what is mapped is read by whoever looks at it."""
    arrays = {name: np.asarray(array) for name, array in batch.items()}
    inputs = arrays["inputs"]
    inputs[:, :: max(1, PAGE // inputs.itemsize)].sum()
    return len(inputs)
