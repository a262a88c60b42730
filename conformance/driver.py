"""What a driver is: the one page between the suite and a loader (DRIVERS.md)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

MUSTS = {
    "V1": "A driver MUST hand over what the loader gives a trainer, unaltered: every micro-batch of a step, in order, as integer arrays.",
    "V2": "A driver MUST answer every request once, within the time limit, and write only into the folders that it is given.",
    "V3": "A driver MUST declare what the loader promises, and raise Refusal for what the loader cannot do, instead of imitating it.",
}

PROMISES = {
    "order": "serves the order of algorithms.md for the settings given (A2, A4, A5)",
    "shuffle": "every epoch of a source comes in another order, that depends on the seed",
    "epochs": "goes through a source again when it has been passed through",
    "whole_epochs": "passes through a source whole before any of it comes again",
    "mixture": "serves several sources by weight",
    "mixed_epochs": "passes through a source whole before any of it comes again, among others too",
    "prefix": "keeps every source within one sample of its share at every prefix (C1.1)",
    "phases": "weights may change in mid-run, and each source goes on where it was",
    "skips": "passes over a given number of samples before a given position",
    "budgets": "refuses what exceeds max_epochs, and more than four epochs without a signature",
    "admission": "refuses data listed twice, a weight that vanishes, a source it cannot serve, and an unsigned repeat inside a step",
    "layout": "serves the same samples in each step on any number of ranks, with any micro-batch and accumulation that make up the batch",
    "any_batch": "serves the same sequence of samples in steps of any size",
    "batch_size": "holds to the batch size of the settings, and refuses a layout that does not fit it",
    "whole_steps": "serves a step whole or not at all, without padding",
    "resume": "goes on, from a saved state, at the first sample that was not committed",
    "rebatch": "resumes with another batch size, or as many ranks with another micro-batch and accumulation",
    "amend": "goes on from a state when only what lies after it was changed: weights, sources, skips, the length of the run",
    "elastic": "resumes on another number of dp ranks, which share the same batch, and of workers",
    "one_state": "one rank's state resumes every rank",
    "commit": "raises an error when the next step is asked for before the last one was committed",
    "identity": "refuses data, or a state, that is not the run's",
    "vocabulary": "refuses a corpus with ids that do not fit its dtype or its declared vocabulary, and corpora of two tokenizers",
    "peers": "gives tensor, pipeline and context parallel peers the batch of their dp rank",
    "workers": "may read with a number of workers of its own",
    "any_workers": "serves the same sequence of samples with any number of workers",
    "rows": "puts the samples of a step on ranks and rows as A7 says",
    "boundaries": "gives position ids, loss mask and cu_seqlens from the documents",
    "hash": "names the run by a hash of all that decides a token",
    "where": "tells the positions that serve given tokens",
    "log": "keeps a run log (formats.md, F5)",
}


class Refusal(Exception):  # noqa: N818 it is an answer, not an error
    """The loader says that it does not do what was asked: no fault, and no promise kept."""


@dataclass(frozen=True)
class Phase:
    """`length` samples with these weights: decimals as text, so that nothing is rounded on the way."""

    length: int
    weights: dict[str, str]


@dataclass(frozen=True)
class Settings:
    """What is to be served. `sources` names the corpora of each source: folders below the corpus folder, in the order of a union."""

    seed: int
    seq_len: int
    sources: dict[str, list[str]]
    phases: list[Phase]
    skips: list[tuple[int, int]] = field(default_factory=list)
    max_epochs: dict[str, int] = field(default_factory=dict)
    signed_off: bool = True
    rule: str = "earliest-deadline"
    boundaries: bool = False
    batch_size: int | None = None
    """Samples of a step that the run asks for; None leaves it to the layout."""

    @property
    def length(self) -> int:
        """Samples of the run."""
        return sum(phase.length for phase in self.phases)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Settings":
        """Return the settings that a JSON object holds; phases may be objects or Phase."""
        phases = [phase if isinstance(phase, Phase) else Phase(**phase) for phase in value["phases"]]
        return cls(**{**value, "phases": phases, "skips": [(at, count) for at, count in value.get("skips", [])]})


@dataclass(frozen=True)
class Layout:
    """The place of one process: its dp rank, its tensor, pipeline and context parallel peers, and the sizes of its batches.

    `peer` counts the processes of one dp rank from 0 to tp * pp * cp - 1. A step holds dp_size * micro_batch * accumulation samples.
    """

    dp_rank: int
    dp_size: int
    micro_batch: int
    accumulation: int = 1
    workers: int = 0
    peer: int = 0
    tp: int = 1
    pp: int = 1
    cp: int = 1

    @property
    def batch_size(self) -> int:
        """Samples of a step, over all ranks."""
        return self.dp_size * self.micro_batch * self.accumulation

    @property
    def peers(self) -> int:
        """Processes of one dp rank."""
        return self.tp * self.pp * self.cp

    @property
    def rank(self) -> int:
        """Number of the process over all dp ranks and their peers; peers stand side by side."""
        return self.dp_rank * self.peers + self.peer


MicroBatch = dict[str, Array]
"""`inputs` [b, l], and where the loader gives them `targets` [b, l], `position_ids` [b, l], `loss_mask` [b, l], `cu_seqlens` [runs + 1]."""


class Driver:
    """Drives one rank of a loader. Subclass it, set `promises` and `stride`, and fill in the methods."""

    promises: frozenset[str] = frozenset()
    """Names of PROMISES. What is not promised is not judged."""
    stride: str = "L"
    """Where samples start in a corpus: "L", windows that share one token, or "L+1", windows that share none."""
    version: str = ""
    """Version of the loader, for the report."""

    def prepare(self, corpus: Path, workdir: Path, settings: Settings) -> None:
        """Bring the corpora into the form that the loader reads: before any rank is built, and again after each change of settings or data.

        `corpus` holds a folder in fivepoint's own format (formats.md, F1) for each corpus; write into `workdir` only.
        """

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Make the loader of this rank; with `states`, what every rank saved, by number of the process, go on from there."""
        raise NotImplementedError

    def next(self) -> list[MicroBatch] | None:
        """Return the micro-batches of the next step on this rank, None at the end of the run."""
        raise NotImplementedError

    def commit(self, applied: bool = True) -> None:
        """Say that the optimizer has taken the step; `applied=False`: that it was taken, and skipped the update."""

    def save(self) -> bytes:
        """Return the state of this rank, whatever the loader keeps; it is handed to `build` as it is."""
        raise Refusal("keeps no state")

    def foretold(self, consumed: int) -> bytes:
        """Return the state that a run of this loader would save after `consumed` samples: for measuring a resume where no run can come."""
        raise Refusal("knows no state but that of a run that came so far")

    def where(self, source: str, corpus: str, first: int, last: int) -> list[int]:
        """Return the positions that serve tokens `first` to `last` of a corpus, inclusive."""
        raise Refusal("has no way back")

    def identity(self) -> str:
        """Return the hash that names the run: everything that decides a token, and nothing that decides none."""
        raise Refusal("has no hash")

    def log(self) -> list[dict[str, Any]]:
        """Return the records of the run log so far."""
        raise Refusal("keeps no run log")

    def close(self) -> None:
        """End the loader, and all that it started; `build` may be called again after it."""
