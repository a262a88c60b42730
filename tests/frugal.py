"""Honest loaders that refuse what nobody has to serve, or do what only looks like a fault."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np

from fivepoint.conformance.broken.honest import Honest
from fivepoint.conformance.driver import Refusal


class OneRank(Honest):
    """Promises no layout: runs on one rank, without accumulation."""

    promises = frozenset({"shuffle", "epochs", "resume", "whole_epochs", "mixture", "mixed_epochs", "whole_steps", "one_state"})

    def build(self, corpus, workdir, settings, layout, states):
        if layout.dp_size > 1 or layout.accumulation > 1:
            raise Refusal("runs on one rank, without accumulation")
        super().build(corpus, workdir, settings, layout, states)


class OneRowOnly(Honest):
    """Serves micro-batches of one row."""

    promises = frozenset({"shuffle", "epochs", "whole_epochs", "resume", "whole_steps"})

    def build(self, corpus, workdir, settings, layout, states):
        if layout.micro_batch > 1:
            raise Refusal("serves micro-batches of one row")
        super().build(corpus, workdir, settings, layout, states)


class SeqLenOfFour(Honest):
    """Serves no sequences that its kernels are too wide for."""

    def build(self, corpus, workdir, settings, layout, states):
        if settings.seq_len < 4:
            raise Refusal("serves a seq_len of 4 or more")
        super().build(corpus, workdir, settings, layout, states)


class WholeBatchesOnly(Honest):
    """Refuses a source that does not fill one batch, as a sampler that drops the last one does."""

    promises = Honest.promises - {"where"}

    def build(self, corpus, workdir, settings, layout, states):
        super().build(corpus, workdir, settings, layout, states)
        if any(source.window_count(settings.seq_len) < layout.batch_size for source in self.plan.sources):
            raise Refusal("a source has fewer windows than a batch")


class OneCorpusASource(Honest):
    """Joins no corpora, and takes no documents without a token."""

    promises = frozenset(
        {"shuffle", "epochs", "whole_epochs", "layout", "any_batch", "whole_steps"} | {"resume", "rebatch", "elastic", "one_state"}
    )

    def build(self, corpus, workdir, settings, layout, states):
        if any(len(names) > 1 for names in settings.sources.values()):
            raise Refusal("serves one corpus a source")
        super().build(corpus, workdir, settings, layout, states)
        if any(0 in np.diff(np.append(np.load(path), -1)) for path in corpus.glob("*/*.idx.npy")):
            raise Refusal("serves no empty documents")


class RefusesToSaveInside(Honest):
    """Saves between steps only."""

    def save(self):
        if self.begun:
            raise Refusal("saves after commit")
        return super().save()


class SortsEvenFirst(Honest):
    """Promises no rows, and lays the rows of a step out even, odd, even, odd, as far as it can."""

    promises = Honest.promises - {"rows"}

    def batch(self, positions):
        parity = [[p for p in positions if self.resolve(p).window % 2 == bit] for bit in (1, 0)]
        return super().batch([parity[i].pop() for _ in positions for i in (1, 0) if parity[i]])


class Endless(Honest):
    """Never says that the run is over: it promises epochs, and no whole steps."""

    promises = frozenset({"shuffle", "epochs", "whole_epochs", "resume", "skips", "layout", "any_batch", "rebatch", "elastic"})

    def build(self, corpus, workdir, settings, layout, states):
        if len(settings.phases) > 1:
            raise Refusal("has one phase")
        (phase,) = settings.phases
        longer = replace(settings, phases=[replace(phase, length=3 * phase.length + 100)])
        super().build(corpus, workdir, longer, layout, states)


WATCH = """
import os, select, sys
while os.getppid() == int(sys.argv[1]):
    if select.select([0], [], [], 5)[0] and not os.read(0, 1):
        sys.exit()
"""


class LooksForItsParent(Honest):
    """Has a worker that looks every 5 s whether its parent lives, as those of torch.utils.data do."""

    promises = frozenset({"epochs", "whole_epochs", "workers", "any_workers"})

    def build(self, corpus, workdir, settings, layout, states):
        super().build(corpus, workdir, settings, layout, states)
        self.worker = None
        if layout.workers:
            reading, self.writing = os.pipe()
            os.set_inheritable(self.writing, True)
            self.worker = subprocess.Popen([sys.executable, "-c", WATCH, str(os.getpid())], stdin=reading, close_fds=False)
            os.close(reading)

    def close(self):
        if self.worker:
            self.worker.kill()
            self.worker.wait()
            os.close(self.writing)
            self.worker = None


class ServesWhatItStores(Honest):
    """Prepares files of eight bytes a token and reads each token once."""

    promises = frozenset({"shuffle", "epochs", "whole_epochs", "layout", "whole_steps", "resume"})

    def prepare(self, corpus, workdir, settings):
        for name in {name for names in settings.sources.values() for name in names}:
            manifest = json.loads((corpus / name / "manifest.json").read_text())
            shards = [np.fromfile(corpus / name / shard["file"], manifest["dtype"]) for shard in manifest["shards"]]
            np.concatenate(shards).astype(np.int64).tofile(workdir / f"{name}.tokens")

    def tokens(self, sample):
        (span,) = sample.spans
        with open(self.workdir / f"{span.corpus}.tokens", "rb", buffering=0) as file:
            file.seek(8 * span.first)
            return np.frombuffer(file.read(8 * span.length), np.int64)


LOADERS = {name: kind for name, kind in dict(globals()).items() if isinstance(kind, type) and kind.__module__ == __name__}
