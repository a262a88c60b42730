"""Where documents begin inside samples, from the document index alone (A8; D0.5 to D0.9)."""

from typing import Any

import numpy as np

from ..errors import UsageError

Array = np.ndarray[Any, np.dtype[Any]]

KINDS = ("document_ids", "position_ids", "loss_mask", "cu_seqlens")


def documents_at(starts: Array, tokens: Array) -> Array:
    """Return the number of the document that each token lies in, from the ascending first tokens of all documents: int64, as `tokens`.

    Of several documents that start at one token all but the last are empty, and no token belongs to them (D0.9).
    """
    found: Array = np.searchsorted(starts, tokens, side="right") - 1
    return found


def starts_here(documents: Array) -> Array:
    """Return, for the documents [b, l] of the inputs, whether a run of one document begins at each token: bool [b, l]."""
    starts = np.ones(documents.shape, bool)
    starts[:, 1:] = documents[:, 1:] != documents[:, :-1]
    return starts


def position_ids(documents: Array) -> Array:
    """Return each token's distance from the start of its document, or of its row where the document began before: int64 [b, l] (D0.6)."""
    places = np.broadcast_to(np.arange(documents.shape[1]), documents.shape)
    return places - np.maximum.accumulate(np.where(starts_here(documents), places, 0), axis=1)


def loss_mask(documents: Array) -> Array:
    """Return, for the documents [b, l + 1] of inputs and last target, whether each target lies in its input's document: bool [b, l]
    (D0.7).
    """
    mask: Array = documents[:, 1:] == documents[:, :-1]
    return mask


def cu_seqlens(documents: Array) -> Array:
    """Return the bounds of the runs of one document over the rows laid end to end, from 0 to b * l: int32 [runs + 1] (D0.8).

    Raises UsageError for 2^31 tokens or more, whose bounds int32 cannot hold.
    """
    if documents.size > np.iinfo(np.int32).max:
        raise UsageError(f"expected a micro-batch of fewer than 2^31 tokens for cu_seqlens, found {documents.size}; take fewer rows")
    return np.append(np.flatnonzero(starts_here(documents)), documents.size).astype(np.int32)


def max_seqlen(bounds: Array) -> int:
    """Return the length of the longest run between neighbouring bounds."""
    return int(np.diff(bounds).max())
