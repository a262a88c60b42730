"""Plans written briefly, for the cases that need one."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..blend import EARLIEST_DEADLINE
from ..plan import Plan

Json = dict[str, Any]
Sources = Mapping[str, int | Mapping[str, int]]
PhaseInBrief = tuple[int, Mapping[str, int]] | tuple[int, Mapping[str, int], str]


def plan(
    seq_len: int,
    sources: Sources,
    phases: Sequence[PhaseInBrief],
    *,
    seed: int = 1234,
    skips: Iterable[Sequence[int]] = (),
    repeated: Iterable[str] = (),
) -> Json:
    """Return a plan (formats.md, F3) over sources of so many tokens, or of corpora of so many tokens.

    A phase is (length, weights) or (length, weights, rule). The sources `repeated` are signed off for more than four epochs.
    """
    value: Json = {
        "format": "fivepoint-plan",
        "version": 1,
        "seed": seed,
        "sources": [source(name, sources[name]) for name in sorted(sources)],
        "phases": [phase(seq_len, *brief) for brief in phases],
        "skips": [list(skip) for skip in skips],
    }
    if repeated:
        value["budgets"] = {name: {"repeats_signed_off": "golden vectors"} for name in repeated}
    return value


def source(name: str, tokens: int | Mapping[str, int]) -> Json:
    """Return a source of one corpus with its own name, or of the corpora named."""
    corpora = {name: tokens} if isinstance(tokens, int) else tokens
    return {"name": name, "corpora": [corpus(*each) for each in corpora.items()], "documents": "stored", "windows": "permuted"}


def corpus(name: str, tokens: int) -> Json:
    """Return a corpus whose hashes are made of its name."""
    return {"name": name, "manifest": _sha256(f"manifest of {name}"), "content": _sha256(f"content of {name}"), "tokens": tokens}


def phase(seq_len: int, length: int, weights: Mapping[str, int], rule: str = EARLIEST_DEADLINE) -> Json:
    """Return a phase."""
    return {"length": length, "grid": seq_len, "seq_len": seq_len, "rule": rule, "weights": dict(weights)}


def opened(value: Json) -> Plan:
    """Return the plan, held to the rules and to its budgets, so that a loader can open every plan in the vectors."""
    found = Plan.from_json(value)
    found.admit()
    return found


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
