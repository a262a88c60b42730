"""What several checks ask of a trace: that samples are windows, that steps agree, that sequences are the same."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from .trace import UNKNOWN, Sample, SampleKey, Trace
from .verdict import Broken, NotApplicable


def served(trace: Trace, least: int = 1) -> list[Sample]:
    """Return the samples that count; a case too small to serve `least` of them proves nothing."""
    samples = list(trace.samples())
    if len(samples) < least:
        raise NotApplicable(f"expected a case of at least {least} samples, found {len(samples)}")
    return samples


def named(key: SampleKey) -> str:
    """Return a sample's key in words."""
    if key[0].startswith(UNKNOWN):
        return f"a sample that begins with token {key[1]} and is no window"
    return f"the sample at token {key[1]} of {key[0]}"


def expect_same_sequence(whole: Trace, other: Trace, rows: bool = False) -> None:
    """Compare two runs up to where both end: the sets of samples between common ends of steps, with `rows` also their order.

    Raises Broken at the first sample that differs.
    """
    at = {sample.position: sample for sample in other.samples()}
    ends = _common_ends(whole, other)
    expected, got = whole.keys(), other.keys()
    if got and not ends:
        raise NotApplicable("expected two runs with an end of a step in common, found none")
    _expect_steps(whole, whole.case.settings.length)
    start = 0
    for end in ends:
        before, after = expected[start:end], got[start:end]
        if rows and before != after:
            _raise_at(
                other,
                at,
                start + next(i for i, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]),
                before,
                after,
                start,
            )
        missing = Counter(before) - Counter(after)
        if missing:
            place = _surplus(before, after)
            raise Broken(
                f"{named(next(iter(missing)))} in positions {start} to {end - 1}",
                f"{named(after[place])} in its place, {sum(missing.values())} of {end - start} samples differ",
                other,
                at[start + place],
            )
        start = end
    _expect_steps(other, len(expected))
    # Where the legs' batch sizes differ, a tail shorter than a step stays unserved.
    last = other.legs[-1].leg
    if whole.legs[-1].ended and last.steps is None and len(expected) - len(got) >= last.batch_size:
        raise Broken(f"{len(expected)} samples until the run's end, as without a stop", f"{len(got)}", **_end(other, len(got)))
    # A loader that fills its last step, and does not promise otherwise, goes on by less than a step.
    if whole.legs[-1].ended and len(got) - len(expected) >= max(last.batch_size, whole.legs[-1].leg.batch_size):
        raise Broken(f"the run to end after {len(expected)} samples, as without a stop", f"{len(got)}", **_end(other, len(expected)))


def _expect_steps(trace: Trace, length: int) -> None:
    """Raise Broken where a leg that was asked for a number of steps served fewer, and a run of `length` samples had more."""
    for leg in trace.legs:
        if leg.leg.steps is None or leg.ended_early:
            continue
        asked = min(leg.leg.steps, (length - leg.start) // leg.leg.batch_size)
        # A step that a restart lost was served all the same.
        if (found := sum(step.committed for step in leg.steps)) < asked:
            position = leg.start + found * leg.leg.batch_size
            raise Broken(
                f"{asked} steps after position {leg.start}, of {length} samples",
                f"the end after {found}",
                leg=leg.number,
                step=found,
                position=position,
            )


def _end(trace: Trace, position: int) -> dict[str, Any]:
    """Return where a run of the trace's last leg is at a position, for a proof about its end."""
    leg = trace.legs[-1]
    return {"leg": leg.number, "step": max(0, position - leg.start) // leg.leg.batch_size, "position": position}


def _surplus(before: list[SampleKey], after: list[SampleKey]) -> int:
    """Return the place of the first sample that comes once more than expected: whoever had it before it is innocent."""
    left = Counter(before)
    for place, key in enumerate(after):
        left[key] -= 1
        if left[key] < 0:
            return place
    return len(after) - 1


def _raise_at(trace: Trace, at: dict[int, Sample], position: int, before: list[SampleKey], after: list[SampleKey], start: int) -> None:
    raise Broken(named(before[position - start]), named(after[position - start]), trace, at[position])


def _common_ends(*traces: Trace) -> list[int]:
    ends = [{end for _, end, _ in trace.blocks()} for trace in traces]
    return sorted(set.intersection(*ends))


def expect_peers_agree(trace: Trace) -> None:
    """Raise Broken where a process gets other arrays than the first one of its dp rank."""
    for leg, step in trace.steps():
        for layout, batches in zip(leg.leg.layouts(), step.batches, strict=True):
            first = step.batches[layout.dp_rank * layout.peers]
            for number, (mine, theirs) in enumerate(zip(batches, first, strict=True)):
                if mine.keys() != theirs.keys() or any(not np.array_equal(mine[name], theirs[name]) for name in mine):
                    raise Broken(
                        f"process {layout.rank} to get the batch of dp rank {layout.dp_rank}, as process {layout.dp_rank * layout.peers}",
                        f"other tokens, beginning {mine['inputs'].flat[0]} in place of {theirs['inputs'].flat[0]}",
                        leg=leg.number,
                        step=leg.steps.index(step),
                        rank=layout.rank,
                        micro_batch=number,
                    )


def per_source(trace: Trace) -> Iterator[tuple[str, list[tuple[Sample, SampleKey]]]]:
    """Yield each source with its samples in order of position."""
    found: dict[str, list[tuple[Sample, SampleKey]]] = {name: [] for name in trace.case.settings.sources}
    for sample in trace.samples():
        key = trace.window(sample)
        if key[0] != UNKNOWN:
            found[trace.case.source_of(key[0])].append((sample, key))
    yield from found.items()
