"""Where a loader's batches go: the host, a CUDA device by transfers of our own (csrc/device/), or any other device by torch's copies."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import DeviceError, NoKernelError, UsageError
from ..reference.boundaries import max_seqlen
from . import _C
from .batch import Batch, expect_bounded, filled

WAIT = 100
"""Milliseconds between looks at signals while rows are not there."""

BY_TOKEN = ("inputs", "targets", "document_ids", "position_ids", "loss_mask")
ON_DEVICE = (*BY_TOKEN, "cu_seqlens")
"""What of a batch lies on the device that it was asked for."""

POOLED = 1 << 28
"""Bytes of batches that nobody holds any more which a loader keeps for the next ones."""


class Host:
    """Batches on the CPU, in memory that is used again once nobody holds them."""

    driver: _C.Device | None = None
    transfers = "none"

    def __init__(self) -> None:
        self._pool = _C.MemoryPool(POOLED)

    def slot(self, size: int) -> tuple[Tensor, Tensor | None]:
        """Return memory that rows are read into, and its like on the device where it has one: uint8 [size]."""
        return torch.empty(size, dtype=torch.uint8), None

    def stream(self) -> int:
        """Return the stream in whose order a device's memory is given out, and used."""
        return 0

    def read(self, prefetch: _C.Prefetch, positions: range, seq_len: int, kinds: frozenset[str]) -> Batch:
        """Return the batch at positions of one wanted range."""
        return filled(len(positions), seq_len, kinds, self._pool, lambda memory: _take(prefetch, positions, memory))


class Copied(Host):
    """Batches on a device of torch's for which there are no transfers of our own: as on the host, then copied, 8 bytes a token."""

    transfers = "torch"

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._device = device

    def read(self, prefetch: _C.Prefetch, positions: range, seq_len: int, kinds: frozenset[str]) -> Batch:
        """Return the batch at positions of one wanted range; `positions`, `sources` and `windows` stay on the host."""
        batch = super().read(prefetch, positions, seq_len, kinds)
        there: dict[str, Any] = {name: getattr(batch, name) for name in ON_DEVICE if getattr(batch, name) is not None}
        return replace(batch, **{name: tensor.to(self._device) for name, tensor in there.items()})


class Cuda:
    """Batches on a CUDA device: rows travel there as they lie on disk, 2 or 4 bytes a token, and are widened on the caller's stream."""

    transfers = "fivepoint"

    def __init__(self, device: torch.device) -> None:
        """Open the driver; raises DeviceError, which says why, where there is no such device."""
        self._device = device
        self.driver = self._open()
        self._expect_uncaptured(self.stream())

    def _open(self) -> _C.Device:
        if not torch.cuda.is_available():
            raise DeviceError(f"expected a CUDA device, found none that this torch can use ({torch.__version__}); take device='cpu'")
        try:
            torch.cuda.init()  # type: ignore[no-untyped-call]
            number = torch.cuda.current_device() if self._device.index is None else self._device.index
        except RuntimeError as reason:
            said = str(reason).partition("\n")[0]
            raise DeviceError(f"expected a CUDA device, found that torch cannot use one in this process: {said}") from reason
        if number >= torch.cuda.device_count():
            raise DeviceError(f"expected a CUDA device from 0 to {torch.cuda.device_count() - 1}, found number {number}")
        self._device = torch.device("cuda", number)
        return _C.open_cuda(number)

    def slot(self, size: int) -> tuple[Tensor, Tensor | None]:
        """Return pinned memory that rows are read into, and its like on the device: uint8 [size]."""
        return self._pinned(size), self._empty((size,), torch.uint8)

    def read(self, prefetch: _C.Prefetch, positions: range, seq_len: int, kinds: frozenset[str]) -> Batch:
        """Return the batch at positions of one wanted range, whose tensors belong to the current stream.

        `positions`, `sources` and `windows` stay on the host, for logs; `max_seqlen` is known there, too.
        """
        count = len(positions)
        expect_bounded(count, seq_len, kinds)
        known = torch.empty((3, count), dtype=torch.int64)
        memory = _C.Memory([0, 0, *(each.data_ptr() for each in known), 0, 0, 0], bool(kinds))
        _take(prefetch, positions, memory)
        stream = self.stream()
        self._expect_uncaptured(stream)
        made = {
            name: self._empty((count, seq_len), torch.bool if name == "loss_mask" else torch.int64)
            for name in BY_TOKEN
            if name in kinds or name in ("inputs", "targets")
        }
        documents = cu_seqlens = None
        if kinds:
            documents, cu_seqlens = self._runs(memory.documents, memory.bounds)
        wanted = [made.get(name) for name in BY_TOKEN]
        addresses = [0 if each is None else each.data_ptr() for each in (*wanted, cu_seqlens, documents)]
        runs = 0 if documents is None else len(documents)
        prefetch.widen(positions.start, count, _C.DeviceBatch(addresses, runs), stream)
        bounded = "cu_seqlens" in kinds
        return Batch(
            **made,
            **dict(zip(("positions", "sources", "windows"), known.unbind(), strict=True)),
            cu_seqlens=cu_seqlens if bounded else None,
            max_seqlen=max_seqlen(memory.bounds) if bounded else None,
        )

    def _runs(self, documents: np.ndarray[Any, Any], bounds: np.ndarray[Any, Any]) -> tuple[Tensor, Tensor]:
        """Send both in one copy; return them as int64 [runs] and int32 [runs + 1] there."""
        block = self._pinned(documents.nbytes + bounds.nbytes)
        block.numpy()[: documents.nbytes] = documents.view(np.uint8)
        block.numpy()[documents.nbytes :] = bounds.view(np.uint8)
        there = self._sent(block)
        return there[: documents.nbytes].view(torch.int64), there[documents.nbytes :].view(torch.int32)

    def _expect_uncaptured(self, stream: int) -> None:
        if self.driver.is_captured(stream):
            raise UsageError(
                "expected a loader to be opened, and its batches taken, outside of a CUDA graph, found its stream being captured; "
                "take the batch before, and copy it into the graph's own inputs"
            )

    # All that is torch's own of a device.

    def _pinned(self, size: int) -> Tensor:
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def _empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        return torch.empty(shape, dtype=dtype, device=self._device)

    def _sent(self, block: Tensor) -> Tensor:
        return block.to(self._device, non_blocking=True)

    def stream(self) -> int:
        """Return the caller's current stream."""
        found: int = torch.cuda.current_stream(self._device).cuda_stream
        return found


def placement(device: str | torch.device) -> Host | Cuda:
    """Return where batches on a device go; raises UsageError for none of torch's, DeviceError for one that is not there.

    Where no kernel is for a CUDA device, a warning says so, and torch's copies serve it.
    """
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError) as reason:
        raise UsageError(f"expected a device of torch's, such as 'cpu' or 'cuda:0', found {device!r}") from reason
    if chosen.type == "cpu":
        return Host()
    if chosen.type == "cuda" and torch.version.hip is None:
        try:
            return Cuda(chosen)
        except NoKernelError as reason:
            warnings.warn(f"{reason}; torch's copies take their place, 8 bytes a token", RuntimeWarning, stacklevel=3)
    return Copied(chosen)


def _take(prefetch: _C.Prefetch, positions: range, memory: _C.Memory) -> None:
    while not prefetch.take(positions.start, len(positions), memory, WAIT):
        pass  # back in Python, an interruption is heard
