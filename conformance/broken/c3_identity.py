"""Loaders that do not know what they serve: hashes that ignore, files that are not looked at, answers that leave out (C3.5 to C3.7)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CorpusError
from ...reference.canonical import digest
from ...reference.corpus import CorpusReader
from ...reference.manifest import Manifest
from ...reference.plan import Plan
from ...reference.records import Sample
from ..driver import Array
from .honest import Honest


class HashOfNames(Honest):
    """Hashes what things are called, and not what they hold."""

    clause, fault, also = "C3.5", 55, ()

    def identity(self) -> str:
        """Leave out the content of the corpora."""
        return digest([self.plan.seed, [phase.to_json() for phase in self.plan.phases], [source.name for source in self.plan.sources]])


class HashWithoutTheSeed(Honest):
    """Leaves the seed out of the hash, as something that belongs to the command line."""

    clause, fault, also = "C3.5", 55, ()

    def identity(self) -> str:
        """Hash the plan at seed 0."""
        return replace(self.plan, seed=0).plan_hash


class HashWithPaths(Honest):
    """Hashes the folders in which the corpora lie, so a run that was moved is another run."""

    clause, fault, also = "C3.5", 55, ()

    def identity(self) -> str:
        """Hash the plan and the folder of its corpora."""
        return digest([self.plan.plan_hash, str(self.corpus)])


class HashInTheOrderWritten(Honest):
    """Hashes the sources in the order in which somebody wrote them down."""

    clause, fault, also = "C3.5", 55, ()

    def identity(self) -> str:
        """Hash the plan and the order of the settings."""
        return digest([self.plan.plan_hash, list(self.settings.sources)])


class Unlooking(Honest):
    """Reads what it finds where a shard should be, and takes missing bytes for zeros."""

    clause, fault, also = "C3.6", 53, ("D0.10", "D0.12")

    def open_corpora(self, plan: Plan) -> dict[tuple[str, str], CorpusReader]:
        """Open manifests only, where the files are not those that they name."""
        readers = {}
        for source in plan.sources:
            for corpus, path in zip(source.corpora, plan.paths[source.name], strict=True):
                try:
                    reader = CorpusReader(path)
                except CorpusError:
                    reader = CorpusReader.__new__(CorpusReader)
                    reader.folder, reader.manifest = Path(path), Manifest.load(Path(path))
                readers[source.name, corpus.name] = reader
        return readers

    def tokens(self, sample: Sample) -> Array:
        """Read from whatever file there is, and fill up with zeros."""
        (span,) = sample.spans
        reader = self.corpora[sample.source, span.corpus]
        files = [reader.folder / shard.file for shard in reader.manifest.shards]
        data = b"".join(file.read_bytes() for file in files if file.exists())
        dtype = reader.manifest.token_dtype
        found = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)[span.first : span.first + span.length]
        return np.concatenate([found.astype(np.int64), np.zeros(span.length - len(found), np.int64)])


class ResumesOnAnything(Honest):
    """Goes on from a state whatever the data is by now: only the names are compared."""

    clause, fault, also = "C3.6", 54, ("C4.7",)

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Take the number, and look at nothing else."""
        self.consumed, self.steps = states[0]["consumed"], states[0]["step"]


class WhereForgetsTargets(Honest):
    """Answers for inputs only: the last target of a window is the first input of the next, and is not found."""

    clause, fault, also = "C3.7", None, ()

    def where(self, source: str, corpus: str, first: int, last: int) -> list[int]:
        """Leave out the positions that serve the tokens as last target only."""
        found = self.plan.where(source, corpus, first, last)
        return [at for at in found if self.plan.resolve(at).spans[0].first + self.settings.seq_len > first]


class WhereForgetsSkips(Honest):
    """Answers as if nothing had been passed over."""

    clause, fault, also = "C3.7", 15, ()

    def where(self, source: str, corpus: str, first: int, last: int) -> list[int]:
        """Ask the plan without its skips."""
        return replace(self.plan, skips=()).where(source, corpus, first, last)


class WhereForgetsLaterEpochs(Honest):
    """Answers with the first time only."""

    clause, fault, also = "C3.7", None, ()

    def where(self, source: str, corpus: str, first: int, last: int) -> list[int]:
        """Leave out what comes after the first epoch."""
        return [at for at in self.plan.where(source, corpus, first, last) if self.plan.resolve(at).epoch == 0]
