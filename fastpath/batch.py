"""A micro-batch as torch tensors, which torch owns and the native reader fills (D0)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
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


Bounds = np.ndarray[tuple[int], np.dtype[np.int32]]


def filled(positions: Iterable[int], seq_len: int, kinds: frozenset[str], fill: Callable[[_C.Memory], Bounds | None]) -> Batch:
    """Return the batch of `positions`: memory is made here, and `fill` writes into it and returns the bounds, where they are wanted."""
    where = torch.tensor(list(positions), dtype=torch.int64)
    rows = (len(where), seq_len)
    inputs, targets = torch.empty(rows, dtype=torch.int64), torch.empty(rows, dtype=torch.int64)
    sources, windows = torch.empty_like(where), torch.empty_like(where)
    dtypes = {"document_ids": torch.int64, "position_ids": torch.int64, "loss_mask": torch.bool}
    made = {kind: torch.empty(rows, dtype=dtype) for kind, dtype in dtypes.items() if kind in kinds}
    bounded = "cu_seqlens" in kinds
    if bounded and inputs.numel() > np.iinfo(np.int32).max:
        raise UsageError(f"expected a micro-batch of fewer than 2^31 tokens for cu_seqlens, found {inputs.numel()}; take fewer rows")
    addresses = [each.data_ptr() for each in (inputs, targets, sources, windows)]
    addresses += [made[kind].data_ptr() if kind in made else 0 for kind in dtypes]
    bounds = fill(_C.Memory(*addresses, bounded))
    ends = {} if bounds is None else {"cu_seqlens": torch.from_numpy(bounds), "max_seqlen": max_seqlen(bounds)}
    return Batch(inputs, targets, where, sources, windows, **made, **ends)
