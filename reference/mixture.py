"""How exactly a plan keeps its mixture: over the run, and on each rank (C1.1, C2.6)."""

from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from .partition import step_of
from .plan import Plan
from .resolve import Stretch

# A rank whose share of a source is off by more than a tenth of it is reported.
TOLERANCE = Fraction(1, 10)


def run_deviations(plan: Plan) -> dict[str, Fraction]:
    """Return, per source, its largest distance from the sum of its shares at any prefix of the samples taken in the run, in samples."""
    carried = [Fraction(0)] * len(plan.sources)
    worst = [Fraction(0)] * len(plan.sources)
    for stretch in plan.resolver.stretches:
        blend, taken = stretch.blend, stretch.taken
        counts = blend.counts(taken)
        for i, (low, high) in enumerate(blend.deviations):
            worst[i] = max(worst[i], carried[i] + high, -(carried[i] + low))
            carried[i] += counts[i] - Fraction(blend.weights[i] * taken, blend.period)
    return {source.name: worst[i] for i, source in enumerate(plan.sources)}


def rank_shares(plan: Plan, dp_size: int) -> list[dict[str, Any]]:
    """Return the (phase, source) whose share differs between the dp ranks, with the lowest and the highest rank.

    A periodic blend cut into equal slices can give one rank more of a source for ever: harmless for averaged gradients, not for per-
    rank losses.
    Phases shorter than a period of their blend, or in which no step begins, are left out; so are batch sizes that `dp_size` does not
    divide.
    """
    found = []
    for number, stretch in enumerate(plan.resolver.stretches):
        step = step_of(plan.batch_sizes, plan.length, stretch.start)
        if step is None or step[2] % dp_size or stretch.taken < stretch.blend.period:
            continue
        shares = _shares(stretch, step[1] - stretch.start, step[2], dp_size)
        for i, source in enumerate(plan.sources):
            expected = Fraction(stretch.blend.weights[i], stretch.blend.period)
            lowest, highest = min(shares, key=lambda row: row[i]), max(shares, key=lambda row: row[i])
            if max(expected - lowest[i], highest[i] - expected) > TOLERANCE * expected:
                found.append(
                    {
                        "dp_size": dp_size,
                        "phase": number,
                        "source": source.name,
                        "share": round(float(expected), 6),
                        "lowest": {"rank": shares.index(lowest), "share": round(float(lowest[i]), 6)},
                        "highest": {"rank": shares.index(highest), "share": round(float(highest[i]), 6)},
                    }
                )
    return found


def _shares(stretch: Stretch, offset: int, batch_size: int, dp_size: int) -> list[list[Fraction]]:
    """Return the share of each source on each rank, for steps of `batch_size` of which one begins at local position `offset`."""
    blend = stretch.blend
    # Steps visit the classes of local positions modulo gcd(period, B) in the same way every time, and within a class every residue
    # equally often.
    classes = gcd(blend.period, batch_size)
    counts, share = blend.counts_by_class(classes), batch_size // dp_size
    ranks = [np.arange(first, first + share) % classes for first in range(offset, offset + batch_size, share)]
    # Each class holds period / classes residues, and each rank visits `share` classes a step.
    parts = (blend.period // classes) * share
    return [[Fraction(int(count), parts) for count in counts[visited].sum(axis=0)] for visited in ranks]
