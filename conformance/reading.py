"""Reads cases that were written down, by the suite or by hand: what is none is one sentence."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .case import INSIDE, KILL, SAVE, Case, Leg
from .driver import Settings

MOST_PROCESSES = 4096
MOST_TOKENS = 1 << 32


def read_case(path: Path) -> Case:
    """Return the case in a file that a report wrote; raises UsageError."""
    try:
        return case_from(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as reason:
        raise UsageError(f"expected a case as the suite writes it at {path}, found none: {_short(reason)}") from reason


def case_from(value: Any) -> Case:
    """Return the case that a JSON value holds; raises ValueError, with the first thing in it that no case has."""
    if not isinstance(value, dict):
        raise ValueError(f"expected an object with corpora, settings and legs, found {str(value)[:60]}")
    try:
        case = Case.from_value(value)
        wrong = next(_wrong(case), None)
    except KeyError as reason:
        raise ValueError(f"expected a field {reason}") from reason
    except (TypeError, ValueError, AttributeError, OverflowError, ZeroDivisionError, RecursionError) as reason:
        raise ValueError(str(reason)) from reason
    if wrong:
        raise ValueError(f"expected {wrong}")
    return case


def _wrong(case: Case) -> Iterator[str]:
    """Yield what a case has to have, and this one has not."""
    if not case.corpora:
        yield "one corpus or more"
    for spec in case.corpora:
        if not isinstance(spec.name, str) or spec.name in ("", ".", "..") or "/" in spec.name or "\0" in spec.name:
            yield f"a name that a folder can have for each corpus, found {str(spec.name)[:60]!r}"
        if not all(_counts(length) for length in spec.documents):
            yield f"documents of one token or more in corpus {spec.name}"
        elif spec.tokens > MOST_TOKENS:
            yield f"at most {MOST_TOKENS} tokens in corpus {spec.name}, found {spec.tokens}"
        if not (_counts(spec.shard_tokens) and spec.dtype in ("uint16", "uint32")):
            yield f"shards of one token or more, of uint16 or uint32, in corpus {spec.name}"
        if not all(number is None or _counts(number, 0) for number in (spec.first, spec.eod)):
            yield f"whole numbers, first and eod, in corpus {spec.name}"
    yield from _wrong_settings(case.settings, {spec.name for spec in case.corpora})
    if not case.legs:
        yield "one leg or more"
    for leg in case.legs:
        yield from _wrong_leg(leg)


def _wrong_settings(settings: Settings, corpora: set[str]) -> Iterator[str]:
    if not _counts(settings.seed, 0):
        yield f"a seed of 0 or more, found {settings.seed!r}"
    if not _counts(settings.seq_len):
        yield f"a seq_len of 1 or more, found {settings.seq_len!r}"
    if not settings.phases or not settings.sources:
        yield "one source and one phase or more"
    for name, held in settings.sources.items():
        if not isinstance(held, list) or not held or not corpora.issuperset(held):
            yield f"corpora of the case in source {name}, found {held!r}"
    for phase in settings.phases:
        if not _counts(phase.length):
            yield f"phases of 1 sample or more, found {phase.length!r}"
        weights = [Fraction(weight) if isinstance(weight, str) else Fraction(-1) for weight in phase.weights.values()]
        if min(weights, default=-1) < 0 or not any(weights):
            yield f"weights that are decimals as text, and not all zero, found {phase.weights}"
        if not settings.sources.keys() >= phase.weights.keys():
            yield f"weights of the sources, found {', '.join(map(str, phase.weights))}"
    if not all(_counts(at, 0) and _counts(count) for at, count in settings.skips):
        yield f"skips of 1 sample or more at a position, found {settings.skips}"
    if settings.batch_size is not None and not _counts(settings.batch_size):
        yield f"a batch size of 1 or more, found {settings.batch_size!r}"


def _wrong_leg(leg: Leg) -> Iterator[str]:
    for name in ("dp_size", "micro_batch", "accumulation", "tp", "pp", "cp"):
        if not _counts(getattr(leg, name)):
            yield f"{name} of 1 or more, found {getattr(leg, name)!r}"
    if leg.dp_size * leg.tp * leg.pp * leg.cp > MOST_PROCESSES:
        yield f"at most {MOST_PROCESSES} processes, found {leg.dp_size * leg.tp * leg.pp * leg.cp}"
    for name in ("ahead", "workers"):
        if not _counts(getattr(leg, name), 0):
            yield f"{name} of 0 or more, found {getattr(leg, name)!r}"
    if not all(number is None or _counts(number, 0) for number in (leg.steps, leg.state_of)):
        yield f"whole numbers or null, steps and state_of, found {leg.steps!r} and {leg.state_of!r}"
    if leg.stop not in (SAVE, INSIDE, KILL):
        yield f"a stop of {SAVE}, {INSIDE} or {KILL}, found {leg.stop!r}"


def _counts(number: Any, least: int = 1) -> bool:
    return type(number) is int and least <= number < 1 << 64


def _short(reason: Exception) -> str:
    return str(reason) if len(str(reason)) <= 200 else f"{str(reason)[:197]}..."
