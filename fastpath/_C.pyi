"""The native part: csrc/module.cpp. Addresses are those of memory that the caller keeps.

CorpusError is raised for a file that is missing, another, short, or of other content than its manifest says; UsageError for a call after
close, after a fork, or of rows that were not wanted; DeviceError for what a device's driver refuses. ValueError is raised for parameters
that no plan and no manifest holds; who makes these objects by `fivepoint.fastpath.native` never sees it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

class Permutation:
    """A2. Raises IndexError outside [0, n)."""

    def __init__(self, n: int, seed: int, words: Sequence[int]) -> None: ...
    def __call__(self, x: int) -> int: ...
    def inverse(self, y: int) -> int: ...

class Blend:
    """A4. `limit` is how many positions are asked for, -1 for any; `position` gives -1 where a draw is not served."""

    def __init__(self, weights: Sequence[int], rule: str, limit: int = -1) -> None: ...
    def __call__(self, q: int) -> tuple[int, int]: ...
    def position(self, source: int, draw: int) -> int: ...
    def counts(self, q: int) -> list[int]:
        """Return how many draws each source has before local position q; raises IndexError for a q below 0."""

class Resolver:
    """A5. Sources are (key, tokens of each corpus), phases (length, grid, rule, weights by source), skips (at, count)."""

    def __init__(
        self,
        seed: int,
        sources: Sequence[tuple[int, Sequence[int]]],
        phases: Sequence[tuple[int, int, str, Sequence[int]]],
        skips: Sequence[tuple[int, int]],
    ) -> None: ...
    @property
    def length(self) -> int: ...
    def resolve(self, first: int, count: int) -> npt.NDArray[np.int64]:
        """Return int64 [count, 8]: phase, source, corpus, draw, epoch, offset, window, first token."""

class Files:
    """Open files, `most` at a time."""

    def __init__(self, most: int) -> None: ...

class Corpus:
    """A corpus on disk; shards are (path, tokens, index path, documents, bytes of the index's header)."""

    def __init__(self, files: Files, item_size: int, vocab_size: int, shards: Sequence[tuple[str, int, str, int, int]]) -> None: ...

class MemoryPool:
    """Memory that is handed out again once nobody holds a view of it; `most` bytes of it are kept."""

    def __init__(self, most: int) -> None: ...
    def take(self, shape: Sequence[int], is_bool: bool = False) -> npt.NDArray[Any]:
        """Return an int64 or bool array of any content."""

class Memory:
    """Where a batch goes: addresses of its inputs, targets, positions, sources, windows, document_ids, position_ids and loss_mask, 0 for
    what is not wanted, and whether `bounds` are, int32, once it is filled.
    """

    def __init__(self, addresses: Sequence[int], cu_seqlens: bool) -> None: ...
    @property
    def bounds(self) -> npt.NDArray[np.int32]:
        """Return cu_seqlens, int32 [runs + 1]."""
    @property
    def documents(self) -> npt.NDArray[np.int64]:
        """Return the document of each run, int64 [runs], or its complement where the run's last target lies in another document."""

class Device:
    """A device and what its driver holds for a loader."""

    def is_captured(self, stream: int) -> bool:
        """Whether what is done on this stream becomes part of a graph, and happens when that is replayed."""

def open_cuda(number: int) -> Device:
    """Return the GPU of this number among those that the process sees; raises DeviceError, which says why there is none,
    and NoKernelError where it is there and takes none of the kernels.
    """

class DeviceBatch:
    """Where a batch goes on a device: addresses of its inputs, targets, document_ids, position_ids and loss_mask, 0 for what is not wanted;
    of cu_seqlens and of the documents of its runs (`Memory`), which lie there already.
    """

    def __init__(self, addresses: Sequence[int], runs: int) -> None: ...

class Reader:
    """Rows of a plan, for any thread. `read` fills a batch; raises CorpusError."""

    def __init__(self, resolver: Resolver, corpora: Sequence[Sequence[Corpus]], seq_len: int, with_documents: bool) -> None: ...
    @property
    def row_bytes(self) -> int: ...
    def read(self, positions: Sequence[int], memory: Memory) -> None: ...
    def read_places(self, places: Sequence[tuple[int, int, int]], memory: Memory) -> None:
        """Read the rows that begin at (source, corpus, token)."""

class Prefetch:
    """Reads ahead into slots, (address, bytes, address on the device or 0) each; see csrc/prefetch.h.

    Raises UsageError, and from `take` CorpusError for rows that cannot be read, DeviceError for such as cannot be sent.
    """

    def __init__(
        self, reader: Reader, slots: Sequence[tuple[int, int, int]], threads: int, device: Device | None, consumer: int, memory: object
    ) -> None:
        """Begin the threads; `memory` is what owns the slots, and is kept until nothing uses them.

        A device's memory was given out in the order of the stream `consumer`.
        """
    def want(self, ranges: Sequence[tuple[int, int]]) -> None: ...
    def take(self, first: int, count: int, memory: Memory, milliseconds: int) -> bool:
        """Fill a batch with rows of one wanted range; return false where they are not there in that time.

        A read that it began itself may take longer.
        """
    def widen(self, first: int, count: int, batch: DeviceBatch, stream: int) -> None:
        """Widen rows that were taken into a batch on the device, on this stream of it."""
    def close(self, milliseconds: int) -> bool:
        """End the threads once what they read is there; return false, to be called again, where memory is still in use after that time."""
    @property
    def rows_read(self) -> int:
        """Return how many rows were read since it was made."""
