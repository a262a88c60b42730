"""What every plan, a cut included, must be beyond its schema: one normal form, so that one decision has one hash (F3; C1.9, C1.12)."""

from collections.abc import Sequence
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING

from ..errors import PlanError
from .permutation import LARGEST
from .weights import LARGEST_LIMIT

if TYPE_CHECKING:
    from .plan import Plan


def check(plan: "Plan", where: str) -> None:
    """Raise PlanError, beginning with `where`, for the first rule that the plan breaks."""
    _sources(plan, where)
    _phases(plan, where)
    _one_collection_once(plan, where)
    _ascending(plan.skips, f"{where}: skips")
    _ascending(plan.batch_sizes, f"{where}: batch_sizes")
    length, passed_over = plan.length, sum(count for _, count in plan.skips)
    if length + passed_over > LARGEST:
        raise PlanError(f"{where}: expected at most 2^48 samples, those that skips pass over included, found {length + passed_over}")
    if plan.skips and plan.skips[-1][0] >= length:
        raise PlanError(f"{where}: expected skips before the end of the run, position {length}, found one at {plan.skips[-1][0]}")
    if plan.batch_sizes and plan.batch_sizes[0][0] != 0:
        raise PlanError(f"{where}: expected the first batch size from position 0, found it from {plan.batch_sizes[0][0]}")
    for kind, names in (("budgets", plan.budgets), ("paths", plan.paths)):
        for name in names:
            if name not in {source.name for source in plan.sources}:
                raise PlanError(f"{where}: {kind}: expected sources of the plan, found {name!r}")
    for source in plan.sources:
        if source.name in plan.paths and len(plan.paths[source.name]) != len(source.corpora):
            raise PlanError(
                f"{where}: paths of {source.name!r}: expected {len(source.corpora)}, one for each corpus, found "
                f"{len(plan.paths[source.name])}"
            )


def _sources(plan: "Plan", where: str) -> None:
    names = [source.name for source in plan.sources]
    for first, second in pairwise(names):
        if first == second:
            raise PlanError(f"{where}: expected each source once, found {first!r} twice")
        # Code points sort as UTF-8 bytes do.
        if first > second:
            raise PlanError(f"{where}: expected sources sorted by name, found {second!r} after {first!r}")
    for source in plan.sources:
        corpora = [corpus.name for corpus in source.corpora]
        if len(set(corpora)) < len(corpora):
            raise PlanError(
                f"{where}: expected corpora of source {source.name!r} with different names, found {corpora}; prepare one again "
                "under another name"
            )


def _phases(plan: "Plan", where: str) -> None:
    known = {source.name: source for source in plan.sources}
    unused = set(known)
    for number, phase in enumerate(plan.phases):
        here = f"{where}: phase {number}"
        unknown = sorted(set(phase.weights) - set(known))
        if unknown:
            raise PlanError(f"{here}: expected weights of sources of the plan, found {unknown[0]!r}")
        if gcd(*phase.weights.values()) != 1:
            raise PlanError(f"{here}: expected weights without a common divisor, found {phase.weights}")
        if sum(phase.weights.values()) > LARGEST_LIMIT:
            raise PlanError(f"{here}: expected weights that sum to at most {LARGEST_LIMIT}, found {sum(phase.weights.values())}")
        if not phase.seq_len == phase.grid == plan.phases[0].grid:
            raise PlanError(
                f"{here}: expected seq_len and grid to be {plan.phases[0].grid} as in the first phase, "
                f"found {phase.seq_len} and {phase.grid}; this version serves one sequence length"
            )
        for name in phase.weights:
            if known[name].window_count(phase.grid) < 1:
                tokens = ", ".join(str(corpus.tokens) for corpus in known[name].corpora)
                raise PlanError(
                    f"{here}: expected source {name!r} to hold a window of {phase.grid + 1} tokens, found corpora of {tokens} "
                    "tokens; take it out"
                )
            if known[name].window_count(phase.grid) > LARGEST:
                raise PlanError(
                    f"{here}: expected source {name!r} to hold at most 2^48 windows, found {known[name].window_count(phase.grid)}"
                )
        unused -= set(phase.weights)
    if unused:
        raise PlanError(
            f"{where}: expected every source to have a positive weight in some phase, found none for {min(unused)!r}; give it one "
            "or take it out"
        )


def _one_collection_once(plan: "Plan", where: str) -> None:
    """Corpora with one content hash are one collection, whatever they are called (C1.9)."""
    holders = {source.name: {corpus.content: corpus.name for corpus in source.corpora} for source in plan.sources}
    for source in plan.sources:
        if len(holders[source.name]) < len(source.corpora):
            contents = [corpus.content for corpus in source.corpora]
            twins = [corpus.name for corpus in source.corpora if contents.count(corpus.content) > 1]
            raise PlanError(
                f"{where}: source {source.name!r} holds one corpus twice, as {twins[0]!r} and {twins[1]!r}; take one of them out"
            )
    for number, phase in enumerate(plan.phases):
        seen: dict[str, str] = {}
        for name in sorted(phase.weights):
            for content, corpus in holders[name].items():
                if content in seen:
                    raise PlanError(
                        f"{where}: phase {number} weighs one corpus twice, {corpus!r} of source {name!r} is in {seen[content]}; "
                        "take one of them out"
                    )
                seen[content] = f"source {name!r}"


def _ascending(pairs: Sequence[tuple[int, int]], where: str) -> None:
    for at, count in pairs:
        if count < 1:
            raise PlanError(f"{where}: expected a count of at least 1, found {count} at {at}")
    for (first, _), (second, _) in pairwise(pairs):
        if first >= second:
            raise PlanError(f"{where}: expected strictly ascending positions, found {second} after {first}")
