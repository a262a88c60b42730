"""Drives the reference loader, the executable specification: it promises everything."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ... import __version__
from ...errors import BudgetError, CheckpointError, ConfigError, CorpusError, PlanError, UsageError
from ...reference import checkpoint
from ...reference.loader import Loader
from ...reference.manifest import Manifest
from ...reference.plan import Plan
from ...reference.weights import integer_weights, parse_decimal
from ..driver import PROMISES, Driver, Layout, MicroBatch, Refusal, Settings
from .line_log import LineLog

BOUNDARIES = ("position_ids", "loss_mask", "cu_seqlens")


class ReferenceDriver(Driver):
    """`fivepoint.reference.loader.Loader` with the plan that the settings describe."""

    promises = frozenset(PROMISES)
    version = __version__

    def kind(self) -> Callable[..., Loader]:
        """Return what opens the loader."""
        return Loader

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Compile the settings to a plan and open the loader; any rank's state resumes all."""
        try:
            self.plan = plan_for(corpus, settings)
            self.run_log = LineLog(workdir / "run.log") if layout.rank == 0 else None
            self.loader = self.kind()(
                self.plan,
                layout.dp_rank,
                layout.dp_size,
                layout.micro_batch,
                layout.accumulation,
                checkpoint=json.loads(states[0]) if states else None,
                boundaries=BOUNDARIES if settings.boundaries else None,
                log=self.run_log.write if self.run_log else None,
            )
        except (BudgetError, CheckpointError, ConfigError, CorpusError, PlanError, UsageError) as reason:
            raise Refusal(str(reason)) from reason

    def next(self) -> list[MicroBatch] | None:
        """Take every micro-batch of the next step."""
        step = next(self.loader, None)
        return None if step is None else [self.arrays(batch) for batch in step]

    @staticmethod
    def arrays(batch: Any) -> MicroBatch:
        """Return the arrays of a batch under the names of the suite."""
        names = ("inputs", "targets", *BOUNDARIES)
        return {name: getattr(batch, name) for name in names if getattr(batch, name) is not None}

    def commit(self, applied: bool = True) -> None:
        """Commit the step."""
        self.loader.commit(applied)

    def save(self) -> bytes:
        """Return the state as JSON."""
        return json.dumps(self.loader.state_dict()).encode()

    def foretold(self, consumed: int) -> bytes:
        """Return the state as JSON: it is made of the plan and the number."""
        return json.dumps(checkpoint.make(self.plan, consumed, consumed // self.loader.batch_size)).encode()

    def where(self, source: str, corpus: str, first: int, last: int) -> list[int]:
        """Ask the plan."""
        return self.plan.where(source, corpus, first, last)

    def identity(self) -> str:
        """Return the plan's hash."""
        return self.plan.plan_hash

    def log(self) -> list[dict[str, Any]]:
        """Return what the loader logged, on all legs of the run."""
        if self.run_log is None:
            raise Refusal("keeps the run log on the first rank")
        return self.run_log.records()

    def close(self) -> None:
        """Close the loader and its log."""
        self.loader.close()
        if self.run_log is not None:
            self.run_log.close()


def plan_for(corpus: Path, settings: Settings) -> Plan:
    """Return the plan that the settings describe, over corpora below `corpus`."""
    manifests = {name: [Manifest.load(corpus / folder) for folder in folders] for name, folders in settings.sources.items()}
    phases: list[dict[str, Any]] = [
        {
            "length": phase.length,
            "grid": settings.seq_len,
            "seq_len": settings.seq_len,
            "rule": settings.rule,
            "weights": integer_weights(
                {name: parse_decimal(weight, f"weights.{name}") for name, weight in phase.weights.items()}, phase.length, "weights"
            ),
        }
        for phase in settings.phases
    ]
    weighed = {name for phase in phases for name in phase["weights"]}
    signed = {"repeats_signed_off": "the suite", "repeats_in_step_signed_off": "the suite"} if settings.signed_off else {}
    budgets = {
        name: signed | ({"max_epochs": settings.max_epochs[name]} if name in settings.max_epochs else {})
        for name in weighed
        if signed or name in settings.max_epochs
    }
    value = {
        "format": "fivepoint-plan",
        "version": 1,
        "seed": settings.seed,
        "sources": [
            {"name": name, "corpora": [_pin(manifest) for manifest in manifests[name]], "documents": "stored", "windows": "permuted"}
            for name in sorted(weighed)
        ],
        "phases": phases,
        "skips": [list(skip) for skip in settings.skips],
        "paths": {name: [str(corpus / folder) for folder in settings.sources[name]] for name in weighed},
    }
    sizes = {} if settings.batch_size is None else {"batch_sizes": [[0, settings.batch_size]]}
    return Plan.from_json(value | ({"budgets": budgets} if budgets else {}) | sizes)


def _pin(manifest: Manifest) -> dict[str, Any]:
    return {
        "name": manifest.name,
        "manifest": manifest.manifest_hash,
        "content": manifest.content_hash,
        "tokens": manifest.tokens,
    }
