"""Drivers that take a known time, for what measures them: they pause, read when asked, read ahead, and end as they should not."""

import json
import os
import threading
import time
from queue import Queue

import numpy as np
from small import SharesNoTokenForEpochs

from fivepoint.conformance.driver import Driver

PAUSE = 0.02
"""Seconds of a step of `Pauses`."""


class Pauses(SharesNoTokenForEpochs):
    """A loader whose steps take PAUSE, and whose state is a number."""

    def next(self):
        time.sleep(PAUSE)
        return super().next()


class OnePass(Pauses):
    """The same for one epoch, without a state."""

    promises = frozenset({"shuffle", "layout", "whole_steps"})


class Reads(Driver):
    """Reads each window from its file when it is asked for it, in a random order."""

    promises = frozenset({"shuffle", "layout", "whole_steps"})

    def build(self, corpus, workdir, settings, layout, states):
        manifest = json.loads((corpus / "data" / "manifest.json").read_text())
        (shard,) = manifest["shards"]
        self.file = os.open(corpus / "data" / shard["file"], os.O_RDONLY)
        # What lies beside a window is not read with it.
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_RANDOM)
        self.size, self.rows = settings.seq_len, layout.micro_batch
        order = np.random.default_rng(settings.seed).permutation((shard["tokens"] - 1) // self.size)
        self.order = iter(order[: settings.length].tolist())

    def read(self):
        """Return a step's rows, None where there are too few left."""
        numbers = [number for _, number in zip(range(self.rows), self.order, strict=False)]
        if len(numbers) < self.rows:
            return None
        return np.stack([np.frombuffer(os.pread(self.file, 4 * (self.size + 1), 4 * n * self.size), np.uint32) for n in numbers])

    def next(self):
        rows = self.read()
        return None if rows is None else [{"inputs": rows[:, :-1], "targets": rows[:, 1:]}]

    def close(self):
        os.close(self.file)


class ReadsAhead(Reads):
    """The same by threads of its own, as many as a step has rows, ten steps ahead."""

    def build(self, corpus, workdir, settings, layout, states):
        super().build(corpus, workdir, settings, layout, states)
        self.ahead, self.lock, self.open = Queue(10 * layout.micro_batch), threading.Lock(), True
        self.threads = [threading.Thread(target=self.fetch, daemon=True) for _ in range(layout.micro_batch)]
        for thread in self.threads:
            thread.start()

    def fetch(self):
        while self.open:
            with self.lock:
                number = next(self.order, None)
            if number is None:
                return self.ahead.put(None)
            self.ahead.put(np.frombuffer(os.pread(self.file, 4 * (self.size + 1), 4 * number * self.size), np.uint32))

    def read(self):
        rows = [self.ahead.get() for _ in range(self.rows)]
        return None if any(row is None for row in rows) else np.stack(rows)

    def close(self):
        self.open = False
        while any(thread.is_alive() for thread in self.threads):
            while not self.ahead.empty():
                self.ahead.get()
            time.sleep(0.001)
        super().close()


class Dies(Reads):
    """Its process ends in the middle of a run, after the rows were looked at."""

    taken = 0

    def next(self):
        self.taken += 1
        if self.taken > 4:
            os._exit(3)
        return super().next()


class Fails(Reads):
    """Raises an error where it should serve."""

    def next(self):
        raise ValueError("a shard\nis missing")


class Hangs(Reads):
    """Never answers."""

    def next(self):
        time.sleep(3600)


class Grows(Reads):
    """Takes memory until somebody stops it."""

    def next(self):
        self.held = []
        while True:
            self.held.append(np.ones(1 << 20, np.int64))
            time.sleep(0.01)


class MakesItsOwn(Reads):
    """Serves tokens that no corpus holds."""

    def next(self):
        (step,) = super().next()
        return [{"inputs": np.ones_like(step["inputs"])}]


class CountsDifferently(Pauses):
    """Its state is no number that grows with the run."""

    def save(self):
        return json.dumps({"consumed": self.consumed, "squared": self.consumed**2}).encode()


class ReadsAheadByWorkers(ReadsAhead):
    """Reads ahead where it may have workers, and not else."""

    promises = Reads.promises | {"workers"}

    def build(self, corpus, workdir, settings, layout, states):
        self.ahead_of = ReadsAhead if layout.workers else Reads
        self.ahead_of.build(self, corpus, workdir, settings, layout, states)

    def read(self):
        return self.ahead_of.read(self)

    def close(self):
        self.ahead_of.close(self)


class Copies(Reads):
    """Brings the corpus into a form of its own, of twice as many bytes."""

    def prepare(self, corpus, workdir, settings):
        (shard,) = (corpus / "data").glob("*.bin")
        (workdir / "copy").write_bytes(2 * shard.read_bytes())


class GoesAstray(Pauses):
    """Goes on for two steps where it was, and then somewhere else."""

    def build(self, corpus, workdir, settings, layout, states):
        super().build(corpus, workdir, settings, layout, states)
        self.resumed, self.taken = bool(states), 0

    def next(self):
        self.taken += 1
        return super().next()

    def row(self, position):
        return super().row(position + self.off(position))

    def off(self, position):
        return int(self.resumed and self.taken > 2)


class ForgetsItsEpoch(GoesAstray):
    """Goes on exactly to the end of the epoch in which it was resumed."""

    def build(self, corpus, workdir, settings, layout, states):
        super().build(corpus, workdir, settings, layout, states)
        self.epoch = len(next(iter(self.windows.values())))
        self.begun_in = self.consumed // self.epoch

    def off(self, position):
        return int(self.resumed and position // self.epoch != self.begun_in)
