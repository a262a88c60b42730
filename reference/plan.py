"""The plan of a run: everything decided ahead, its identity, and the answers it gives about any position (F3; C3.5, C4.8)."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import PlanError, RangeError
from . import admission, partition, rules
from .canonical import digest, read_json
from .files import write_whole
from .records import Budget, Phase, Sample, Source
from .resolve import Resolver
from .schema import validate


@dataclass(frozen=True)
class Plan:
    """A plan in its normal form: sources sorted by name, weights positive with gcd 1, skips and batch sizes as pairs in ascending order.

    `paths` holds, per source, the folders of its corpora, relative to `folder` or absolute; neither is part of any hash.
    """

    seed: int
    sources: tuple[Source, ...]
    phases: tuple[Phase, ...]
    skips: tuple[tuple[int, int], ...] = ()
    batch_sizes: tuple[tuple[int, int], ...] = ()
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    folder: Path = field(default=Path(), compare=False)

    @classmethod
    def load(cls, path: str | Path) -> "Plan":
        """Read a plan's file and hold it to the rules and its budgets; raises PlanError, of which BudgetError is one kind."""
        path = Path(path)
        plan = cls.from_json(read_json(path, PlanError, "plan"), str(path), path.parent)
        plan.admit()
        return plan

    @classmethod
    def from_json(cls, value: Any, where: str = "the plan", folder: Path = Path()) -> "Plan":
        """Return the plan that a JSON object describes; raises PlanError, beginning with `where`, unless it is in normal form.

        Budgets are not looked at: a cut has none. `admit` does that.
        """
        validate(value, "plan", where, PlanError)
        plan = cls(
            seed=value["seed"],
            sources=tuple(Source.from_json(source) for source in value["sources"]),
            phases=tuple(Phase(**phase) for phase in value["phases"]),
            skips=tuple((at, count) for at, count in value["skips"]),
            batch_sizes=tuple((start, size) for start, size in value.get("batch_sizes", [])),
            budgets={name: Budget(**budget) for name, budget in value.get("budgets", {}).items()},
            paths={name: tuple(paths) for name, paths in value.get("paths", {}).items()},
            folder=folder,
        )
        rules.check(plan, where)
        return plan

    def save(self, path: str | Path) -> None:
        """Write the plan's file, whole or not at all; relative paths are written relative to its folder."""
        path = Path(path)
        paths = {name: tuple(self._path_from(path.parent, item) for item in items) for name, items in self.paths.items()}
        value = replace(self, paths=paths).to_json()
        write_whole(path, json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8") + b"\n")

    def _path_from(self, folder: Path, path: str) -> str:
        if Path(path).is_absolute() or folder.resolve() == self.folder.resolve():
            return path
        return os.path.relpath((self.folder / path).resolve(), folder.resolve())

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of formats.md, F3; what is empty and may be left out is left out."""
        value: dict[str, Any] = {
            "format": "fivepoint-plan",
            "version": 1,
            "seed": self.seed,
            "sources": [source.to_json() for source in self.sources],
            "phases": [phase.to_json() for phase in self.phases],
            "skips": [list(skip) for skip in self.skips],
        }
        if self.batch_sizes:
            value["batch_sizes"] = [list(pair) for pair in self.batch_sizes]
        if self.budgets:
            value["budgets"] = {name: budget.to_json() for name, budget in self.budgets.items()}
        if self.paths:
            value["paths"] = {name: list(paths) for name, paths in self.paths.items()}
        return value

    @cached_property
    def plan_hash(self) -> str:
        """SHA-256 of the plan without its paths."""
        return digest({key: value for key, value in self.to_json().items() if key != "paths"})

    def cut(self, consumed: int) -> "Plan":
        """Return the plan that ends at position `consumed`; raises RangeError beyond the run's end."""
        if not 0 <= consumed <= self.length:
            raise RangeError(f"expected a position from 0 to {self.length}, the end of the run, found {consumed}")
        phases, start = [], 0
        for phase in self.phases:
            if start < consumed:
                phases.append(replace(phase, length=min(phase.length, consumed - start)))
            start += phase.length
        weighed = {name for phase in phases for name in phase.weights}
        return Plan(
            seed=self.seed,
            sources=tuple(source for source in self.sources if source.name in weighed),
            phases=tuple(phases),
            skips=tuple((at, count) for at, count in self.skips if at < consumed),
        )

    def prefix_hash(self, consumed: int) -> str:
        """SHA-256 of the cut at `consumed`: the identity of everything that the run has seen until then."""
        return digest(self.cut(consumed).to_json())

    def admit(self, batch_size: int | None = None) -> None:
        """Raise PlanError or BudgetError where the plan asks for more of a source than its budget and sign-offs allow (A9).

        `batch_size` is that of a loader's steps, looked at where the plan has no batch sizes.
        """
        admission.check(self, batch_size)

    @cached_property
    def length(self) -> int:
        """Positions of the run."""
        return sum(phase.length for phase in self.phases)

    @cached_property
    def resolver(self) -> Resolver:
        """The arithmetic of the run, built on first use."""
        return Resolver(self.seed, self.sources, self.phases, self.skips)

    def resolve(self, position: int) -> Sample:
        """Return the sample at `position`; raises RangeError outside the run."""
        return self.resolver.resolve(position)

    def where(self, source: str, corpus: str, first_token: int, last_token: int) -> list[int]:
        """Return, ascending, the positions that serve one of the tokens `first_token` to `last_token` (inclusive) as input or target.

        Raises RangeError for an unknown source or corpus, and for tokens that the corpus does not have.
        """
        return self.resolver.where(source, corpus, first_token, last_token)

    def batch_size(self, consumed: int) -> int | None:
        """Return B of a step that begins at `consumed`; None where the plan has no batch sizes."""
        return partition.batch_size_at(self.batch_sizes, consumed) if self.batch_sizes else None
