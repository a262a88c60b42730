"""What stands at a position, in words for people and machines."""

from typing import Any

from ..errors import RangeError
from ..reference import batch
from ..reference.corpus import CorpusReader
from ..reference.plan import Plan
from ..reference.records import Sample
from .layout import Place


def describe(sample: Sample, place: Place | None) -> dict[str, Any]:
    """Return a sample and, where it is known, the step and row that serve it, as JSON values; `tokens` counts inputs and last target."""
    span = sample.spans[0]
    return {
        "position": sample.position,
        **(place.to_json() if place else {}),
        "phase": sample.phase,
        "source": sample.source,
        "corpus": span.corpus,
        "epoch": sample.epoch,
        "offset": sample.offset,
        "window": sample.window,
        "first_token": span.first,
        "tokens": span.length,
    }


def the_corpus(plan: Plan, source: str, corpus: str | None) -> str:
    """Return `corpus`, or the only one of `source` where none is given; raises RangeError for an unknown source, or several corpora."""
    sources = {item.name: [corpus.name for corpus in item.corpora] for item in plan.sources}
    if source not in sources:
        raise RangeError(f"expected a source of the plan ({', '.join(sources)}), found {source!r}")
    if corpus is None and len(sources[source]) > 1:
        raise RangeError(
            f"expected one of the corpora of source {source!r} ({', '.join(sources[source])}), found none; name it with --corpus"
        )
    if corpus is not None and corpus not in sources[source]:
        raise RangeError(f"expected a corpus of source {source!r} ({', '.join(sources[source])}), found {corpus!r}")
    return corpus or sources[source][0]


def open_corpus(plan: Plan, source: str, corpus: str) -> CorpusReader:
    """Open one corpus of the plan by its names, and no other; raises CorpusError where it is missing or not the plan's."""
    found = next(item for item in plan.sources if item.name == source)
    return batch.open_corpus(plan, found, next(item for item in found.corpora if item.name == corpus))
