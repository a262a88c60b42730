"""Golden vectors by file and case, and what the reference makes of a case by the doors that its users take."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from corpora import Serial, write_corpus

from fivepoint import spec
from fivepoint.errors import FivepointError, PlanError
from fivepoint.reference import boundaries, partition
from fivepoint.reference.blend import Blend
from fivepoint.reference.canonical import canonical, digest, read_json
from fivepoint.reference.corpus import CorpusReader
from fivepoint.reference.permutation import Permutation
from fivepoint.reference.plan import Plan
from fivepoint.reference.weights import integer_weights, parse_decimal

Json = dict[str, Any]
LARGEST_SEARCH = 1000
INPUTS = {
    "permutation": ("seed", "key", "n", "x"),
    "weights": ("decimals", "limit", "length"),
    "blend": ("weights", "rule", "q"),
    "resolve": ("plan", "positions"),
    "skips": ("plan", "positions"),
    "where": ("plan", "source", "corpus", "first", "last"),
    "partition": ("length", "batch_sizes", "dp_size", "micro_batch", "consumed"),
    "boundaries": ("documents", "seq_len", "rows"),
    "canonical": ("value", "text"),
    "plan_hash": ("plan",),
    "prefix_hash": ("plan", "consumed"),
}


def cases(of: str) -> list[Json]:
    """Return the cases of a file."""
    return spec.vectors(of)["cases"]


def everything() -> Iterator[tuple[str, Json]]:
    """Yield (file, case) for every case there is."""
    for of in INPUTS:
        for case in cases(of):
            yield of, case


def inputs(of: str, case: Json) -> Json:
    """Return the inputs of a case."""
    return {name: case[name] for name in INPUTS[of] if name in case}


def results(of: str, case: Json) -> Json:
    """Return what a case must give."""
    return {name: value for name, value in case.items() if name not in (*INPUTS[of], "id", "comment")}


def resolved(run: Plan, phase: int, source: int, corpus: int, epoch: int, offset: int, window: int, first: int) -> Json:
    """Return a sample as the vectors write it, from what csrc says of it, which counts phases, sources and corpora."""
    span = [run.sources[source].corpora[corpus].name, first, run.phases[phase].grid + 1]
    return {"source": run.sources[source].name, "epoch": epoch, "offset": offset, "window": window, "part": 0, "spans": [span]}


class Reference:
    """Recomputes cases with the reference; plans and corpora are read from files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count()

    def outcome(self, of: str, case: Json) -> Json:
        """Return the results of a case, or `refused`: True."""
        compute: Callable[..., Json] = getattr(self, of)
        try:
            return compute(**inputs(of, case))
        except (FivepointError, ValueError, TypeError):
            return {"refused": True}

    def permutation(self, seed: int, key: list[int], n: int, x: list[int]) -> Json:
        permutation = Permutation(n, seed, *key)
        y = [permutation(each) for each in x]
        assert [permutation.inverse(each) for each in y] == x
        return {"y": y}

    def weights(self, decimals: dict[str, str], limit: int, length: int) -> Json:
        weights = {name: parse_decimal(text, name) for name, text in decimals.items()}
        return {"weights": integer_weights(weights, length, "a phase", limit)}

    def blend(self, weights: list[int], rule: str, q: list[int]) -> Json:
        blend = Blend(weights, rule)
        pairs = [blend(each) for each in q]
        assert [blend.position(source, draw) for source, draw in pairs] == q
        for each, (source, draw) in zip(q, pairs, strict=True):
            assert blend.counts(each)[source] == draw
        worst = blend.worst_deviation
        return {
            "source": [source for source, _ in pairs],
            "draw": [draw for _, draw in pairs],
            "worst_deviation": [worst.numerator, worst.denominator],
        }

    def resolve(self, plan: Json, positions: list[int]) -> Json:
        run = self._plan(plan)
        found = []
        for position in positions:
            sample = run.resolve(position)
            spans = [[span.corpus, span.first, span.length] for span in sample.spans]
            fields = {name: getattr(sample, name) for name in ("source", "epoch", "offset", "window", "part")}
            found.append({**fields, "spans": spans})
            if run.length <= LARGEST_SEARCH:
                for corpus, first, length in spans:
                    assert position in run.where(sample.source, corpus, first, first + length - 1)
        return {"samples": found}

    skips = resolve

    def where(self, plan: Json, source: str, corpus: str, first: int, last: int) -> Json:
        return {"positions": self._plan(plan).where(source, corpus, first, last)}

    def partition(self, length: int, batch_sizes: list[list[int]], dp_size: int, micro_batch: int, consumed: int) -> Json:
        pairs = [(start, size) for start, size in batch_sizes]
        accumulation = partition.accumulation_for(partition.batch_size_at(pairs, consumed), dp_size, micro_batch)
        found = partition.step_of(pairs, length, consumed) if consumed < length else None
        if found is None:
            steps, left = partition.step_count(pairs, length)
            assert (partition.steps_before(pairs, length, consumed), consumed) == (steps, length - left)
            return {"complete": True}
        step, first, size = found
        assert first == consumed
        ranks = [partition.micro_batches(consumed, size, dp_size, micro_batch, rank) for rank in range(dp_size)]
        served = [position for rank in ranks for part in rank for position in part]
        assert served == list(range(consumed, consumed + size))
        parts = [[[part.start, part.stop] for part in rank] for rank in ranks]
        return {"step": step, "batch_size": size, "accumulation": accumulation, "ranks": parts}

    def boundaries(self, documents: list[int], seq_len: int, rows: list[int]) -> Json:
        # Small shards, so that numbers of documents count on from one to the next.
        folder = write_corpus(self._file("corpus"), Serial().documents(documents), shard_bytes=16)
        reader = CorpusReader(folder)
        windows = boundaries.np.stack([reader.documents(first, seq_len + 1) for first in rows])
        bounds = boundaries.cu_seqlens(windows[:, :-1])
        return {
            "document_ids": windows[:, :-1].tolist(),
            "position_ids": boundaries.position_ids(windows[:, :-1]).tolist(),
            "loss_mask": boundaries.loss_mask(windows).tolist(),
            "cu_seqlens": bounds.tolist(),
            "max_seqlen": boundaries.max_seqlen(bounds),
        }

    def canonical(self, value: Any = None, text: str | None = None) -> Json:
        path = self._file("value.json")
        path.write_bytes((json.dumps(value) if text is None else text).encode("utf-8"))
        found = read_json(path, PlanError)
        return {"canonical": canonical(found).decode("utf-8"), "sha256": digest(found)}

    def plan_hash(self, plan: Json) -> Json:
        return {"plan_hash": self._plan(plan).plan_hash}

    def prefix_hash(self, plan: Json, consumed: int) -> Json:
        cut = self._plan(plan).cut(consumed)
        return {"cut": canonical(cut.to_json()).decode("utf-8"), "prefix_hash": cut.plan_hash}

    def _plan(self, plan: Json) -> Plan:
        path = self._file("plan.json")
        path.write_text(json.dumps(plan), encoding="utf-8")
        return Plan.load(path)

    def _file(self, name: str) -> Path:
        return self._folder / f"{next(self._numbers)}-{name}"
