"""A case: the data, the settings and the legs of a run, as plain values that can be written down, repeated and made smaller."""

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from .corpora import CorpusSpec
from .driver import Layout, Settings

SAVE, INSIDE, KILL = "save", "inside", "kill"


@dataclass(frozen=True)
class Leg:
    """One attempt of a run: `steps` steps on `dp_size` ranks (None: to the end), and how it stops.

    `save`: states are saved after the last commit. `inside`: one more step is begun, and the states are saved before it is committed.
    `kill`: states are saved after `steps`, `ahead` more steps are served and committed, and every process gets SIGKILL.
    `state_of` names the one process whose state all ranks of the next leg get; None gives every rank all states.
    """

    dp_size: int = 1
    micro_batch: int = 1
    accumulation: int = 1
    steps: int | None = None
    stop: str = SAVE
    ahead: int = 0
    workers: int = 0
    tp: int = 1
    pp: int = 1
    cp: int = 1
    state_of: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    """Fields of Settings that this leg and the later ones have otherwise; `phases` and `skips` in their JSON form."""
    environment: dict[str, str] = field(default_factory=dict)
    """Environment variables of the leg's processes; where there are any, the processes are fresh."""
    fresh: bool = False
    """Whether the ranks must be processes of their own, also for a loader that can run inside the suite's."""

    @property
    def batch_size(self) -> int:
        """Samples of a step."""
        return self.dp_size * self.micro_batch * self.accumulation

    def layouts(self) -> list[Layout]:
        """Return the layout of every process, in the order of their numbers."""
        peers = self.tp * self.pp * self.cp
        return [
            Layout(rank, self.dp_size, self.micro_batch, self.accumulation, self.workers, peer, self.tp, self.pp, self.cp)
            for rank in range(self.dp_size)
            for peer in range(peers)
        ]


@dataclass(frozen=True)
class Case:
    """What a check runs: corpora, what is served of them, and on which legs."""

    corpora: tuple[CorpusSpec, ...]
    settings: Settings
    legs: tuple[Leg, ...] = (Leg(),)

    def with_legs(self, *legs: Leg) -> "Case":
        """Return the same data and settings on other legs."""
        return replace(self, legs=legs)

    def with_settings(self, **changes: Any) -> "Case":
        """Return the case with other settings."""
        return replace(self, settings=replace(self.settings, **changes))

    def source_of(self, corpus: str) -> str:
        """Return the source that holds a corpus."""
        return next(source for source, names in self.settings.sources.items() if corpus in names)

    def windows(self, source: str, stride: str = "L") -> int:
        """Return the number of samples in one epoch of a source, for windows that share a token ("L") or share none ("L+1")."""
        lengths = {spec.name: spec.tokens for spec in self.corpora}
        step, shared = (self.settings.seq_len, 1) if stride == "L" else (self.settings.seq_len + 1, 0)
        return sum((lengths[corpus] - shared) // step for corpus in self.settings.sources[source])

    def to_json(self) -> str:
        """Return the case as one line of JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Case":
        """Return the case that `to_json` wrote."""
        return cls.from_value(json.loads(text))

    @classmethod
    def from_value(cls, value: dict[str, Any]) -> "Case":
        """Return the case that a JSON object holds; without `legs` it has one, to the end."""
        return cls(
            tuple(CorpusSpec(**{**spec, "documents": tuple(spec["documents"])}) for spec in value["corpora"]),
            Settings.from_json(value["settings"]),
            tuple(Leg(**leg) for leg in value.get("legs", [{}])),
        )
