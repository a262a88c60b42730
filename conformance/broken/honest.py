"""An honest loader in small steps, for the broken ones to depart from: each overrides the one step in which it errs."""

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...errors import FivepointError, UsageError
from ...reference import boundaries, checkpoint
from ...reference.batch import open_corpora
from ...reference.corpus import CorpusReader
from ...reference.partition import micro_batches
from ...reference.plan import Plan
from ...reference.records import Sample
from ..driver import PROMISES, Array, Driver, Layout, MicroBatch, Refusal, Settings
from ..drivers.reference import plan_for


class Honest(Driver):
    """Serves the plan as the reference does, with every decision in a method of its own.

    A broken loader names the `clause` that it breaks, the `fault` that it commits, and in `also` the clauses that cannot hold either.
    """

    promises = frozenset(PROMISES) - {"log"}
    clause: ClassVar[str] = ""
    fault: ClassVar[int | None] = None
    also: ClassVar[tuple[str, ...]] = ()

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Make the plan, open the corpora, restore the state."""
        self.corpus, self.workdir, self.settings, self.layout = corpus, workdir, settings, layout
        try:
            self.plan = self.make_plan(corpus, settings)
            self.corpora = self.open_corpora(self.plan)
        except FivepointError as reason:
            raise Refusal(str(reason)) from reason
        self.expect_batch_size()
        self.consumed = 0
        self.steps = 0
        self.begun = False
        if states:
            self.restore([json.loads(state) for state in states])

    def where(self, source: str, corpus: str, first: int, last: int) -> list[int]:
        """Ask the plan."""
        return self.plan.where(source, corpus, first, last)

    def identity(self) -> str:
        """Return the plan's hash."""
        return self.plan.plan_hash

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Return the plan, admitted."""
        plan = plan_for(corpus, settings)
        plan.admit()
        return plan

    def open_corpora(self, plan: Plan) -> dict[tuple[str, str], CorpusReader]:
        """Open every corpus of the plan, by source and name."""
        return open_corpora(plan)

    def expect_batch_size(self) -> None:
        """Refuse a layout that does not make up the batch size of the settings."""
        if self.settings.batch_size not in (None, self.layout.batch_size):
            raise Refusal(f"the run asks for {self.settings.batch_size} samples a step, the layout makes {self.layout.batch_size}")

    def next(self) -> list[MicroBatch] | None:
        """Serve the step at `consumed`, if a whole one is left."""
        self.expect_commit()
        if self.over():
            return None
        self.begun = True
        return [self.batch(positions) for positions in self.positions()]

    def expect_commit(self) -> None:
        """Raise an error while a step is neither committed nor given up."""
        if self.begun:
            raise UsageError("expected commit() before the next step is asked for")

    def over(self) -> bool:
        """Return whether no whole step is left."""
        return self.consumed + self.layout.batch_size > self.plan.length

    def positions(self) -> list[list[int]]:
        """Return the positions of this rank's micro-batches in the step at `consumed`."""
        layout = self.layout
        ranges = micro_batches(self.consumed, layout.batch_size, layout.dp_size, layout.micro_batch, layout.dp_rank)
        return [list(positions) for positions in ranges]

    def batch(self, positions: list[int]) -> MicroBatch:
        """Return the micro-batch of the samples at `positions`."""
        rows = [self.row(self.served(position)) for position in positions]
        return {name: self.joined(name, [row[name] for row in rows]) for name in rows[0]}

    def row(self, position: int) -> MicroBatch:
        """Return the sample at a position of the plan, as a micro-batch of one row."""
        sample = self.resolve(position)
        tokens = self.tokens(sample)
        row = {"inputs": tokens[None, :-1], "targets": tokens[None, 1:]}
        return row | self.bounds(tokens, self.documents(sample)) if self.settings.boundaries else row

    def resolve(self, position: int) -> Sample:
        """Return what the plan has at `position`."""
        return self.plan.resolve(position)

    def tokens(self, sample: Sample) -> Array:
        """Return the tokens of a sample, int64 [seq_len + 1]."""
        return np.concatenate([self.corpora[sample.source, span.corpus].tokens(span.first, span.length) for span in sample.spans])

    def documents(self, sample: Sample) -> Array:
        """Return the number of each token's document, int64 [seq_len + 1]."""
        return np.concatenate([self.corpora[sample.source, span.corpus].documents(span.first, span.length) for span in sample.spans])

    def bounds(self, tokens: Array, documents: Array) -> MicroBatch:
        """Return position ids, loss mask and sequence bounds of one row, from its documents; its tokens decide nothing."""
        inputs = documents[None, :-1]
        return {
            "position_ids": boundaries.position_ids(inputs),
            "loss_mask": boundaries.loss_mask(documents[None]),
            "cu_seqlens": boundaries.cu_seqlens(inputs),
        }

    def served(self, position: int) -> int:
        """Return the position of the plan that is served at `position`."""
        return position

    @staticmethod
    def joined(name: str, rows: list[Array]) -> Array:
        """Lay the rows of one micro-batch together."""
        if name != "cu_seqlens":
            return np.concatenate(rows)
        length = int(rows[0][-1])
        bounds = [row[:-1] + i * length for i, row in enumerate(rows)]
        return np.concatenate([*bounds, [len(rows) * length]]).astype(np.int32)

    def commit(self, applied: bool = True) -> None:
        """Count the step."""
        self.consumed += self.layout.batch_size
        self.steps += 1
        self.begun = False

    def save(self) -> bytes:
        """Return the state as JSON."""
        return json.dumps(self.state()).encode()

    def state(self) -> dict[str, Any]:
        """Return what a restart needs."""
        return self.state_at(self.consumed)

    def state_at(self, consumed: int) -> dict[str, Any]:
        """Return the state of a loader that has consumed so many samples, of which a run has no more than it has."""
        return checkpoint.make(self.plan, min(consumed, self.plan.length), self.steps)

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Go on from the states of all ranks, of which any will do; refuse those of another past."""
        try:
            self.consumed, self.steps, _ = checkpoint.accept(self.plan, states[0])
        except FivepointError as reason:
            raise Refusal(str(reason)) from reason
