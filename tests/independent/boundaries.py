"""Document boundaries of samples (A8), counted token by token from the lengths of the documents."""

from itertools import pairwise


def document_ids(documents: list[int], first: int, seq_len: int) -> list[int]:
    """Return the document of each input; `documents` has that of each token of the corpus."""
    return documents[first : first + seq_len]


def position_ids(documents: list[int], first: int, seq_len: int) -> list[int]:
    """Return the inputs' positions: 0 at the sample's first token and at each document's, else one more than before."""
    found: list[int] = []
    for token in range(first, first + seq_len):
        begins = token == first or documents[token] != documents[token - 1]
        found.append(0 if begins else found[-1] + 1)
    return found


def loss_mask(documents: list[int], first: int, seq_len: int) -> list[bool]:
    """Return, for each input, whether its target lies in the same document."""
    return [documents[token] == documents[token + 1] for token in range(first, first + seq_len)]


def cu_seqlens(documents: list[list[int]], firsts: list[int], seq_len: int) -> list[int]:
    """Return the bounds of the runs of one document over rows laid end to end; row i is of corpus `documents[i]`."""
    bounds = []
    place = 0
    for row_documents, first in zip(documents, firsts, strict=True):
        for position in position_ids(row_documents, first, seq_len):
            if position == 0:
                bounds.append(place)
            place += 1
    return [*bounds, place]


def max_seqlen(bounds: list[int]) -> int:
    """Return the length of the longest run."""
    return max(end - begin for begin, end in pairwise(bounds))
