"""A whole run as a list (A5): positions are walked one by one, and each takes the next sample off its source."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from independent.blend import turns
from independent.corpus import Corpus
from independent.permutation import order, word

Corpora = dict[str, list[Corpus]]


@dataclass(frozen=True)
class Sample:
    """What a position serves: `window` counts within the source, `first` is the first token within the corpus."""

    source: str
    epoch: int
    offset: int
    window: int
    corpus: str
    first: int
    tokens: tuple[int, ...]


def walk(plan: dict[str, Any], corpora: Corpora) -> list[Sample]:
    """Return the sample of every position of the run, in order."""
    return [sample for sample, served in taken(plan, corpora) if served]


def taken(plan: dict[str, Any], corpora: Corpora) -> Iterator[tuple[Sample, bool]]:
    """Yield every sample that the run takes from its sources, and whether it is served or passed over."""
    names = sorted((source["name"] for source in plan["sources"]), key=str.encode)
    skips = dict(plan["skips"])
    drawn: dict[str, Iterator[Sample]] = {}
    position = 0
    for phase in plan["phases"]:
        for name in phase["weights"]:
            drawn.setdefault(name, draws(name, corpora[name], phase["grid"], plan["seed"]))
        schedule = turns([phase["weights"].get(name, 0) for name in names], phase["rule"])
        for _ in range(phase["length"]):
            for _ in range(skips.get(position, 0)):
                yield next(drawn[names[next(schedule)]]), False
            yield next(drawn[names[next(schedule)]]), True
            position += 1


def draws(name: str, corpora: list[Corpus], seq_len: int, seed: int) -> Iterator[Sample]:
    """Yield the samples of a source draw by draw, epoch after epoch, for ever."""
    shelf = [(corpus.name, k * seq_len, tokens) for corpus in corpora for k, tokens in enumerate(corpus.windows(seq_len))]
    epoch = 0
    while True:
        for offset, window in enumerate(order(len(shelf), seed, word(name), epoch)):
            corpus, first, tokens = shelf[window]
            yield Sample(name, epoch, offset, window, corpus, first, tuple(tokens))
        epoch += 1


def where(run: list[Sample], source: str, corpus: str, first: int, last: int) -> list[int]:
    """Return every position that serves one of the tokens first ... last of a corpus (A6), by looking at each."""
    wanted = set(range(first, last + 1))
    return [
        position
        for position, sample in enumerate(run)
        if (sample.source, sample.corpus) == (source, corpus) and wanted & set(range(sample.first, sample.first + len(sample.tokens)))
    ]
