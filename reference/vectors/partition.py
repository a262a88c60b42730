"""Cases of A7: steps, ranks and micro-batches."""

from typing import Any

from .. import partition
from .case import Case

CLAUSES = ["C2.1", "C2.2", "C2.4", "C2.5", "C2.6", "C2.7"]


def results(length: int, batch_sizes: list[list[int]], dp_size: int, micro_batch: int, consumed: int) -> dict[str, Any]:
    """Return the step that begins at `consumed`, rank by rank, or that none does."""
    pairs = [(start, size) for start, size in batch_sizes]
    size = partition.batch_size_at(pairs, consumed)
    accumulation = partition.accumulation_for(size, dp_size, micro_batch)
    if consumed + size > length:
        return {"complete": True}
    step = partition.steps_before(pairs, length, consumed)
    if step is None:
        raise AssertionError(f"no step begins at {consumed}")
    ranks = [
        [[part.start, part.stop] for part in partition.micro_batches(consumed, size, dp_size, micro_batch, rank)] for rank in range(dp_size)
    ]
    return {"step": step, "batch_size": size, "accumulation": accumulation, "ranks": ranks}


def _case(
    id: str,
    comment: str,
    length: int,
    batch_sizes: list[list[int]],
    dp_size: int,
    micro_batch: int,
    consumed: int,
    refused: str = "",
    **known: Any,
) -> Case:
    inputs = {"length": length, "batch_sizes": batch_sizes, "dp_size": dp_size, "micro_batch": micro_batch, "consumed": consumed}
    return Case(f"partition-{id}", comment, inputs, refused, known)


RAMP = [[0, 4], [16, 8], [48, 16]]
MID_STEP = [[0, 8], [20, 12], [50, 4]]
CROWDED = [[0, 10], [3, 20], [7, 30], [41, 6]]
CASES = [
    _case("one-rank", "one rank reads the whole step", 100, [[0, 4]], 1, 4, 0, step=0, accumulation=1, ranks=[[[0, 4]]]),
    _case("one-sample", "one sample a step", 3, [[0, 1]], 1, 1, 2, step=2, batch_size=1, ranks=[[[2, 3]]]),
    _case(
        "two-ranks",
        "a contiguous slice each, micro-batch by micro-batch",
        100,
        [[0, 8]],
        2,
        2,
        8,
        step=1,
        batch_size=8,
        accumulation=2,
        ranks=[[[8, 10], [10, 12]], [[12, 14], [14, 16]]],
    ),
    _case("three-ranks", "a number of ranks that is no power of two", 1000, [[0, 12]], 3, 2, 120),
    _case("accumulation", "four micro-batches of one row", 100, [[0, 8]], 2, 1, 16),
    _case("eight-ranks", "the same step on eight ranks", 100, [[0, 8]], 8, 1, 16),
    _case("64-ranks", "one row a rank", 6400, [[0, 64]], 64, 1, 6336),
    _case("far", "past 2^40, where products of step and size need more than 53 bits", 1 << 48, [[0, 1024]], 4, 256, (1 << 48) - 1024),
    _case("last-whole", "the last step that fits", 100, [[0, 8]], 2, 4, 88),
    _case("tail", "four positions are left, and a step needs eight", 100, [[0, 8]], 2, 4, 96, complete=True),
    _case("end", "the end exactly", 96, [[0, 8]], 2, 4, 96, complete=True),
    _case("last-fits-exactly", "the last step ends with the run", 96, [[0, 8]], 2, 4, 88),
    _case("shorter-than-a-step", "a run that is shorter than one step", 7, [[0, 8]], 2, 4, 0, complete=True),
    _case("nine-samples", "9 samples on 4 ranks: the second step is not padded", 9, [[0, 8]], 4, 2, 8, complete=True),
    *(
        _case(f"ramp-{consumed}", "a ramp of 4, 8 and 16 that changes between steps", 100, RAMP, 2, 2, consumed)
        for consumed in (0, 12, 16, 40, 48, 80)
    ),
    _case("ramp-tail", "twelve positions are left, and a step needs 16", 108, RAMP, 2, 2, 96, complete=True),
    *(
        _case(f"mid-step-{consumed}", "a size that changes inside a step holds from the next one on", 100, MID_STEP, 2, 2, consumed)
        for consumed in (16, 24, 48, 60, 64, 96)
    ),
    *(
        _case(f"crowded-{consumed}", "two changes inside the first step: the last of them holds", 100, CROWDED, 1, 2, consumed)
        for consumed in (0, 10, 40, 70, 76, 94)
    ),
    _case("crowded-end", "the run's end in that ramp", 100, CROWDED, 1, 2, 100, complete=True),
    _case("change-past-the-end", "a change at or past the run's end never holds", 32, [[0, 8], [32, 16], [64, 4]], 2, 2, 24),
    _case("smaller-again", "a size that falls", 60, [[0, 16], [32, 2]], 2, 1, 34),
    _case("smaller-last-fits", "the smaller size uses the tail", 50, [[0, 16], [32, 2]], 2, 1, 48),
    _case("refused-10-on-4", "B = 10 on 4 ranks", 100, [[0, 10]], 4, 1, 0, "4 ranks in micro-batches of 1 do not divide 10"),
    _case(
        "refused-micro-batch",
        "B = 12 on 2 ranks in micro-batches of 4",
        100,
        [[0, 12]],
        2,
        4,
        0,
        "2 ranks in micro-batches of 4 do not divide 12",
    ),
    _case(
        "refused-later",
        "divides at first, and not from 16 on",
        100,
        [[0, 4], [16, 6]],
        2,
        2,
        16,
        "2 ranks in micro-batches of 2 do not divide 6",
    ),
]
