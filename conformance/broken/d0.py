"""Loaders that err in what a sample is: its place, its targets, its corpus, its values (D0.1 to D0.4)."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ...reference.corpus import CorpusReader
from ...reference.plan import Plan
from ...reference.records import Sample
from ..driver import Array, MicroBatch, Settings
from .honest import Honest


def moved(sample: Sample, first: int) -> Sample:
    """Return a sample of one span with its first token elsewhere."""
    return replace(sample, spans=(replace(sample.spans[0], first=first),))


class WindowsThatShareNoToken(Honest):
    """Starts a window after the last target of the one before, while it counts windows as if they shared a token."""

    clause, fault, also = "D0.1", 41, ("C1.3", "C1.8", "C2.1", "C2.3", "C2.5", "C3.3", "D0.9")
    promises = Honest.promises - {"where"}

    def resolve(self, position: int) -> Sample:
        """Return the tokens from k * (L + 1), taken round at the end of the corpus."""
        sample = super().resolve(position)
        (span,) = sample.spans
        room = self.corpora[sample.source, span.corpus].manifest.tokens - span.length + 1
        return moved(sample, (span.first + span.first // (span.length - 1)) % room)


class LastWindowDropped(Honest):
    """Takes the last full window of each corpus for an incomplete one."""

    clause, fault, also = "D0.1", 41, ("C1.3", "C1.8", "C2.1", "C2.3", "C2.5", "C3.3", "C4.5", "D0.9")
    promises = Honest.promises - {"where"}

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan with corpora that end a window earlier, where they have more than one."""
        plan = super().make_plan(corpus, settings)
        sources = tuple(
            replace(
                source,
                corpora=tuple(
                    replace(item, tokens=item.tokens - settings.seq_len) if item.tokens > 2 * settings.seq_len else item
                    for item in source.corpora
                ),
            )
            for source in plan.sources
        )
        return replace(plan, sources=sources)

    def open_corpora(self, plan: Plan) -> dict[tuple[str, str], CorpusReader]:
        """Open the corpora as they are."""
        return super().open_corpora(super().make_plan(self.corpus, self.settings))


class EndsBeforeTheLastWindow(LastWindowDropped):
    """Goes through a source once, and does not read the last window of a corpus."""

    promises = Honest.promises - {"epochs", "where", "order"}

    def over(self) -> bool:
        """Return whether the next step needs a window again."""
        if super().over():
            return True
        positions = range(self.consumed, self.consumed + self.layout.batch_size)
        return any(self.plan.resolve(position).epoch > 0 for position in positions)


class WindowsOfEachShard(Honest):
    """Cuts windows shard by shard, so that the tail of every shard is never read and each begins a new grid."""

    clause, fault, also = "D0.1", 41, ("C1.3", "D0.9")

    def resolve(self, position: int) -> Sample:
        """Return window k of those that lie in one shard, taken round where there are fewer."""
        sample = super().resolve(position)
        (span,) = sample.spans
        starts: list[int] = []
        first = 0
        for shard in self.corpora[sample.source, span.corpus].manifest.shards:
            starts += range(first, first + shard.tokens - span.length + 1, span.length - 1)
            first += shard.tokens
        k = span.first // (span.length - 1)
        return moved(sample, starts[k % len(starts)]) if starts else sample


class TargetsAreInputs(Honest):
    """Gives the inputs as targets, for a trainer that is thought to shift them."""

    clause, fault = "D0.2", 43

    def row(self, position: int) -> MicroBatch:
        """Return the row with its inputs twice."""
        row = super().row(position)
        return row | {"targets": row["inputs"]}


class LastTargetMadeUp(Honest):
    """Reads L tokens a window and fills the last target up."""

    clause, fault = "D0.2", 43

    def tokens(self, sample: Sample) -> Array:
        """Return L tokens, and the last of them again."""
        tokens = super().tokens(sample).copy()
        tokens[-1] = tokens[-2]
        return tokens


class WindowsAcrossCorpora(Honest):
    """Lays the corpora of a source end to end and cuts windows across them."""

    clause, fault, also = "D0.3", 44, ("D0.1", "D0.4", "D0.6", "D0.7", "C1.3", "C3.3")
    promises = Honest.promises - {"where"}

    def tokens(self, sample: Sample) -> Array:
        """Return the window of the joined tokens."""
        size = self.settings.seq_len
        names = self.settings.sources[sample.source]
        joined = np.concatenate(
            [reader.tokens(0, reader.manifest.tokens) for reader in (self.corpora[sample.source, name] for name in names)]
        )
        return joined[sample.window * size : sample.window * size + size + 1]


