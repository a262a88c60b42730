"""Hypothesis strategy over plans: sources, unions, phases, both rules, skips, and every run past the second epoch of three sources."""

from itertools import accumulate
from math import gcd
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from independent.run import taken
from plans import corpora_of, length_of, make_plan, phase, read

NAMES = ["web", "Web", "web2", "ébène", "日本", "a code", "~"]
RULES = st.sampled_from(["earliest-deadline", "furthest-behind"])
LONGEST = 1500


@st.composite
def plans(draw: st.DrawFn, pool: list[Path]) -> dict[str, Any]:
    """Return a plan of 3 to 5 sources, of which at least three are passed through once and begun again."""
    seq_len = draw(st.sampled_from([3, 4, 5, 8]))
    sources = draw(source_folders(pool, seq_len))
    names = sorted(sources)
    parts = draw(st.lists(st.lists(st.sampled_from(names), min_size=1, unique=True), max_size=3))
    phases = [
        phase(draw(st.integers(1, 50)), draw(weights(part, st.integers(1, 6) | st.integers(1, 99))), seq_len, draw(RULES)) for part in parts
    ]
    phases.append(phase(LONGEST, draw(weights(names, st.integers(1, 3))), seq_len, draw(RULES)))
    seed = draw(st.integers(0, 2**64 - 1))
    plan = make_plan(sources, phases, seed=seed)
    before = length_of(plan) - LONGEST
    phases[-1]["length"] = max(1, second_epochs(plan) - before) + draw(st.integers(0, 60))
    length = before + phases[-1]["length"]
    borders = list(accumulate([0, *(part["length"] for part in phases[:-1])]))
    skips = draw(st.dictionaries(st.integers(0, length - 1) | st.sampled_from(borders), st.integers(1, 9), max_size=3))
    batch_sizes = draw(st.none() | st.just([[0, 12]]) | ramps(length))
    return make_plan(sources, phases, seed=seed, skips=sorted(skips.items()), batch_sizes=batch_sizes)


@st.composite
def source_folders(draw: st.DrawFn, pool: list[Path], seq_len: int) -> dict[str, list[Path]]:
    """Return 3 to 5 names, each with one to three corpora that hold a window together."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=3, max_size=5, unique=True))
    free = draw(st.permutations(pool))
    sources = {}
    for name in names:
        size = draw(st.integers(1, 3))
        sources[name], free = free[:size], free[size:]
        while not any(read(folder).windows(seq_len) for folder in sources[name]):
            sources[name].append(free.pop())
    return sources


@st.composite
def weights(draw: st.DrawFn, names: list[str], numbers: st.SearchStrategy[int]) -> dict[str, int]:
    """Return a positive weight for each name, without a common divisor."""
    drawn = {name: draw(numbers) for name in names}
    divisor = gcd(*drawn.values())
    return {name: weight // divisor for name, weight in drawn.items()}


@st.composite
def ramps(draw: st.DrawFn, length: int) -> list[list[int]]:
    """Return batch sizes that change at positions of no particular kind; 12 divides each."""
    starts = draw(st.lists(st.integers(1, length), max_size=3, unique=True))
    return [[start, draw(st.sampled_from([12, 24, 36]))] for start in [0, *sorted(starts)]]


def second_epochs(plan: dict[str, Any]) -> int:
    """Return the first length of the run at which every source was drawn, and three are in their second epoch."""
    epochs: dict[str, int] = {}
    for length, (sample, _) in enumerate(taken(plan, corpora_of(plan)), start=1):
        epochs[sample.source] = sample.epoch
        if len(epochs) == len(plan["sources"]) and sum(epoch > 0 for epoch in epochs.values()) >= 3:
            return length
    raise AssertionError(f"fewer than three sources begin a second epoch in {length_of(plan)} positions")
