"""A micro-batch as torch tensors, filled by the native reader; their memory is used again once nobody holds them (D0)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..errors import UsageError
from ..reference.boundaries import max_seqlen
from . import _C


@dataclass(frozen=True)
class Batch:
    """One micro-batch of b samples of l tokens. The last five are None unless the loader was asked for them."""

    inputs: Tensor
    """int64 [b, l]"""
    targets: Tensor
    """int64 [b, l]"""
    positions: Tensor
    """int64 [b]: the position of each row in the run"""
    sources: Tensor
    """int64 [b]: the number of each row's source in `plan.sources`"""
    windows: Tensor
    """int64 [b]: the number of each row's window within its source"""
    document_ids: Tensor | None = None
    """int64 [b, l]: number of each input's document within its corpus"""
    position_ids: Tensor | None = None
    """int64 [b, l]"""
    loss_mask: Tensor | None = None
    """bool [b, l]: false where the target lies in another document"""
    cu_seqlens: Tensor | None = None
    """int32 [runs + 1], over the rows laid end to end"""
    max_seqlen: int | None = None


Bounds = npt.NDArray[np.int32]


def filled(
    positions: Sequence[int], seq_len: int, kinds: frozenset[str], pool: _C.MemoryPool, fill: Callable[[_C.Memory], Bounds | None]
) -> Batch:
    """Return the batch of `positions`, in memory of `pool`: `fill` writes into it, and returns the bounds where they are wanted."""
    rows = (len(positions), seq_len)
    if "cu_seqlens" in kinds and len(positions) * seq_len > np.iinfo(np.int32).max:
        raise UsageError(f"expected a micro-batch of fewer than 2^31 tokens for cu_seqlens, found {rows[0]} * {rows[1]}; take fewer rows")

    def tensor(shape: Sequence[int], is_bool: bool = False) -> Tensor:
        return torch.from_numpy(pool.take(shape, is_bool))

    inputs, targets, sources, windows = tensor(rows), tensor(rows), tensor(rows[:1]), tensor(rows[:1])
    document_ids = tensor(rows) if "document_ids" in kinds else None
    position_ids = tensor(rows) if "position_ids" in kinds else None
    loss_mask = tensor(rows, is_bool=True) if "loss_mask" in kinds else None
    memory = _C.Memory(
        inputs.data_ptr(),
        targets.data_ptr(),
        sources.data_ptr(),
        windows.data_ptr(),
        0 if document_ids is None else document_ids.data_ptr(),
        0 if position_ids is None else position_ids.data_ptr(),
        0 if loss_mask is None else loss_mask.data_ptr(),
        "cu_seqlens" in kinds,
    )
    bounds = fill(memory)
    return Batch(
        inputs=inputs,
        targets=targets,
        positions=torch.tensor(positions, dtype=torch.int64),
        sources=sources,
        windows=windows,
        document_ids=document_ids,
        position_ids=position_ids,
        loss_mask=loss_mask,
        cu_seqlens=None if bounds is None else torch.from_numpy(bounds),
        max_seqlen=None if bounds is None else max_seqlen(bounds),
    )
