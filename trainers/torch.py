"""Batches of any fivepoint loader as torch tensors, and its state in one file with the model's tensors (C4.1, C4.6)."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ..errors import CheckpointError
from ..fastpath.batch import Batch as TorchBatch
from ..fastpath.placement import ON_DEVICE
from ..reference.batch import Batch
from ..reference.files import write_whole
from ..reference.guess import seems

STATE = "fivepoint"
"""The key of the loader's state in a checkpoint's metadata."""


class _Wrapped:
    """An object whose every attribute that the wrapper lacks is that of the wrapped one."""

    def __init__(self, wrapped: Any, device: str | torch.device = "cpu") -> None:
        self._wrapped, self.device = wrapped, device

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_wrapped":  # asked for by copy and pickle before there is anything wrapped
            raise AttributeError(name)
        return getattr(self._wrapped, name)


class TorchStep(_Wrapped):
    """An iterator over a step's micro-batches as torch tensors on `device`; all else is the wrapped step's."""

    def __iter__(self) -> "TorchStep":
        """Return the step itself: its micro-batches can be taken once."""
        return self

    def __next__(self) -> TorchBatch:
        """Return the next micro-batch."""
        return to_torch(next(self._wrapped), self.device)


class TorchLoader(_Wrapped):
    """An iterator over a loader's steps of torch tensors on `device`; all else (`commit`, `state_dict`, `consumed`, ...) is the loader's.

    Each step must be committed before the next is asked for (C4.12).
    """

    def __iter__(self) -> "TorchLoader":
        """Return the loader itself: iterating again goes on after the last committed step."""
        return self

    def __next__(self) -> TorchStep:
        """Return the next step."""
        return TorchStep(next(self._wrapped), self.device)

    def __enter__(self) -> "TorchLoader":
        """Return the loader, closed at the end of the `with` block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the loader."""
        self._wrapped.close()


def to_torch(batch: Batch | TorchBatch, device: str | torch.device = "cpu") -> TorchBatch:
    """Return the batch of either loader on `device`; on the CPU its tensors share memory with the batch's arrays, or are its tensors.

    `positions`, `sources` and `windows` stay on the host: who logs them would wait for the device.
    """
    given = {name: torch.as_tensor(value) for name, value in vars(batch).items() if value is not None and name != "max_seqlen"}
    there = {name: value.to(device) for name, value in given.items() if name in ON_DEVICE}
    return TorchBatch(**(given | there), max_seqlen=batch.max_seqlen)


def save_checkpoint(path: str | Path, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
    """Write tensors and a loader's `state_dict()` as one safetensors file, whole or not at all; raises OutputError where that fails."""
    # One rank's tensors may share memory (tied weights, flattened gradients), which the format has no word for: each is written by itself.
    own = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    write_whole(Path(path), save(own, {STATE: json.dumps(state, ensure_ascii=False)}))


def load_checkpoint(path: str | Path, device: str | torch.device = "cpu") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return (tensors, state) of a checkpoint's file; raises CheckpointError where it is none."""
    path = Path(path)
    if not path.is_file():
        found = "a folder" if path.is_dir() else "nothing there" if not path.exists() else "a device or a pipe"
        raise CheckpointError(f"{path}: expected a checkpoint, found {found}; give the file that save_checkpoint wrote")
    try:
        with safe_open(str(path), framework="pt", device=str(device)) as file:
            metadata = file.metadata() or {}
            if STATE not in metadata:
                raise CheckpointError(
                    f"{path}: expected a loader's state under {STATE!r} in the metadata of the tensors, found none; it is a file of "
                    "tensors that save_checkpoint did not write: read it with safetensors, or give another"
                )
            state = json.loads(metadata[STATE])
            return {name: file.get_tensor(name) for name in file.keys()}, state  # noqa: SIM118 a safetensors file is no dict
    except (OSError, SafetensorError, ValueError) as reason:
        raise CheckpointError(
            f"{path}: expected a checkpoint that save_checkpoint wrote, found {_found(path, reason)}; resume from an earlier checkpoint"
        ) from reason


def _found(path: Path, reason: Exception) -> str:
    """Say what a file is that cannot be read as tensors: another kind of file, or one that is damaged."""
    with suppress(OSError), open(path, "rb") as file:
        kind = seems(file.read(1 << 12))
        if kind and not kind.startswith("a file of tensors"):
            return f"what seems to be {kind}" if kind != "an empty file" else kind
    return f"a file that cannot be read as tensors ({' '.join(str(reason).split())})"
