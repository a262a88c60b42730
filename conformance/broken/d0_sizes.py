"""Loaders that read data as the first corpus, the first shard or small data would have it (D0.1, D0.4)."""

from itertools import accumulate

import numpy as np

from ...reference.records import Sample
from ..driver import Array
from .d0 import moved
from .honest import Honest


class DtypeOfTheFirstCorpus(Honest):
    """Reads all corpora of a run with the dtype of the first."""

    clause, fault, also = "D0.4", 51, ()

    def tokens(self, sample: Sample) -> Array:
        """Return what the bytes of the tokens are in that dtype."""
        tokens, (span,) = super().tokens(sample), sample.spans
        first, own = next(iter(self.corpora.values())).manifest.dtype, self.corpora[sample.source, span.corpus].manifest.dtype
        return tokens if own == first else np.resize(_as(tokens, own, first), len(tokens))


def _as(tokens: Array, own: str, other: str) -> Array:
    data = tokens.astype(own).tobytes()
    return np.frombuffer(data[: len(data) // 4 * 4], other).astype(np.int64)


class OffsetsOf16Bits(Honest):
    """Keeps token offsets in two bytes."""

    clause, fault, also = "D0.1", None, ()

    def resolve(self, position: int) -> Sample:
        """Return the window whose offset was cut to two bytes."""
        sample = super().resolve(position)
        return moved(sample, sample.spans[0].first % 65_536)


class _Shards(Honest):
    """Reads one token too far in the shard after the one in which a window begins."""

    def tokens(self, sample: Sample) -> Array:
        """Return the tokens, those after an edge one further on."""
        tokens, (span,) = super().tokens(sample).copy(), sample.spans
        shards = self.corpora[sample.source, span.corpus].manifest.shards
        if self.errs(span.corpus, len(shards)):
            for edge in accumulate(shard.tokens for shard in shards[:-1]):
                if span.first < edge < span.first + span.length:
                    tokens[edge - span.first :] += 1
        return tokens

    def errs(self, corpus: str, shards: int) -> bool:
        """Return whether it does so in a corpus of so many shards."""
        raise NotImplementedError


class TwoShardsExactly(_Shards):
    """Takes the second shard for one that has another before it, where it is the last as well."""

    clause, fault, also = "D0.1", 41, ("D0.2", "D0.3")

    def errs(self, corpus: str, shards: int) -> bool:
        """Return whether there are two."""
        return shards == 2


class ShardsOfTheFirstCorpus(_Shards):
    """Looks for the edges of shards where the first corpus of the run has them."""

    clause, fault, also = "D0.3", None, ()

    def errs(self, corpus: str, shards: int) -> bool:
        """Return whether it is another corpus."""
        return corpus != min(self.settings.sources[min(self.settings.sources)])
