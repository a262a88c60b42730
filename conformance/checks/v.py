"""V, the driver's own MUSTs: what is handed over is a step, every request is answered, and what is declared is kept.

These come first: of a loader whose driver does not do what it must, nothing can be said.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..asking import asked, beyond
from ..bench import Bench, Failed, Refused
from ..case import Case, Leg
from ..cases import mixture, one_source
from ..driver import PROMISES, Phase
from ..registry import Scale, check
from ..strides import fitted
from ..verdict import Broken, NotApplicable

SERVED = "the simplest run to be served"


def simplest(scale: Scale) -> Iterable[Case]:
    """What everybody must serve: one source, for an epoch, a sample a step."""
    yield one_source(12)


def layouts(scale: Scale) -> Iterable[Case]:
    """One source in steps of one sample and of two, and with accumulation on two ranks."""
    yield one_source(12)
    yield one_source(12, leg=Leg(1, 2))
    yield one_source(12, leg=Leg(2, 1, 2))


@check("V1", "steps", layouts)
def steps(bench: Bench, case: Case) -> None:
    """Every answer to next is a list of as many micro-batches as asked for, of integers in the shape asked for."""
    try:
        trace = bench.play(case)
    except (Failed, Refused) as reason:
        raise NotApplicable(f"expected a run without errors, which V2 judges: {reason}") from None
    # Where some ranks serve and others do not, C2.4 says so.
    if not trace.legs[0].steps and not trace.legs[0].ended_early:
        raise Broken(f"{case.settings.length // case.legs[0].batch_size} steps", "none", leg=0, step=0)


@check("V2", "answers", simplest)
def answers(bench: Bench, case: Case) -> None:
    """Each request is answered once, in time, and without an error, in a rank's own process too."""
    for leg in (case.legs[0], replace(case.legs[0], fresh=True, steps=2 if "resume" in bench.declaration().promises else None)):
        try:
            bench.play(case.with_legs(leg))
        except (Failed, Refused) as reason:
            raise Broken(SERVED, f"after {reason.verb}: {reason}", leg=reason.leg) from None


@check("V2", "leaves-the-corpora-alone", simplest)
def leaves_the_corpora_alone(bench: Bench, case: Case) -> None:
    """The folder of the corpora is the same after a run as before it, names, sizes and times, and nothing is new beside it."""
    corpus = bench.corpora(case.corpora)
    before, beside = _listed(corpus), set(bench.folder.iterdir())
    bench.play(case)
    after = _listed(corpus)
    if new := sorted(path.name for path in set(bench.folder.iterdir()) - beside):
        raise Broken("nothing new but in the folders that were given", f"{', '.join(new)} beside them")
    if changed := sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)):
        raise Broken("the folder of the corpora as it was", f"{', '.join(changed)} changed or new")


def _listed(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in folder.rglob("*"):
        stat = path.stat()
        found[str(path.relative_to(folder))] = (stat.st_size if path.is_file() else 0, stat.st_mtime_ns)
    return found


def examples(case: Case, stride: str) -> dict[str, Case]:
    """Return for each promise that shows in a short run, a case that asks for no other one, or for few."""
    leg = case.legs[0]
    name, n = next(iter(case.settings.sources)), case.settings.length
    two = fitted(mixture({"a": 12, "b": 12}, {"a": "1", "b": "1"}, 12, leg=leg), stride)
    return {
        "epochs": case.with_settings(phases=[Phase(2 * n, {name: "1"})]),
        "mixture": two,
        "phases": two.with_settings(phases=[Phase(6, {"a": "1", "b": "1"}), Phase(6, {"a": "2", "b": "1"})]),
        "skips": case.with_settings(phases=[Phase(n - 2, {name: "1"})], skips=[(2, 2)]),
        "workers": case.with_legs(replace(leg, workers=2)),
        "peers": case.with_legs(replace(leg, tp=2)),
        "boundaries": case.with_settings(boundaries=True),
        "batch_size": case.with_settings(batch_size=leg.batch_size),
        "resume": case.with_legs(replace(leg, steps=1), leg),
        "rebatch": case.with_legs(replace(leg, steps=1), replace(leg, accumulation=2)),
        "elastic": case.with_legs(replace(leg, accumulation=2, steps=1), replace(leg, dp_size=2 * leg.dp_size)),
        "one_state": case.with_legs(replace(leg, steps=1, state_of=0), leg),
    }


def answered(case: Case) -> dict[str, tuple[dict[str, Any], type]]:
    """Return for each promise that is an answer, the request and the type of what has to come back."""
    source, corpora = next(iter(case.settings.sources.items()))
    return {
        "where": ({"do": "where", "source": source, "corpus": corpora[0], "first": 0, "last": 0}, list),
        "hash": ({"do": "identity"}, str),
        "log": ({"do": "log"}, list),
    }


@check("V3", "stride", simplest)
def stride(bench: Bench, case: Case) -> None:
    """Where windows are said to share no token, each begins at a multiple of L + 1; of those that share one D0.1 speaks."""
    if bench.declaration().stride != "L+1":
        return
    trace, size = bench.play(case), case.settings.seq_len + 1
    for sample in trace.samples():
        corpus, token = trace.window(sample)
        if token % size:
            wanted = f"a first token that is a multiple of {size}, as stride 'L+1' was declared"
            raise Broken(wanted, f"token {token} of {corpus}", trace, sample)


@check("V3", "keeps-what-it-declares", simplest)
def keeps_what_it_declares(bench: Bench, case: Case) -> None:
    """Whatever is declared is served in its simplest form, and not refused after all."""
    declared, stride = bench.declaration().promises, bench.declaration().stride
    if case.settings.length < 6 * case.legs[0].batch_size:
        raise NotApplicable("expected a run of six steps")
    for promise, example in examples(case, stride).items():
        if promise in declared and asked(example, stride) <= declared and not beyond(example, declared, stride):
            _expect_kept(bench, promise, example)
    with bench.open(case) as play:
        play.open(case.legs[0])
        for promise, (request, kind) in answered(case).items():
            if promise in declared:
                try:
                    found = play.ask(request, play.ranks[:1])[0][0]
                except (Failed, Refused) as reason:
                    raise _unkept(promise, reason) from None
                if not isinstance(found, kind):
                    raise Broken(f"{promise}, as declared: it {PROMISES[promise]}", f"{type(found).__name__} for a {kind.__name__}")


def _expect_kept(bench: Bench, promise: str, example: Case) -> None:
    try:
        trace = bench.play(example)
    except (Failed, Refused) as reason:
        raise _unkept(promise, reason) from None
    if promise == "boundaries":
        for _, step in trace.steps():
            if missing := {"position_ids", "loss_mask", "cu_seqlens"} - step.batches[0][0].keys():
                raise Broken(f"boundaries, as declared: it {PROMISES[promise]}", f"no {' and no '.join(sorted(missing))}")


def _unkept(promise: str, reason: Failed | Refused) -> Broken:
    what = "a refusal" if isinstance(reason, Refused) else "an error"
    return Broken(f"{promise}, as declared: it {PROMISES[promise]}", f"{what} of {reason.verb}: {reason}", leg=reason.leg)
