"""Honest loaders that promise less: each lacks one promise (and what depends on it), and does as little of it as it may."""

import json
from dataclasses import replace
from fractions import Fraction

from fivepoint.conformance.broken.c2 import StridesThroughTheStep
from fivepoint.conformance.broken.c3 import hash_of
from fivepoint.conformance.broken.honest import Honest
from fivepoint.conformance.driver import PROMISES, Driver, Refusal
from fivepoint.reference.permutation import Permutation
from fivepoint.reference.records import Sample, Span

DEPENDS = {
    "shuffle": {"order", "where"},
    "prefix": {"order"},
    "phases": {"amend"},
    "whole_epochs": {"mixed_epochs", "order", "where"},
    "mixed_epochs": {"order", "where"},
    "any_workers": {"order", "elastic"},
    "layout": {"any_batch", "order", "elastic", "rebatch"},
    "any_batch": {"order", "rebatch"},
    "admission": {"budgets"},
    "resume": {"rebatch", "amend", "elastic", "one_state"},
    "identity": {"amend"},
}
"""What a loader lacks too that lacks the first."""


class Modest(Honest):
    """Refuses what it is not made for."""

    lacks: str = ""

    def build(self, corpus, workdir, settings, layout, states):
        """Refuse, or go on with what is left."""
        weighed = {name for phase in settings.phases for name, weight in phase.weights.items() if Fraction(weight)}
        refused = {
            "mixture": len(weighed) > 1,
            "phases": len(settings.phases) > 1,
            "skips": bool(settings.skips),
            "boundaries": settings.boundaries,
            "peers": layout.peers > 1,
            "workers": layout.workers > 0,
            "resume": bool(states),
        }
        if refused.get(self.lacks):
            raise Refusal(f"has no {self.lacks}")
        super().build(corpus, workdir, settings, layout, states)

    def make_plan(self, corpus, settings):
        """Plan with a seed, a rule or budgets of its own."""
        if self.lacks == "order":
            settings = replace(settings, seed=settings.seed + 1_000_000)
        if self.lacks == "layout":
            own = self.layout
            settings = replace(settings, seed=settings.seed + 1000 * own.dp_size + 100 * own.micro_batch + 10 * own.accumulation)
        if self.lacks == "any_batch":
            settings = replace(settings, seed=settings.seed + 1000 * self.layout.batch_size)
        if self.lacks == "any_workers":
            settings = replace(settings, seed=settings.seed + 1000 * self.layout.workers)
        if self.lacks == "prefix":
            settings = replace(settings, rule="furthest-behind")
        if self.lacks == "budgets":
            settings = replace(settings, max_epochs={})
        plan = super().make_plan(corpus, settings)
        if self.lacks == "epochs" and any(plan.resolve(position).epoch for position in range(plan.length)):
            raise Refusal("goes through a source once")
        return plan

    def expect_batch_size(self):
        """Look at the batch size, or do not."""
        if self.lacks != "batch_size":
            super().expect_batch_size()

    def expect_commit(self):
        """Look for the commit, or do not."""
        if self.lacks != "commit":
            super().expect_commit()

    def over(self):
        """Fill a last step, or leave it."""
        return self.consumed >= self.plan.length if self.lacks == "whole_steps" else super().over()

    def served(self, position):
        """Serve what was served before in a step that is filled."""
        return position % self.plan.length if self.lacks == "whole_steps" else position

    def positions(self):
        """Take every dp_size-th row, or a slice."""
        return StridesThroughTheStep.positions(self) if self.lacks == "rows" else super().positions()

    def resolve(self, position):
        """Serve the windows as they are stored, or shuffled."""
        sample = super().resolve(position)
        if self.lacks == "whole_epochs" or (self.lacks == "mixed_epochs" and len(self.settings.sources) > 1):
            return self.of_half_an_epoch(sample)
        return self.stored(sample) if self.lacks == "shuffle" else sample

    def of_half_an_epoch(self, sample: Sample) -> Sample:
        """Return a window of half of the source, rounded up, which comes round sooner; of one source after its first epoch alone."""
        if not sample.epoch and len(self.settings.sources) == 1:
            return sample
        source = next(source for source in self.plan.sources if source.name == sample.source)
        n = source.window_count(self.settings.seq_len)
        half, offset = divmod(sample.epoch * n + sample.offset, -(-n // 2))
        return self.at(sample, Permutation(n, self.plan.seed, hash_of(sample.source), half)(offset))

    def stored(self, sample: Sample) -> Sample:
        """Return the window whose number is the offset."""
        return self.at(sample, sample.offset)

    def at(self, sample: Sample, number: int) -> Sample:
        """Return the window of a number within its source."""
        window, size = number, self.settings.seq_len
        for corpus in self.settings.sources[sample.source]:
            windows = (self.corpora[sample.source, corpus].manifest.tokens - 1) // size
            if number < windows:
                return replace(sample, window=window, spans=(Span(corpus, number * size, size + 1),))
            number -= windows
        raise AssertionError("past the end")

    def where(self, source, corpus, first, last):
        """Ask the plan, or nobody."""
        return super().where(source, corpus, first, last) if self.has("where") else Driver.where(self, source, corpus, first, last)

    def identity(self):
        """Name the run, or do not."""
        return super().identity() if self.has("hash") else Driver.identity(self)

    def has(self, promise):
        """Return whether a promise was made."""
        return promise in self.promises

    def save(self):
        """Keep the layout and the process beside the state, for those who cannot do without; or nothing."""
        if self.lacks == "resume":
            raise Refusal("keeps no state")
        own = self.layout
        extra = {
            "sizes": [own.micro_batch, own.accumulation],
            "batch_size": own.batch_size,
            "dp_size": own.dp_size,
            "of": own.dp_size * own.peers,
        }
        return json.dumps({"loader": self.state(), **(extra if self.lacks in ("rebatch", "elastic") else {})} | self.own_part()).encode()

    def own_part(self):
        """Return what is in no other process's state."""
        own = self.layout
        return {"rank": own.rank, "of": own.dp_size * own.peers} if self.lacks == "one_state" else {}

    def restore(self, states):
        """Refuse the states that this loader cannot use."""
        own, first = self.layout, states[0]
        if self.lacks == "rebatch" and first["batch_size"] != own.batch_size:
            raise Refusal("resumes with the batch size that saved")
        if self.lacks == "rebatch" and first["dp_size"] == own.dp_size and first["sizes"] != [own.micro_batch, own.accumulation]:
            raise Refusal("resumes on as many ranks with the micro-batch and accumulation that saved")
        if self.lacks == "elastic" and first["dp_size"] != own.dp_size:
            raise Refusal("resumes on as many ranks as saved")
        if self.lacks == "one_state" and sorted(state["rank"] for state in states) != list(range(first["of"])):
            raise Refusal("resumes from the states of all ranks")
        if self.lacks == "identity":
            self.consumed, self.steps = first["loader"]["consumed"], first["loader"]["step"]
        else:
            super().restore([state["loader"] for state in states])
        if self.lacks == "amend" and first["loader"]["plan_hash"] != self.plan.plan_hash:
            raise Refusal("resumes the run that saved")


def _lacking(promise: str) -> type[Modest]:
    gone = {promise} | DEPENDS.get(promise, set())
    return type(f"No_{promise}", (Modest,), {"lacks": promise, "promises": Modest.promises - gone, "__module__": __name__})


LOADERS = {promise: _lacking(promise) for promise in sorted(PROMISES)}
globals().update({kind.__name__: kind for kind in LOADERS.values()})
