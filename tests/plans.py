"""Plans for the tests, as the JSON of formats.md, F3, with the hashes of the second implementation."""

from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from independent.corpus import Corpus
from independent.identity import sha256
from independent.run import Corpora

read = cache(Corpus)


def make_plan(
    sources: dict[str, list[Path]],
    phases: list[dict[str, Any]],
    *,
    seed: int = 1234,
    skips: Iterable[Iterable[int]] = (),
    batch_sizes: list[list[int]] | None = None,
    budgets: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a plan over the corpora in the folders; repeats are signed off for every source where no budgets are given."""
    signed_off = {"repeats_signed_off": "the tests", "repeats_in_step_signed_off": "the tests"}
    plan = {
        "format": "fivepoint-plan",
        "version": 1,
        "seed": seed,
        "sources": [source(name, sources[name]) for name in sorted(sources, key=str.encode)],
        "phases": phases,
        "skips": [list(skip) for skip in skips],
        "budgets": dict.fromkeys(sources, signed_off) if budgets is None else budgets,
        "paths": {name: [str(folder) for folder in sources[name]] for name in sources},
    }
    if batch_sizes:
        plan["batch_sizes"] = batch_sizes
    return deepcopy({key: value for key, value in plan.items() if value or key != "budgets"})


def phase(length: int, weights: dict[str, int], seq_len: int, rule: str = "earliest-deadline") -> dict[str, Any]:
    """Return a phase; sources of weight 0 are left out."""
    positive = {name: weight for name, weight in weights.items() if weight}
    return {"length": length, "grid": seq_len, "seq_len": seq_len, "rule": rule, "weights": positive}


def source(name: str, folders: list[Path]) -> dict[str, Any]:
    """Return the entry of a source that joins the corpora in the folders."""
    return {"name": name, "corpora": [pin(folder) for folder in folders], "documents": "stored", "windows": "permuted"}


@cache
def pin(folder: Path) -> dict[str, Any]:
    """Return what a plan holds of a corpus."""
    manifest = read(folder).manifest
    return {
        "name": manifest["name"],
        "manifest": sha256(manifest),
        "content": sha256([shard["sha256"] for shard in manifest["shards"]]),
        "tokens": len(read(folder).tokens),
    }


def corpora_of(plan: dict[str, Any]) -> Corpora:
    """Return the corpora of every source of a plan, read from its paths."""
    return {name: [read(Path(folder)) for folder in folders] for name, folders in plan["paths"].items()}


def length_of(plan: dict[str, Any]) -> int:
    """Return the number of positions of the run."""
    return sum(each["length"] for each in plan["phases"])
