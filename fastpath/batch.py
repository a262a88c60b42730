"""A micro-batch as torch tensors, filled by the native reader; their memory is used again once nobody holds them (D0)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..errors import UsageError
from ..reference.boundaries import max_seqlen
from . import _C


@dataclass(frozen=True)
class Batch:
    """One micro-batch of b samples of l tokens. The last five are None unless the loader was asked for them.

    On a device, `positions`, `sources` and `windows` stay on the host, for logs.
    """

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
    """int64 [b, l]: from 0 at the first token of the row and of each document in it"""
    loss_mask: Tensor | None = None
    """bool [b, l]: false where the target lies in another document"""
    cu_seqlens: Tensor | None = None
    """int32 [runs + 1], over the rows laid end to end"""
    max_seqlen: int | None = None
    """The longest run that cu_seqlens bounds, in tokens"""


def expect_bounded(count: int, seq_len: int, kinds: frozenset[str]) -> None:
    """Raise UsageError for more tokens in a micro-batch than cu_seqlens, int32, can count."""
    if kinds and count * seq_len > np.iinfo(np.int32).max:
        raise UsageError(f"expected a micro-batch of fewer than 2^31 tokens for cu_seqlens, found {count} * {seq_len}; take fewer rows")


def filled(count: int, seq_len: int, kinds: frozenset[str], pool: _C.MemoryPool, fill: Callable[[_C.Memory], None]) -> Batch:
    """Return a batch of `count` rows in memory of `pool`, which `fill` writes into."""
    rows = (count, seq_len)
    expect_bounded(count, seq_len, kinds & {"cu_seqlens"})

    def tensor(shape: Sequence[int], is_bool: bool = False) -> Tensor:
        return torch.from_numpy(pool.take(shape, is_bool))

    inputs, targets = tensor(rows), tensor(rows)
    positions, sources, windows = tensor((3, count)).unbind()
    document_ids = tensor(rows) if "document_ids" in kinds else None
    position_ids = tensor(rows) if "position_ids" in kinds else None
    loss_mask = tensor(rows, is_bool=True) if "loss_mask" in kinds else None
    wanted = (inputs, targets, positions, sources, windows, document_ids, position_ids, loss_mask)
    memory = _C.Memory([0 if each is None else each.data_ptr() for each in wanted], "cu_seqlens" in kinds)
    fill(memory)
    bounds = memory.bounds if "cu_seqlens" in kinds else None
    return Batch(
        *wanted,
        cu_seqlens=None if bounds is None else torch.from_numpy(bounds),
        max_seqlen=None if bounds is None else max_seqlen(bounds),
    )
