"""What a plan means in numbers: coverage, epochs, deviations, what aliases between ranks and what is never read (C1, C2)."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from . import admission
from .mixture import rank_shares, run_deviations
from .partition import step_count, step_of
from .plan import Plan
from .resolve import Stretch

MOST_EPOCH_ENDS = 100_000


def summarize(plan: Plan, dp_sizes: Iterable[int] = ()) -> dict[str, Any]:
    """Return the plan's figures as JSON values: counts are integers, shares and epochs are rounded for reading.

    With batch sizes in the plan, `dp_sizes` adds the sources whose share differs between dp ranks.
    """
    steps, unserved = step_count(plan.batch_sizes, plan.length) if plan.batch_sizes else (None, None)
    found: dict[str, Any] = {
        "plan_hash": plan.plan_hash,
        "seed": plan.seed,
        "samples": plan.length,
        "tokens": sum(phase.length * phase.seq_len for phase in plan.phases),
        "sources": [_source(plan, number) for number in range(len(plan.sources))],
        "phases": [_phase(plan, number) for number in range(len(plan.phases))],
        "run_deviation": {name: _rounded(deviation) for name, deviation in run_deviations(plan).items()},
    }
    if steps is not None:
        found["batch_sizes"] = [_batch_size(plan, start, size) for start, size in plan.batch_sizes]
        found |= {"steps": steps, "unserved": unserved, "steps_with_epoch_end": _steps_with_epoch_end(plan)}
        found["ranks"] = [entry for dp_size in dp_sizes for entry in rank_shares(plan, dp_size)]
    return found


def _source(plan: Plan, number: int) -> dict[str, Any]:
    source, draws = plan.sources[number], plan.resolver.draws[number]
    grid = plan.phases[0].grid
    windows = source.window_count(grid)
    passed_over = sum(_passed_over(stretch, number) for stretch in plan.resolver.stretches)
    budget = plan.budgets.get(source.name)
    return {
        "source": source.name,
        "corpora": [corpus.name for corpus in source.corpora],
        "tokens": sum(corpus.tokens for corpus in source.corpora),
        "windows": windows,
        "served": draws - passed_over,
        "served_tokens": (draws - passed_over) * grid,
        "passed_over": passed_over,
        "epochs": _rounded(admission.epochs(plan, source.name)),
        "epochs_begun": -(-draws // windows),
        # Windows that no epoch comes to, and tokens of each corpus after its last whole window.
        "never_drawn_windows": max(0, windows - draws),
        "tail_tokens": sum(corpus.tokens - (corpus.windows(grid) * grid + 1 if corpus.windows(grid) else 0) for corpus in source.corpora),
        **({} if budget is None else budget.to_json()),
    }


def _phase(plan: Plan, number: int) -> dict[str, Any]:
    phase, stretch = plan.phases[number], plan.resolver.stretches[number]
    total = sum(phase.weights.values())
    return {
        "phase": number,
        "start": stretch.start,
        "end": stretch.start + stretch.length,
        "passed_over": stretch.skips.total,
        "seq_len": phase.seq_len,
        "rule": phase.rule,
        "period": total,
        "weights": {name: phase.weights[name] for name in sorted(phase.weights)},
        "shares": {name: _rounded(Fraction(phase.weights[name], total)) for name in sorted(phase.weights)},
        "worst_deviation": _rounded(stretch.blend.worst_deviation),
    }


def _batch_size(plan: Plan, start: int, size: int) -> dict[str, Any]:
    """Return a batch size with the first step that has it, from 1; None where the run ends before."""
    before = step_of(plan.batch_sizes, plan.length, start - 1) if start else None
    step = 1 if start == 0 else None if before is None else before[0] + 2
    return {"batch_size": size, "from": start, "step": step}


def _passed_over(stretch: Stretch, number: int) -> int:
    blend = stretch.blend
    return sum(blend.counts(end)[number] - blend.counts(first)[number] for first, end in stretch.skips.passed_over())


def _steps_with_epoch_end(plan: Plan) -> int | None:
    """Return how many steps serve two epochs of one source, in which a sample can stand twice; None where there are too many ends to
    count.
    """
    if not plan.phases:
        return 0
    grid, steps = plan.phases[0].grid, set()
    ends = [range(n, draws, n) for n, draws in ((s.window_count(grid), d) for s, d in zip(plan.sources, plan.resolver.draws, strict=True))]
    if sum(map(len, ends)) > MOST_EPOCH_ENDS:
        return None
    for source, draws in zip(plan.sources, ends, strict=True):
        for draw in draws:
            last, first = plan.resolver.position(source.name, draw - 1), plan.resolver.position(source.name, draw)
            if last is not None and first is not None:
                before = step_of(plan.batch_sizes, plan.length, last)
                if before is not None and before == step_of(plan.batch_sizes, plan.length, first):
                    steps.add(before)
    return len(steps)


def _rounded(value: Fraction) -> float:
    return round(float(value), 6)