class TargetOfTheNextCorpus(Honest):
    """Reads the inputs of every full L tokens of a corpus, and the last target of the last ones wherever the file goes on."""

    clause, fault, also = "D0.3", 44, ("D0.1", "C1.3", "C3.3", "D0.9")
    promises = Honest.promises - {"where"}

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan with T // L windows for a corpus of T tokens."""
        plan = super().make_plan(corpus, settings)
        longer = (replace(source, corpora=tuple(replace(c, tokens=c.tokens + 1) for c in source.corpora)) for source in plan.sources)
        return replace(plan, sources=tuple(longer))

    def open_corpora(self, plan: Plan) -> dict[tuple[str, str], CorpusReader]:
        """Open the corpora as they are."""
        return super().open_corpora(super().make_plan(self.corpus, self.settings))

    def tokens(self, sample: Sample) -> Array:
        """Return the tokens, and token 0 of whatever comes next where the corpus ends before the last target."""
        (span,) = sample.spans
        reader = self.corpora[sample.source, span.corpus]
        if span.first + span.length <= reader.manifest.tokens:
            return super().tokens(sample)
        return np.append(reader.tokens(span.first, span.length - 1), reader.tokens(0, 1))

    def documents(self, sample: Sample) -> Array:
        """Return the documents of the tokens, the last one's for a target that has none."""
        (span,) = sample.spans
        reader = self.corpora[sample.source, span.corpus]
        if span.first + span.length <= reader.manifest.tokens:
            return super().documents(sample)
        return np.append(reader.documents(span.first, span.length - 1), reader.documents(0, 1) - 1)


class _Altered(Honest):
    """Alters the values of tokens on the way."""

    def tokens(self, sample: Sample) -> Array:
        """Return what becomes of the tokens, as int64."""
        dtype = self.corpora[sample.source, sample.spans[0].corpus].manifest.dtype
        return self.altered(super().tokens(sample), dtype).astype(np.int64)

    def altered(self, tokens: Array, dtype: str) -> Array:
        """Return what becomes of tokens that lie on disk as `dtype`."""
        raise NotImplementedError


class WrapsAtTwoBytes(_Altered):
    """Keeps ids in two bytes, whatever the corpus holds."""

    clause, fault, also = "D0.4", 51, ("D0.1", "D0.2", "D0.3")

    def altered(self, tokens: Array, dtype: str) -> Array:
        """Return the ids modulo 65,536."""
        return tokens.astype(np.uint16)


class ReadsSigned(_Altered):
    """Reads two-byte and four-byte ids as signed numbers."""

    clause, fault = "D0.4", 51

    def altered(self, tokens: Array, dtype: str) -> Array:
        """Return the upper half of the ids as negative numbers."""
        return tokens.astype(np.int16 if dtype == "uint16" else np.int32)


class OtherByteOrder(_Altered):
    """Reads two-byte ids with the high byte first, and so nothing of such a corpus can be recognised."""

    clause, fault, also = "D0.4", 51, ("D0.1", "D0.2", "D0.3", "D0.9")

    def altered(self, tokens: Array, dtype: str) -> Array:
        """Return two-byte ids with their bytes exchanged."""
        return tokens.astype(np.uint16).byteswap() if dtype == "uint16" else tokens


class ThroughFloats(_Altered):
    """Passes ids through single precision, which is exact up to 2^24."""

    clause, fault = "D0.4", 51

    def altered(self, tokens: Array, dtype: str) -> Array:
        """Return the nearest float of each id."""
        return tokens.astype(np.float32)


class DtypeOfTheDisk(Honest):
    """Hands tokens over as they lie on disk: unsigned and narrow, so that a trainer's arithmetic on them wraps."""

    clause, fault = "D0.4", 51

    def tokens(self, sample: Sample) -> Array:
        """Return the tokens in the dtype of their corpus."""
        return super().tokens(sample).astype(self.corpora[sample.source, sample.spans[0].corpus].manifest.token_dtype)
