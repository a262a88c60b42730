"""Honest loaders with neither plan nor reference behind them: one source, a mixture by chance, windows that share no token."""

import json
import random
from fractions import Fraction

import numpy as np

from fivepoint.conformance.driver import Driver, Refusal


def windows(corpus, settings, source, stride):
    """Return the windows of a source."""
    found = []
    for name in settings.sources[source]:
        manifest = json.loads((corpus / name / "manifest.json").read_text())
        shards = [np.fromfile(corpus / name / shard["file"], manifest["dtype"]) for shard in manifest["shards"]]
        tokens, size = np.concatenate([*shards, np.zeros(0, np.int64)]).astype(np.int64), settings.seq_len + 1
        step = size if stride == "L+1" else size - 1
        found += [tokens[start : start + size] for start in range(0, len(tokens) - size + 1, step)]
    return found


class Small(Driver):
    """A loader of its own, in which `row` says what a position holds."""

    promises = frozenset({"shuffle", "layout", "any_batch", "whole_steps", "resume", "rebatch", "elastic", "one_state", "commit"})

    def build(self, corpus, workdir, settings, layout, states):
        if settings.skips or settings.boundaries or settings.batch_size or len(settings.phases) > 1 or layout.peers > 1 or layout.workers:
            raise Refusal("has no such thing")
        self.settings, self.layout = settings, layout
        (phase,) = settings.phases
        self.weights = {name: float(weight) for name, weight in sorted(phase.weights.items()) if float(weight)}
        self.windows = {name: windows(corpus, settings, name, self.stride) for name in self.weights}
        self.plan()
        self.consumed = json.loads(states[0])["consumed"] if states else 0
        self.begun = False

    def window(self, source, draw):
        """Return the window of a draw, in an order for each epoch."""
        epoch, offset = divmod(draw, len(self.windows[source]))
        order = random.Random(f"{source} {self.settings.seed} {epoch}").sample(range(len(self.windows[source])), len(self.windows[source]))
        return self.windows[source][order[offset]]

    def next(self):
        if self.begun:
            raise RuntimeError("expected a commit")
        own = self.layout
        if self.consumed + own.batch_size > self.settings.length:
            return None
        self.begun = True
        first = self.consumed + own.dp_rank * own.micro_batch * own.accumulation
        starts = range(first, first + own.micro_batch * own.accumulation, own.micro_batch)
        rows = [np.stack([self.row(position) for position in range(start, start + own.micro_batch)]) for start in starts]
        return [{"inputs": batch[:, :-1], "targets": batch[:, 1:]} for batch in rows]

    def commit(self, applied=True):
        self.consumed += self.layout.batch_size
        self.begun = False

    def save(self):
        return json.dumps({"consumed": self.consumed}).encode()


class SharesNoToken(Small):
    """One source, whose windows share no token, for one epoch."""

    stride = "L+1"

    def plan(self):
        if len(self.windows) > 1:
            raise Refusal("serves one source")
        self.admit()

    def admit(self):
        if self.settings.length > len(self.windows[next(iter(self.windows))]):
            raise Refusal("serves one epoch")

    def row(self, position):
        return self.window(next(iter(self.windows)), position)


class SharesNoTokenForEpochs(SharesNoToken):
    """The same for several epochs, with budgets that count its own windows."""

    promises = SharesNoToken.promises | {"epochs", "whole_epochs", "budgets"}

    def admit(self):
        settings = self.settings
        passes = Fraction(settings.length, len(self.windows[next(iter(self.windows))]))
        for most in settings.max_epochs.values():
            if -(-passes.numerator // passes.denominator) > most:
                raise Refusal(f"more than {most} epochs")
        if passes > 4 and not settings.signed_off:
            raise Refusal("more than four epochs")


class DrawsAtRandom(Small):
    """Draws the source of each position at random by weight; every source goes epoch by epoch, shuffled."""

    promises = Small.promises | {"epochs", "whole_epochs", "mixture", "mixed_epochs"}
    salt = 0

    def plan(self):
        if self.settings.length > 200_000:
            raise Refusal("has no run so long")
        drawn = dict.fromkeys(self.weights, 0)
        self.draws = []
        for name in random.Random(f"{self.settings.seed}/{self.salt}").choices([*drawn], [*self.weights.values()], k=self.settings.length):
            self.draws.append((name, drawn[name]))
            drawn[name] += 1
        if "epochs" not in self.promises and any(count > len(self.windows[name]) for name, count in drawn.items()):
            raise Refusal("passes through a source once")

    def row(self, position):
        return self.window(*self.draws[position])


class DrawsAtRandomOnce(DrawsAtRandom):
    """The same, and goes through no source twice."""

    promises = DrawsAtRandom.promises - {"epochs", "whole_epochs", "mixed_epochs"}


class Unlucky(DrawsAtRandom):
    """The same with a seed by which one source is drawn oddly often."""

    salt = 1854


class ReadsOnAndOn(Small):
    """Reads the windows of one corpus one after the other from an open file: nothing but ordinary reads, in order."""

    promises = frozenset({"epochs", "whole_epochs", "layout", "any_batch", "whole_steps", "resume", "rebatch", "elastic", "one_state"})

    def plan(self):
        names = [name for source in self.weights for name in self.settings.sources[source]]
        if len(names) > 1:
            raise Refusal("serves one corpus")

    def build(self, corpus, workdir, settings, layout, states):
        super().build(corpus, workdir, settings, layout, states)
        (name,) = [name for source in self.weights for name in settings.sources[source]]
        manifest = json.loads((corpus / name / "manifest.json").read_text())
        self.dtype, self.shards = np.dtype(manifest["dtype"]), [corpus / name / shard["file"] for shard in manifest["shards"]]
        self.file = self.shards[0].open("rb", buffering=0) if len(self.shards) == 1 else None

    def row(self, position):
        (held,) = self.windows.values()
        number, size = position % len(held), self.settings.seq_len
        if self.file is None:
            return held[number]
        self.file.seek(number * size * self.dtype.itemsize)
        return np.frombuffer(self.file.read((size + 1) * self.dtype.itemsize), self.dtype).astype(np.int64)

    def close(self):
        if self.file:
            self.file.close()


class ForgetsWhereItWas(SharesNoTokenForEpochs):
    """Not honest: resumes a sample late, and fails where a source does not fill a batch."""

    def build(self, corpus, workdir, settings, layout, states):
        super().build(corpus, workdir, settings, layout, states)
        if len(self.windows[next(iter(self.windows))]) < layout.batch_size:
            raise ValueError("an epoch has no batch")
        self.late = bool(states)

    def row(self, position):
        return super().row(position + self.late)


LOADERS = {
    name: kind
    for name, kind in dict(globals()).items()
    if isinstance(kind, type) and kind.__module__ == __name__ and kind not in (Small, ForgetsWhereItWas)
}
