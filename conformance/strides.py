"""Cases for either stride: they are written for windows that share a token, and grow where windows share none."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle

from .case import Case
from .corpora import CorpusSpec


def fitted(case: Case, stride: str) -> Case:
    """Return the case with as many windows of the `stride` in each corpus as it was written for, and the same tail after them.

    Without that, whoever serves windows that share no token would be asked for more than an epoch of them by nearly every case.
    """
    if stride == "L":
        return case
    return replace(case, corpora=tuple(_grown(spec, case.settings.seq_len) for spec in case.corpora))


def _grown(spec: CorpusSpec, seq_len: int) -> CorpusSpec:
    windows = max(0, spec.tokens - 1) // seq_len
    more = max(0, windows - 1)
    # What lies at the end of the ids of a dtype is to stay there.
    first = None if spec.first is None else max(0, spec.first - more)
    one = len(spec.documents) == 1
    documents = (spec.tokens + more,) if one else (*spec.documents, *_like(spec.documents, more))
    return replace(spec, documents=documents, first=first)


def _like(documents: tuple[int, ...], tokens: int) -> Iterator[int]:
    """Yield the lengths of documents that hold so many tokens, as these are long."""
    for length in cycle(documents):
        if not tokens:
            return
        yield min(length, tokens)
        tokens -= min(length, tokens)
