"""Loaders whose windows share no token (stride L+1), of one source, for an epoch: what they do wrong shows without a second one."""

import json
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..driver import Array, Driver, Layout, MicroBatch, Refusal, Settings


class Apart(Driver):
    """Honest, and as modest as a loader can be that serves ranks and resumes."""

    stride = "L+1"
    promises = frozenset({"shuffle", "layout", "whole_steps", "resume", "rebatch", "elastic", "one_state", "commit"})
    clause: ClassVar[str] = ""
    fault: ClassVar[int | None] = None
    also: ClassVar[tuple[str, ...]] = ()

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Cut the corpora of the source into windows."""
        self.settings, self.layout, size = settings, layout, settings.seq_len + 1
        if len(settings.sources) > 1 or len(settings.phases) > 1 or settings.skips or settings.boundaries or settings.batch_size:
            raise Refusal("serves one source")
        self.windows: list[Array] = []
        for name in next(iter(settings.sources.values())):
            manifest = json.loads((corpus / name / "manifest.json").read_text())
            tokens = np.concatenate([np.fromfile(corpus / name / shard["file"], manifest["dtype"]) for shard in manifest["shards"]])
            self.windows += [tokens[start : start + size].astype(np.int64) for start in range(0, len(tokens) - size + 1, size)]
        if settings.length > len(self.windows):
            raise Refusal("serves one epoch")
        self.order = np.random.default_rng(settings.seed).permutation(len(self.windows))
        self.consumed = self.restored(states)
        self.begun = False

    def restored(self, states: list[bytes]) -> int:
        """Return the position that a state names."""
        return int(json.loads(states[0])) if states else 0

    def first(self) -> int:
        """Return the first position of this rank's slice of the step."""
        return self.consumed + self.layout.dp_rank * self.layout.micro_batch * self.layout.accumulation

    def next(self) -> list[MicroBatch] | None:
        """Serve the slice, or the end."""
        if self.begun:
            raise RuntimeError("expected a commit before the next step")
        if self.consumed + self.layout.batch_size > self.settings.length:
            return None
        self.begun = True
        step = [self.windows[self.order[self.first() + i]] for i in range(self.layout.micro_batch * self.layout.accumulation)]
        batches = np.stack(step).reshape(self.layout.accumulation, self.layout.micro_batch, -1)
        return [{"inputs": batch[:, :-1], "targets": batch[:, 1:]} for batch in batches]

    def commit(self, applied: bool = True) -> None:
        """Count the step."""
        self.consumed += self.layout.batch_size
        self.begun = False

    def save(self) -> bytes:
        """Return the position."""
        return json.dumps(self.consumed).encode()


class EveryRankReadsTheSameApart(Apart):
    """Forgets its rank."""

    clause, fault, also = "C2.1", 20, ("C2.2", "C2.5", "C4.3", "C4.4", "C4.9")

    def first(self) -> int:
        """Return the first position of the step."""
        return self.consumed


class ForgetsItsStateApart(Apart):
    """Begins anew, whatever state it is given."""

    clause, fault, also = "C4.1", None, ("C4.2", "C4.3", "C4.4", "C4.5", "C4.9")

    def restored(self, states: list[bytes]) -> int:
        """Return the beginning."""
        return 0
