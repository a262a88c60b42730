"""Steps and ranks (A7): the positions of each step are dealt out one by one."""

import hashlib
from collections.abc import Iterable, Iterator

Deal = list[list[list[int]]]


def steps(length: int, batch_sizes: list[list[int]]) -> list[tuple[int, int]]:
    """Return (consumed, B) of every step that a run of `length` positions serves."""
    found = []
    consumed = 0
    while consumed + (size := size_at(consumed, batch_sizes)) <= length:
        found.append((consumed, size))
        consumed += size
    return found


def size_at(consumed: int, batch_sizes: list[list[int]]) -> int:
    """Return B of the step that begins at `consumed`."""
    return [size for begins, size in batch_sizes if begins <= consumed][-1]


def deal(consumed: int, size: int, dp_size: int, micro_batch: int) -> Deal:
    """Return the positions of one step: a list for each rank, of lists for each micro-batch, of rows."""
    dealer = iter(range(consumed, consumed + size))
    accumulation = size // (dp_size * micro_batch)
    return [[[next(dealer) for _ in range(micro_batch)] for _ in range(accumulation)] for _ in range(dp_size)]


def digest(windows: Iterable[Iterable[int]]) -> str:
    """Return the step digest of windows in order of position."""
    content = b"".join(token.to_bytes(8, "little", signed=True) for window in windows for token in window)
    return hashlib.sha256(content).hexdigest()


def flat(ranks: Deal) -> Iterator[int]:
    """Yield the positions of a deal in the order of the ranks."""
    for micro_batches in ranks:
        for rows in micro_batches:
            yield from rows
