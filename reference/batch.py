"""What a rank trains on: micro-batches read by position, and the step that hands them out (D0; C2.6)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CorpusError, UsageError
from . import admission
from . import boundaries as bounds
from .corpus import Array, CorpusReader
from .plan import Plan
from .records import Corpus, Sample, Source


@dataclass(frozen=True)
class Batch:
    """One micro-batch of b samples of l tokens. The last four are None unless the loader was asked for them."""

    inputs: Array
    """int64 [b, l]"""
    targets: Array
    """int64 [b, l]"""
    positions: Array
    """int64 [b]: the position of each row in the run"""
    sources: Array
    """int64 [b]: the number of each row's source in `plan.sources`"""
    windows: Array
    """int64 [b]: the number of each row's window within its source"""
    document_ids: Array | None = None
    """int64 [b, l]: number of each input's document within its corpus"""
    position_ids: Array | None = None
    """int64 [b, l]"""
    loss_mask: Array | None = None
    """bool [b, l]: false where the target lies in another document"""
    cu_seqlens: Array | None = None
    """int32 [runs + 1], over the rows laid end to end"""
    max_seqlen: int | None = None


class Step:
    """One optimizer step of one rank: its micro-batches, one after the other, for one thread at a time.

    `number` counts committed steps, this one included.
    """

    def __init__(self, number: int, first: int, batch_size: int, micro_batches: list[range], read: Callable[[range], Batch]) -> None:
        """Hold the positions of the micro-batches; tokens are read when a micro-batch is asked for."""
        self.number = number
        self.first = first
        self.batch_size = batch_size
        self.accumulation = len(micro_batches)
        self._ahead = list(micro_batches)
        self._read = read

    @property
    def remaining(self) -> int:
        """Micro-batches that were not taken yet."""
        return len(self._ahead)

    def __iter__(self) -> Iterator[Batch]:
        """Return the step itself: its micro-batches can be taken once."""
        return self

    def __next__(self) -> Batch:
        """Return the next micro-batch."""
        if not self._ahead:
            raise StopIteration
        batch = self._read(self._ahead[0])
        del self._ahead[0]
        return batch


class BatchReader:
    """Reads the samples at any positions of a plan into a batch."""

    def __init__(self, plan: Plan, boundaries: str | Iterable[str] | None = None) -> None:
        """Open every corpus of the plan; `boundaries` names what a batch holds beside its tokens (`Loader`).

        Raises CorpusError for data that is missing or not the plan's, UsageError for an unknown name.
        """
        self._plan = plan
        self._boundaries = expect_kinds(boundaries)
        self._corpora = open_corpora(plan)
        self._numbers = {source.name: i for i, source in enumerate(plan.sources)}

    def read(self, positions: range) -> Batch:
        """Return the batch of the samples at `positions`, a row each, in that order."""
        samples = [self._plan.resolve(position) for position in positions]
        tokens = np.stack([self._row(sample, CorpusReader.tokens) for sample in samples])
        return Batch(
            inputs=np.ascontiguousarray(tokens[:, :-1]),
            targets=np.ascontiguousarray(tokens[:, 1:]),
            positions=np.array(positions, np.int64),
            sources=np.array([self._numbers[sample.source] for sample in samples], np.int64),
            windows=np.array([sample.window for sample in samples], np.int64),
            **self._bounds(samples),
        )

    def _row(self, sample: Sample, read: Callable[[CorpusReader, int, int], Array]) -> Array:
        return np.concatenate([read(self._corpora[sample.source, span.corpus], span.first, span.length) for span in sample.spans])

    def _bounds(self, samples: list[Sample]) -> dict[str, Any]:
        if not self._boundaries:
            return {}
        documents = np.stack([self._row(sample, CorpusReader.documents) for sample in samples])
        inputs = np.ascontiguousarray(documents[:, :-1])
        made: dict[str, Callable[[], Array]] = {
            "document_ids": lambda: inputs,
            "position_ids": lambda: bounds.position_ids(inputs),
            "loss_mask": lambda: bounds.loss_mask(documents),
            "cu_seqlens": lambda: bounds.cu_seqlens(inputs),
        }
        found: dict[str, Any] = {kind: made[kind]() for kind in self._boundaries}
        if "cu_seqlens" in found:
            found["max_seqlen"] = bounds.max_seqlen(found["cu_seqlens"])
        return found


def open_corpora(plan: Plan) -> dict[tuple[str, str], CorpusReader]:
    """Open every corpus of the plan; the key is (source, corpus). Raises CorpusError for data that is missing or is not the plan's
    (C3.6), PlanError for corpora of different tokenizers (D0.12).
    """
    opened = {(source.name, corpus.name): open_corpus(plan, source, corpus) for source in plan.sources for corpus in source.corpora}
    manifests = {source.name: [opened[source.name, corpus.name].manifest for corpus in source.corpora] for source in plan.sources}
    admission.check_tokenizers(plan, manifests)
    return opened


def open_corpus(plan: Plan, source: Source, corpus: Corpus) -> CorpusReader:
    """Open one corpus of one source of the plan, and no other; raises CorpusError as `open_corpora` does."""
    if source.name not in plan.paths:
        raise CorpusError(
            f"expected the plan to say where source {source.name!r} lies, found no paths for it; add them to the plan's file "
            "(they are in no hash)"
        )
    reader = CorpusReader(Path(plan.folder, plan.paths[source.name][source.corpora.index(corpus)]), corpus.manifest)
    # Positions are resolved by the plan's numbers: one that was changed by hand would serve other windows without a sound.
    found = Corpus(reader.manifest.name, reader.manifest.manifest_hash, reader.manifest.content_hash, reader.manifest.tokens)
    if found != corpus:
        pairs = [(field.name, getattr(corpus, field.name), getattr(found, field.name)) for field in fields(Corpus)]
        differs = [(f"{name} {planned}", f"{name} {held}") for name, planned, held in pairs if planned != held]
        expected, held = (" and ".join(side) for side in zip(*differs, strict=True))
        raise CorpusError(
            f"{reader.folder}: expected {expected}, as the plan says of corpus {corpus.name!r} of source {source.name!r}, found {held} in "
            "its manifest; compile the plan again"
        )
    return reader


def expect_kinds(asked: str | Iterable[str] | None) -> frozenset[str]:
    """Return the kinds of boundaries that were asked for; raises UsageError for an unknown one."""
    if asked is not None and not isinstance(asked, Iterable):
        raise UsageError(f"expected boundaries among {', '.join(bounds.KINDS)}, found {asked!r}")
    kinds = [asked] if isinstance(asked, str) else list(asked or ())
    if unknown := sorted((kind for kind in kinds if kind not in bounds.KINDS), key=str):
        raise UsageError(f"expected boundaries among {', '.join(bounds.KINDS)}, found {unknown[0]!r}")
    return frozenset(kinds)
