"""What a step of a run trained on, from the plan and the run log alone: rows, documents, previews (C4.11)."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..corpus.origins import origins
from ..errors import RunLogError
from ..reference.corpus import CorpusReader
from ..reference.plan import Plan
from .layout import place
from .log_lines import Record, expect_same_past, find_step
from .samples import describe, open_corpus

PREVIEW = 24

Decode = Callable[[list[int]], str]
Key = tuple[str, str]


def replay(plan: Plan, log: Path, step: int, decoders: Callable[[CorpusReader], Decode | None] = lambda corpus: None) -> dict[str, Any]:
    """Return the rows of `step` in order of position, the documents that they touch (most tokens first), and totals per source.

    Tokens are counted over whole windows, l + 1 of them: inputs and last target. `decoders` gives, for an open corpus, what turns its
    tokens to text, None where nothing does.

    Raises RunLogError for a log that is damaged, does not name the step, or is of another past than the plan's, CorpusError for
    missing data.
    """
    record, undone = find_step(log, step)
    expect_same_past(plan, record, log)
    first = record["consumed"] - record["batch_size"]
    corpora: dict[Key, CorpusReader] = {}
    touched: dict[tuple[str, str, int], list[Any]] = {}
    rows = []
    for position in range(first, record["consumed"]):
        sample = plan.resolve(position)
        span = sample.spans[0]
        key = (sample.source, span.corpus)
        if key not in corpora:
            corpora[key] = open_corpus(plan, *key)
        numbers, begins, counts = np.unique(corpora[key].documents(span.first, span.length), return_index=True, return_counts=True)
        row = describe(sample, place(position, step, first, record["batch_size"], record["dp_size"], record["micro_batch"]))
        del row["step"]
        rows.append(row | {"documents": [{"document": int(n), "tokens": int(c)} for n, c in zip(numbers, counts, strict=True)]})
        for number, begin, count in zip(numbers.tolist(), begins.tolist(), counts.tolist(), strict=True):
            touched.setdefault((*key, number), []).append((span.first + begin, count))
    _expect_samples(record, Counter(row["source"] for row in rows), log)
    came_from = {
        key: origins(corpus.folder, [number for *name, number in touched if tuple(name) == key]) for key, corpus in corpora.items()
    }
    documents = [
        _document(key, runs, corpora[key[:2]], decoders(corpora[key[:2]]), came_from[key[:2]].get(key[2])) for key, runs in touched.items()
    ]
    documents.sort(key=lambda found: (-found["tokens"], found["source"], found["corpus"], found["document"]))
    return {**record, "undone": undone, "sources": _sources(rows, documents), "documents": documents, "rows": rows}


def _document(
    key: tuple[str, str, int], runs: list[tuple[int, int]], corpus: CorpusReader, decode: Decode | None, origin: str | None
) -> dict[str, Any]:
    first, length = min(runs)
    tokens = corpus.tokens(first, min(length, PREVIEW)).tolist()
    return {
        "source": key[0],
        "corpus": key[1],
        "document": key[2],
        **({} if origin is None else {"origin": origin}),
        "tokens": sum(count for _, count in runs),
        "windows": len(runs),
        "first_token": first,
        "preview": {"tokens": tokens} if decode is None else {"tokens": tokens, "text": decode(tokens)},
    }


def _sources(rows: list[dict[str, Any]], documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = [
        {
            "source": name,
            "samples": sum(row["source"] == name for row in rows),
            "tokens": sum(row["tokens"] for row in rows if row["source"] == name),
            "documents": sum(document["source"] == name for document in documents),
        }
        for name in {row["source"]: None for row in rows}
    ]
    return sorted(found, key=lambda each: (-each["tokens"], each["source"]))


def _expect_samples(record: Record, found: Counter[str], log: Path) -> None:
    if dict(found) != record["samples"]:
        raise RunLogError(
            f"step {record['step']} of {log}: expected samples {dict(sorted(found.items()))} of the plan, found {record['samples']}; "
            "the line was changed, restore the log from a copy"
        )
