"""Cases of A8: documents inside samples."""

from itertools import accumulate
from typing import Any

import numpy as np

from ...errors import RangeError
from .. import boundaries
from .case import Case

CLAUSES = ["D0.5", "D0.6", "D0.7", "D0.8", "D0.9"]


def results(documents: list[int], seq_len: int, rows: list[int]) -> dict[str, Any]:
    """Return what the loader gives beside the tokens of a micro-batch whose rows begin at these tokens."""
    if max(rows) + seq_len >= sum(documents):
        raise RangeError(f"expected rows of {seq_len + 1} tokens within {sum(documents)}, found {rows}")
    starts = np.array([0, *accumulate(documents)][:-1])
    tokens = np.array(rows)[:, None] + np.arange(seq_len + 1)
    numbers = boundaries.documents_at(starts, tokens)
    bounds = boundaries.cu_seqlens(numbers[:, :-1])
    return {
        "document_ids": numbers[:, :-1].tolist(),
        "position_ids": boundaries.position_ids(numbers[:, :-1]).tolist(),
        "loss_mask": boundaries.loss_mask(numbers).tolist(),
        "cu_seqlens": bounds.tolist(),
        "max_seqlen": boundaries.max_seqlen(bounds),
    }


def _case(id: str, comment: str, documents: list[int], seq_len: int, rows: list[int], refused: str = "", **known: Any) -> Case:
    return Case(f"boundaries-{id}", comment, {"documents": documents, "seq_len": seq_len, "rows": rows}, refused, known)


CASES = [
    _case(
        "one-document",
        "no boundary at all",
        [9],
        4,
        [0, 4],
        document_ids=[[0, 0, 0, 0]] * 2,
        position_ids=[[0, 1, 2, 3]] * 2,
        loss_mask=[[True] * 4] * 2,
        cu_seqlens=[0, 4, 8],
        max_seqlen=4,
    ),
    _case(
        "inside",
        "one boundary inside the row",
        [3, 6],
        4,
        [0],
        document_ids=[[0, 0, 0, 1]],
        position_ids=[[0, 1, 2, 0]],
        loss_mask=[[True, True, False, True]],
        cu_seqlens=[0, 3, 4],
        max_seqlen=3,
    ),
    _case(
        "length-1",
        "documents of one token",
        [1, 1, 1, 1, 1],
        4,
        [0],
        position_ids=[[0] * 4],
        loss_mask=[[False] * 4],
        cu_seqlens=[0, 1, 2, 3, 4],
        max_seqlen=1,
    ),
    _case("length-0-first", "the corpus begins with empty documents", [0, 0, 5], 4, [0], document_ids=[[2, 2, 2, 2]], cu_seqlens=[0, 4]),
    _case("length-0-between", "an empty document between two has a number and no token", [2, 0, 3], 4, [0], document_ids=[[0, 0, 2, 2]]),
    _case("length-0-several", "several empty documents in a row", [2, 0, 0, 0, 3], 4, [0], document_ids=[[0, 0, 4, 4]]),
    _case("length-0-last", "empty documents at the end", [3, 2, 0, 0], 4, [0]),
    _case(
        "length-L",
        "a document that fills the inputs exactly: only the last target lies in the next",
        [4, 5],
        4,
        [0],
        loss_mask=[[True, True, True, False]],
        cu_seqlens=[0, 4],
    ),
    _case(
        "length-L-plus-1",
        "a document that fills the window exactly: the next begins with its second token",
        [5, 4],
        4,
        [0, 4],
        document_ids=[[0, 0, 0, 0], [0, 1, 1, 1]],
    ),
    _case("length-L-less-1", "and one token shorter: the last input begins a document", [3, 6], 4, [0, 4]),
    _case("on-the-edge", "a boundary on the edge of two windows", [4, 4, 1], 4, [0, 4], cu_seqlens=[0, 4, 8]),
    _case(
        "began-before",
        "a document that began before the window counts from the window's first token",
        [10, 3],
        4,
        [4, 8],
        position_ids=[[0, 1, 2, 3], [0, 1, 0, 1]],
    ),
    _case("last-target", "the last target alone lies in another document", [8, 1], 4, [4], loss_mask=[[True, True, True, False]]),
    _case(
        "two-rows-one-document", "rows of one document are bounded where the row ends", [20], 4, [0, 4, 8, 12], cu_seqlens=[0, 4, 8, 12, 16]
    ),
    _case("rows-apart", "rows in the order of service, not of the corpus", [6, 1, 7, 3], 4, [12, 0, 4]),
    _case("same-row-twice", "one window twice in a micro-batch", [3, 6], 4, [0, 0]),
    _case(
        "seq-len-1",
        "L = 1: every input starts a run",
        [1, 2, 1],
        1,
        [0, 1, 2],
        position_ids=[[0], [0], [0]],
        loss_mask=[[False], [True], [False]],
    ),
    _case("seq-len-2", "L = 2", [2, 1, 0, 2], 2, [0, 2]),
    _case("off-the-grid", "rows that begin off the grid of windows", [3, 4, 5], 4, [1, 2, 3, 5]),
    _case("mixed", "documents of 0, 1, L, L + 1 and more", [0, 1, 8, 9, 0, 3, 20, 1, 1, 0, 7], 8, [0, 8, 16, 24, 32, 40]),
    _case("long-rows", "rows of 64 tokens over documents of 1 to 24", list(range(1, 25)), 64, [0, 64, 128]),
    _case("many-documents", "numbers of documents past 255", [1] * 300, 16, [272, 283]),
    _case("last-window", "a row that ends with the corpus", [5, 8], 4, [8]),
    _case(
        "refused-past-the-end", "the last target would lie past the corpus", [5, 4], 4, [0, 5], "the row's last target is past the corpus"
    ),
]
