"""Corpora of random ids, and plans over them: what the benchmarks serve."""

from pathlib import Path

import numpy as np

from fivepoint.corpus.write import CorpusWriter
from fivepoint.reference.manifest import Manifest, Tokenizer
from fivepoint.reference.plan import Plan

SEQ_LEN = 4096
VOCABULARY = 50_000


def write_corpus(folder: Path, name: str, dtype: str, tokens: int) -> None:
    """Write a corpus of random ids, documents of lognormal length."""
    choose = np.random.default_rng(list(name.encode()))
    with CorpusWriter(folder / name, name, VOCABULARY, Tokenizer("random ids", "0" * 64), dtype=dtype) as writer:
        left = tokens
        while left:
            length = min(left, int(choose.lognormal(7, 1)) + 1)
            writer.add(choose.integers(0, VOCABULARY, length))
            left -= length
        writer.finish()


def plan_of(folder: Path, names: list[str], samples: int, weights: dict[str, int] | None = None, seq_len: int = SEQ_LEN) -> Plan:
    """Return a plan over corpora in `folder`, a source each."""
    sources = []
    for name in sorted(names):
        manifest = Manifest.load(folder / name)
        corpus = {"name": name, "manifest": manifest.manifest_hash, "content": manifest.content_hash, "tokens": manifest.tokens}
        sources.append({"name": name, "corpora": [corpus], "documents": "stored", "windows": "permuted"})
    phase = {"length": samples, "grid": seq_len, "seq_len": seq_len, "rule": "earliest-deadline"}
    signed = {"repeats_signed_off": "a benchmark", "repeats_in_step_signed_off": "a benchmark"}
    value = {"format": "fivepoint-plan", "version": 1, "seed": 1, "sources": sources, "skips": []}
    phases = [phase | {"weights": weights or dict.fromkeys(names, 1)}]
    return Plan.from_json(
        value | {"phases": phases, "paths": {name: [str(folder / name)] for name in names}, "budgets": dict.fromkeys(names, signed)}
    )
