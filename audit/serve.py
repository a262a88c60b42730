"""Serve a plan's steps with one loader for each dp rank, in one process, and give each step's digest (A7; C3.1, C3.2)."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RangeError, UsageError
from ..reference import checkpoint, partition
from ..reference.batch import Batch
from ..reference.corpus import Array
from ..reference.files import write_whole
from ..reference.loader import Loader
from ..reference.plan import Plan


def serve(loaders: Sequence[Loader], steps: int | None = None) -> Iterator[dict[str, Any]]:
    """Take, digest and commit up to `steps` steps, all that are left where it is None; yield `step`, `consumed` after it, and `digest`."""
    count = 0
    while (steps is None or count < steps) and not loaders[0].complete:
        begun = [next(loader) for loader in loaders]
        digest = step_digest(batch for step in begun for batch in step)
        for loader in loaders:
            loader.commit()
        count += 1
        yield {"step": loaders[0].steps, "consumed": loaders[0].consumed, "digest": digest}


def step_digest(batches: Iterable[Batch]) -> str:
    """Return the SHA-256 over the windows of a step in order of position, each its l + 1 tokens as little-endian int64."""
    rows: list[tuple[int, Array]] = []
    for batch in batches:
        inputs, targets = np.asarray(batch.inputs), np.asarray(batch.targets)
        windows = np.concatenate([inputs, targets[:, -1:]], axis=1)
        rows += zip(np.asarray(batch.positions).tolist(), windows, strict=True)
    rows.sort(key=lambda row: row[0])
    found = hashlib.sha256()
    for _, window in rows:
        found.update(window.astype("<i8").tobytes())
    return found.hexdigest()


def state_at(plan: Plan, consumed: int, batch_size: int) -> dict[str, Any]:
    """Return the checkpoint of a run that stands at `consumed`; `batch_size` numbers its steps where the plan has no batch sizes.

    Where it has none, and no step ends at `consumed`, as after a change of B, the number counts the whole steps before: it decides nothing.
    Raises RangeError beyond the run's end, and where the plan has batch sizes and no step begins.
    """
    sizes = plan.batch_sizes or [(0, batch_size)]
    if plan.batch_sizes and partition.steps_before(sizes, plan.length, consumed) is None and consumed <= plan.length:
        steps, left = partition.step_count(sizes, consumed)
        raise RangeError(
            f"expected --start where a step of the plan begins, such as {consumed - left} after step {steps}, found {consumed}"
        )
    steps, _ = partition.step_count(sizes, consumed)
    return checkpoint.make(plan, consumed, steps)


def loader_class(name: str) -> type[Loader]:
    """Return the loader that `--loader` names; raises UsageError where torch, which the native one fills tensors of, is not there."""
    if name == "reference":
        return Loader
    try:
        from ..fastpath import Loader as Native
    except ModuleNotFoundError as reason:
        raise UsageError(f"--loader {name} needs the package {reason.name}: pip install 'fivepoint[train]'") from reason
    return Native


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write a state to a file, whole or not at all; raises OutputError."""
    write_whole(path, json.dumps(state, indent=2, ensure_ascii=False).encode("utf-8") + b"\n")
