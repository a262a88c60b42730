"""Whether a plan may be run: budgets, sign-offs, sources repeated in a step or never seen, tokenizers (C1.4, C1.5, C1.11, C1.12, D0.12)."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..errors import BudgetError, PlanError
from .manifest import Manifest

if TYPE_CHECKING:
    from .plan import Plan

EPOCHS_WITHOUT_SIGN_OFF = 4


def check(plan: "Plan", batch_size: int | None = None) -> None:
    """Raise BudgetError or PlanError for the first source that the plan uses more, or less, than it may.

    `batch_size` is that of a loader's steps, for a plan that has none of its own.
    """
    largest = max((size for _, size in plan.batch_sizes), default=batch_size)
    for uses in _collections(plan):
        _budget(plan, uses)
        _sign_off(plan, uses)
    for number, source in enumerate(plan.sources):
        _drawn(plan, number, source.name)
        if largest is not None:
            _repeats_in_step(plan, number, source.name, largest)


def check_tokenizers(plan: "Plan", manifests: Mapping[str, Iterable[Manifest]]) -> None:
    """Raise PlanError where corpora of the plan were made with different tokenizers, and nobody signed off on it (D0.12).

    `manifests` holds those of each source's corpora, by its name. The plan pins them, but does not say what is in them.
    """
    first: tuple[str, Manifest] | None = None
    for source in sorted(manifests):
        budget = plan.budgets.get(source)
        for manifest in () if budget and budget.tokenizer_signed_off else manifests[source]:
            if first is None:
                first = source, manifest
            elif manifest.tokenizer.sha256 != first[1].tokenizer.sha256:
                one, two = first[1].tokenizer, manifest.tokenizer
                raise PlanError(
                    f"expected corpora of one tokenizer, found {one.name} ({one.sha256[:12]}) in corpus {first[1].name!r} of source "
                    f"{first[0]!r} and {two.name} ({two.sha256[:12]}) in {manifest.name!r} of {source!r}: one id would mean two words; "
                    "prepare them with the same, or say who accepts it and why: tokenizer_signed_off"
                )


def epochs(plan: "Plan", name: str) -> Fraction:
    """Return how often the plan passes through source `name`: its draws, passed-over ones included, over its windows."""
    number = [source.name for source in plan.sources].index(name)
    return Fraction(plan.resolver.draws[number], plan.sources[number].window_count(plan.phases[0].grid))


def repeats_in_step(plan: "Plan", number: int, phase: int, batch_size: int) -> bool:
    """Return whether some `batch_size` samples taken one after the other in `phase` hold more draws of source `number` than it has
    windows.
    """
    stretch = plan.resolver.stretches[phase]
    blend, windows = stretch.blend, plan.sources[number].window_count(stretch.grid)
    # A run of B samples holds a source's share of them and a few more: 2 with rule earliest-deadline, 4.4 in all that was tried of
    # furthest-behind. That settles all but small sources.
    if windows >= batch_size * blend.weights[number] // blend.period + 6:
        return False
    # The draws of one period begin every run there is.
    begins = max(0, min(blend.weights[number], blend.counts(stretch.taken)[number] - windows))
    at = blend.positions(number).astype(np.int64)
    periods, draws = np.divmod(np.arange(windows, windows + begins), max(1, blend.weights[number]))
    return bool((periods * blend.period + at[draws] - at[:begins] < batch_size).any())


def _collections(plan: "Plan") -> Iterable[list[str]]:
    """Yield, for each corpus, the sources that hold it: a corpus in two sources is passed through by both."""
    holders: dict[str, list[str]] = {}
    for source in plan.sources:
        for corpus in source.corpora:
            holders.setdefault(corpus.content, []).append(source.name)
    seen: set[tuple[str, ...]] = set()
    for names in holders.values():
        if tuple(names) not in seen:
            seen.add(tuple(names))
            yield names


def _budget(plan: "Plan", names: list[str]) -> None:
    limits = [(budget.max_epochs, name) for name in names if (budget := plan.budgets.get(name)) and budget.max_epochs is not None]
    begun = sum(-(-epochs(plan, name) // 1) for name in names)
    if limits and begun > min(limits)[0]:
        limit, holder = min(limits)
        raise BudgetError(
            f"source {holder!r} may begin {limit} epoch{'s' * (limit != 1)} (max_epochs) and the plan begins {begun}; "
            f"lower its weight, shorten the run, or raise the budget",
            _table(plan, names),
        )


def _sign_off(plan: "Plan", names: list[str]) -> None:
    passes = sum(epochs(plan, name) for name in names)
    signed = any((budget := plan.budgets.get(name)) and budget.repeats_signed_off for name in names)
    if passes > EPOCHS_WITHOUT_SIGN_OFF and not signed:
        raise BudgetError(
            f"source {names[0]!r} is passed through {float(passes):.2f} times, and above {EPOCHS_WITHOUT_SIGN_OFF} somebody signs "
            "off on it; "
            f'lower its weight, or say who accepts it and why: repeats_signed_off = "..."',
            _table(plan, names),
        )


def _table(plan: "Plan", names: list[str]) -> tuple[str, ...]:
    """Return, phase by phase, what is drawn of the sources at fault."""
    rows = ["phase  source                     draws     windows   epochs at its end   max_epochs"]
    for phase, stretch in enumerate(plan.resolver.stretches):
        counts = stretch.blend.counts(stretch.taken)
        for number, source in enumerate(plan.sources):
            if source.name in names and counts[number]:
                windows = source.window_count(stretch.grid)
                budget = plan.budgets.get(source.name)
                limit = "-" if budget is None or budget.max_epochs is None else str(budget.max_epochs)
                passed = (stretch.base[number] + counts[number]) / windows
                rows.append(f"{phase:>5}  {source.name:<20} {counts[number]:>11} {windows:>11}   {passed:>17.3f}   {limit:>10}")
    return tuple(rows)


def _drawn(plan: "Plan", number: int, name: str) -> None:
    share = sum(
        (Fraction(stretch.blend.weights[number] * stretch.taken, stretch.blend.period) for stretch in plan.resolver.stretches),
        Fraction(0),
    )
    if plan.resolver.draws[number] == 0 and share >= 1:
        raise PlanError(
            f"source {name!r} has a share of {float(share):.2f} samples over the run and is never drawn, because each phase ends "
            "before its turn; "
            "lengthen a phase, or raise its weight"
        )


def _repeats_in_step(plan: "Plan", number: int, name: str, largest: int) -> None:
    budget = plan.budgets.get(name)
    if budget and budget.repeats_in_step_signed_off:
        return
    windows = plan.sources[number].window_count(plan.phases[0].grid)
    for phase in range(len(plan.phases)):
        if repeats_in_step(plan, number, phase, largest):
            raise PlanError(
                f"source {name!r} has {windows} window{'s' * (windows != 1)} and is drawn more often in one step of {largest} "
                f"samples in phase {phase}, "
                "so one step trains a sample twice; lower its weight, form a union, or say who accepts it and why: "
                "repeats_in_step_signed_off"
            )
