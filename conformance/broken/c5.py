"""Loaders that cost too much, or leave something behind (C5). What they leave, they leave in a rank's own process alone."""

import atexit
import os
import subprocess
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...reference.records import Sample
from ..doors.process import MARK
from ..driver import Array, Layout, MicroBatch, Settings
from .honest import Honest

LONG = 100_000
"""Positions of a run that is long enough for an index."""
WIDE = 1024
"""Tokens of a sample that comes from a slow disk."""


class IndexesTheRun(Honest):
    """Shuffles an index of all positions when it opens, and keeps it."""

    clause, fault, also = "C5.1", 59, ()

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and make the index of a long run."""
        super().build(corpus, workdir, settings, layout, states)
        self.index = np.random.default_rng(settings.seed).permutation(min(settings.length, 10**8)) if settings.length >= LONG else None


class KeepsEveryBatch(Honest):
    """Keeps a reference to all that it has served."""

    clause, fault, also = "C5.2", 58, ()
    kept: ClassVar[list[MicroBatch]] = []

    def batch(self, positions: list[int]) -> MicroBatch:
        """Return the batch, and keep it."""
        self.kept.append(super().batch(positions))
        return self.kept[-1]


class KeepsMemoryInChunks(Honest):
    """Keeps some bytes of every step, in chunks of 4 MiB."""

    clause, fault, also = "C5.2", 58, ()
    kept: ClassVar[list[Array]] = []

    def commit(self, applied: bool = True) -> None:
        """Count, and keep."""
        super().commit(applied)
        if MARK in os.environ and self.steps % 140 == 0:
            self.kept.append(np.ones(1 << 22, np.uint8))


class KeepsSixteenKilobytes(Honest):
    """Keeps a few pages of memory of every step."""

    clause, fault, also = "C5.2", 58, ()
    kept: ClassVar[list[Array]] = []

    def commit(self, applied: bool = True) -> None:
        """Count, and keep."""
        super().commit(applied)
        if MARK in os.environ:
            self.kept.append(np.ones(1 << 14, np.uint8))


class LeavesThreads(Honest):
    """Starts a thread that reads ahead, and forgets it when it is closed."""

    clause, fault, also = "C5.3", 60, ()

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and start the thread."""
        super().build(corpus, workdir, settings, layout, states)
        if MARK in os.environ:
            threading.Thread(target=threading.Event().wait, daemon=True).start()


class HoldsUpItsProcess(Honest):
    """Waits for its workers when the process ends, and they wait for work."""

    clause, fault, also = "C5.3", 60, ()

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and start the workers."""
        super().build(corpus, workdir, settings, layout, states)
        self.over_now = threading.Event()
        if MARK in os.environ and layout.workers:
            threading.Thread(target=self.over_now.wait).start()

    def close(self) -> None:
        """Let the workers go, which only a loader that is closed does."""
        self.over_now.set()


class LeavesAProcess(Honest):
    """Starts its workers in a session of their own, where no signal to the rank's reaches them."""

    clause, fault, also = "C5.3", 60, ()

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and start a worker."""
        super().build(corpus, workdir, settings, layout, states)
        if MARK in os.environ and layout.workers:
            subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


class LeavesFilesOpen(Honest):
    """Opens the shards anew each time, and closes none."""

    clause, fault, also = "C5.3", 60, ()
    opened: ClassVar[list[Any]] = []

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and open a file."""
        super().build(corpus, workdir, settings, layout, states)
        if MARK in os.environ:
            self.opened.append(next(corpus.rglob("*.bin")).open("rb"))


class LeavesThreadsOfFailures(Honest):
    """Starts its reader before it looks at the corpora, and ends it only where they are fine."""

    clause, fault, also = "C5.3", 60, ()

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Start the reader, and build."""
        over = threading.Event()
        if MARK in os.environ:
            threading.Thread(target=over.wait, daemon=True).start()
        super().build(corpus, workdir, settings, layout, states)
        over.set()


class LeavesThreadsOfResumes(Honest):
    """Restores in a thread that never ends."""

    clause, fault, also = "C5.3", 60, ()

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on, and leave the thread."""
        super().restore(states)
        if MARK in os.environ:
            threading.Thread(target=threading.Event().wait, daemon=True).start()


class LeavesTemporaryFiles(Honest):
    """Makes a file in the folder for temporary files each time, and removes none."""

    clause, fault, also = "C5.3", 60, ()

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and make the file."""
        super().build(corpus, workdir, settings, layout, states)
        if MARK in os.environ and "TMPDIR" in os.environ:
            handle, _ = tempfile.mkstemp(prefix="loader-")
            os.close(handle)


class LeavesSharedMemory(Honest):
    """Makes a segment of shared memory each time, and removes all when its process ends, not when it is closed."""

    clause, fault, also = "C5.3", 60, ()

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and make the segment."""
        super().build(corpus, workdir, settings, layout, states)
        if MARK in os.environ and not layout.workers:
            path = Path(f"/dev/shm/fivepoint-{os.getpid()}-{time.monotonic_ns()}")
            path.write_bytes(bytes(4096))
            atexit.register(path.unlink, missing_ok=True)


class ReadsFromASlowDisk(Honest):
    """Reads samples one after the other, when they are asked for, from a disk that takes 30 ms for each."""

    clause: ClassVar[str] = "C5.4"
    fault: ClassVar[int | None] = 57

    def tokens(self, sample: Sample) -> Array:
        """Return the tokens, late."""
        if self.settings.seq_len == WIDE:
            time.sleep(0.03)
        return super().tokens(sample)


class ReadsAhead(ReadsFromASlowDisk):
    """Reads from the same slow disk with sixteen threads, four steps ahead: no fault, so no clause is broken."""

    clause: ClassVar[str] = ""
    fault: ClassVar[int | None] = None

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and begin to read."""
        super().build(corpus, workdir, settings, layout, states)
        self.pool = ThreadPoolExecutor(16)
        self.ahead: dict[int, Future[MicroBatch]] = {}

    def batch(self, positions: list[int]) -> MicroBatch:
        """Return what was read, and have more read."""
        far = 4 * self.layout.batch_size
        for position in range(positions[0], min(positions[-1] + far, self.plan.length)):
            if position not in self.ahead:
                self.ahead[position] = self.pool.submit(self.row, position)
        rows = [self.ahead.pop(position).result() for position in positions]
        return {name: self.joined(name, [row[name] for row in rows]) for name in rows[0]}

    def close(self) -> None:
        """Give up what was not read."""
        self.pool.shutdown(cancel_futures=True)


class ReadsWholeShards(Honest):
    """Reads the whole shard for each sample of a very wide grid, and cuts the sample out."""

    clause, fault, also = "C5.5", None, ()

    def tokens(self, sample: Sample) -> Array:
        """Return the tokens, after all others were read too."""
        if self.settings.seq_len > WIDE:
            for path in self.corpus.rglob("*.bin"):
                path.read_bytes()
        return super().tokens(sample)


class MapsItsShards(Honest):
    """Maps the shards, and lets the system read ahead of every page that it touches. Seen only where the system counts what it fetches."""

    def tokens(self, sample: Sample) -> Array:
        """Return the tokens from a map of the first shard."""
        if self.settings.seq_len <= WIDE:
            return super().tokens(sample)
        mapped = np.memmap(next(self.corpus.rglob("*.bin")), np.uint32, "r")
        (span,) = sample.spans
        return mapped[span.first : span.first + span.length].astype(np.int64)
