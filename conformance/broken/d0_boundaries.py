"""Loaders that err in where documents begin (D0.5 to D0.9)."""

from itertools import pairwise

import numpy as np

from ...reference.corpus import CorpusReader
from ...reference.records import Sample
from ..driver import Array, MicroBatch
from .honest import Honest


def reader_of(loader: Honest, sample: Sample) -> CorpusReader:
    """Return the corpus of a sample."""
    return loader.corpora[sample.source, sample.spans[0].corpus]


class ScansForEod(Honest):
    """Begins a document after each token with the declared end-of-document id, and looks into the index only where none is declared."""

    clause, fault, also = "D0.5", 45, ("D0.7",)

    def documents(self, sample: Sample) -> Array:
        """Return how many such ids stand before each token."""
        eod = reader_of(self, sample).manifest.eod_id
        if eod is None:
            return super().documents(sample)
        tokens = super().tokens(sample)
        return np.concatenate([[0], np.cumsum(tokens[:-1] == eod)])


class ScansForEodToo(Honest):
    """Begins a document where the index says, and after each token with the declared end-of-document id as well."""

    clause, fault, also = "D0.5", 45, ("D0.7",)

    def documents(self, sample: Sample) -> Array:
        """Return the documents of the index, counted on at each such id."""
        ids = super().tokens(sample)[:-1] == reader_of(self, sample).manifest.eod_id
        found: Array = super().documents(sample) + np.concatenate([[0], np.cumsum(ids)])
        return found


class PositionsNeverRestart(Honest):
    """Counts position ids through the whole row."""

    clause, fault, also = "D0.6", 46, ("D0.5", "D0.9")

    def bounds(self, tokens: Array, documents: Array) -> MicroBatch:
        """Return 0, 1, 2, ... as position ids."""
        return super().bounds(tokens, documents) | {"position_ids": np.arange(len(tokens) - 1)[None]}


class PositionsRestartOneLate(Honest):
    """Restarts position ids after the first token of a document."""

    clause, fault, also = "D0.6", 46, ("D0.5", "D0.9")

    def bounds(self, tokens: Array, documents: Array) -> MicroBatch:
        """Return the position ids of documents that begin one token later."""
        late = np.concatenate([documents[:1], documents[:-1]])
        return super().bounds(tokens, documents) | {"position_ids": super().bounds(tokens, late)["position_ids"]}


class LossAcrossDocuments(Honest):
    """Masks no loss."""

    clause, fault, also = "D0.7", 47, ("D0.9",)

    def bounds(self, tokens: Array, documents: Array) -> MicroBatch:
        """Return a mask that is true throughout."""
        return super().bounds(tokens, documents) | {"loss_mask": np.ones((1, len(tokens) - 1), bool)}


class MasksOneLate(Honest):
    """Masks the first token of a document where it is the input, not where it is the target."""

    clause, fault, also = "D0.7", 47, ("D0.9",)

    def bounds(self, tokens: Array, documents: Array) -> MicroBatch:
        """Return the mask moved by one."""
        mask = super().bounds(tokens, documents)["loss_mask"]
        return super().bounds(tokens, documents) | {"loss_mask": np.concatenate([np.ones((1, 1), bool), mask[:, :-1]], axis=1)}


class MasksThePadId(Honest):
    """Takes the loss of every target with the id that ends documents, since padding has that id as well."""

    clause, fault = "D0.7", 49

    def row(self, position: int) -> MicroBatch:
        """Return the row with such targets masked."""
        row, eod = super().row(position), reader_of(self, self.resolve(position)).manifest.eod_id
        return row | {"loss_mask": row["loss_mask"] & (row["targets"] != eod)} if "loss_mask" in row else row


class AttentionOverTheRow(Honest):
    """Gives every row one sequence, so that attention sees the documents before."""

    clause, fault, also = "D0.8", 48, ("D0.5", "D0.9")

    def bounds(self, tokens: Array, documents: Array) -> MicroBatch:
        """Return the ends of the row alone."""
        return super().bounds(tokens, documents) | {"cu_seqlens": np.array([0, len(tokens) - 1], np.int32)}


class SequencesAcrossRows(Honest):
    """Begins no sequence at the first token of a row but the first."""

    clause, fault, also = "D0.8", 48, ("D0.5", "D0.9")

    @staticmethod
    def joined(name: str, rows: list[Array]) -> Array:
        """Lay the rows together without the bounds between them."""
        whole = Honest.joined(name, rows)
        if name != "cu_seqlens":
            return whole
        length = int(rows[0][-1])
        return np.array([bound for bound in whole if bound % length or bound in (0, whole[-1])], np.int32)


class BoundForEmptyDocuments(Honest):
    """Gives a document of length 0 a sequence of its own, with no token in it."""

    clause, fault = "D0.9", 50

    def bounds(self, tokens: Array, documents: Array) -> MicroBatch:
        """Repeat a bound where numbers of documents are left out."""
        inputs = documents[:-1]
        repeated = [t for t, (before, after) in enumerate(pairwise(inputs), 1) for _ in range(int(after - before))]
        return super().bounds(tokens, documents) | {"cu_seqlens": np.array([0, *repeated, len(inputs)], np.int32)}


class LastTargetAlwaysCounts(Honest):
    """Looks for documents among the inputs only, and so keeps the loss of a last target that begins one."""

    clause, fault, also = "D0.9", 50, ("D0.7",)

    def bounds(self, tokens: Array, documents: Array) -> MicroBatch:
        """Return a mask whose last entry is true."""
        mask = super().bounds(tokens, documents)["loss_mask"].copy()
        mask[:, -1] = True
        return super().bounds(tokens, documents) | {"loss_mask": mask}


class SingleTokensJoined(Honest):
    """Counts a document of one token with the one that follows it."""

    clause, fault = "D0.9", 50

    def documents(self, sample: Sample) -> Array:
        """Return the numbers of the documents, those of one token counted on."""
        reader = reader_of(self, sample)
        return np.array([number + (reader.document(int(number))[1] == 1) for number in super().documents(sample)])


class SingleTokensLeftOut(Honest):
    """Leaves documents of one token out, as too short to learn from."""

    clause, fault = "D0.9", 50

    def tokens(self, sample: Sample) -> Array:
        """Return the next tokens of longer documents in place of those left out, and at the corpus' end the ones before."""
        reader, (span,) = reader_of(self, sample), sample.spans
        documents = reader.documents(0, reader.manifest.tokens)
        kept = [y for y in range(span.first, len(documents)) if reader.document(int(documents[y]))[1] != 1]
        if len(kept) < span.length:
            return super().tokens(sample)
        return np.concatenate([reader.tokens(y, 1) for y in kept[: span.length]])
