"""C3, identity: the run's hash, the content of its corpora, and the way back from tokens to positions."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..asking import asked, beyond
from ..bench import Bench
from ..case import Case, Leg
from ..cases import mixture, one_source
from ..corpora import Identity
from ..driver import Phase
from ..judging import served
from ..play import Failed, Play, Refused
from ..registry import Scale, check
from ..verdict import Broken, NotApplicable

DECIDES_IN = {"the rule": "order", "the name of a source": "order", "the seed": "shuffle"}
"""What decides a token only for loaders that make a promise."""


def two_sources(scale: Scale) -> Iterable[Case]:
    """One source, which asks for nothing else; and two, one of them a union, over two phases with a skip."""
    yield one_source(40, samples=20)
    case = mixture({"a": 30, "b": 20, "c": 9}, {"a": "0.6", "u": "0.4"}, 20)
    yield case.with_settings(
        sources={"a": ["a"], "u": ["b", "c"]},
        phases=[Phase(12, {"a": "0.6", "u": "0.4"}), Phase(8, {"a": "1", "u": "1"})],
        skips=[(3, 2)],
    )


def _changes(case: Case) -> dict[str, Case]:
    """Return cases that differ from one in a single thing that decides a token."""
    settings = case.settings
    first, *others = settings.phases
    union = next((name for name, corpora in settings.sources.items() if len(corpora) > 1), None)
    renamed = {f"{name}2" if name == min(settings.sources) else name: corpora for name, corpora in settings.sources.items()}
    longer = replace(case.corpora[0], documents=(*case.corpora[0].documents, 5))
    shifted = replace(case.corpora[-1], first=100_000)
    changes = {
        "the seed": case.with_settings(seed=settings.seed + 1),
        "the sequence length": case.with_settings(seq_len=settings.seq_len + 1),
        "the length of a phase": case.with_settings(phases=[replace(first, length=first.length + 1), *others]),
        "the rule": case.with_settings(rule="furthest-behind"),
        "the documents of a corpus": replace(case, corpora=(longer, *case.corpora[1:])),
        "the tokens of a corpus": replace(case, corpora=(*case.corpora[:-1], shifted)),
        "the dtype of a corpus": replace(case, corpora=(replace(case.corpora[0], dtype="uint16"), *case.corpora[1:])),
        "the name of a source": case.with_settings(
            sources=renamed,
            phases=[
                Phase(phase.length, {f"{n}2" if n == min(settings.sources) else n: w for n, w in phase.weights.items()})
                for phase in settings.phases
            ],
        ),
        "the skips": case.with_settings(skips=[*settings.skips, (settings.length - 1, 1)]),
    }
    if len(first.weights) > 1:
        heavier = {name: str(float(weight) + i) for i, (name, weight) in enumerate(first.weights.items())}
        changes["the weights"] = case.with_settings(phases=[Phase(first.length, heavier), *others])
    if union:
        swapped = {name: corpora[::-1] for name, corpora in settings.sources.items()}
        changes["the order of a union"] = case.with_settings(sources=swapped)
    return changes


@check("C3.5", "hash-moves-with-what-decides", two_sources, needs="hash", faults=(55,))
def hash_moves_with_what_decides(bench: Bench, case: Case) -> None:
    """Each thing that decides a token is changed, one at a time; so must the hash be."""
    before = _identity(bench, case)
    promises = bench.declaration().promises
    # In another order than A2's and A4's, the rule and the names need not decide anything, and without a shuffle the seed neither.
    idle = {what for what, promise in DECIDES_IN.items() if promise not in promises}
    for what, changed in _changes(case).items():
        if what in idle or not asked(changed, bench.declaration().stride) <= promises:
            continue
        try:
            after = _identity(bench, changed)
        except Refused:
            if beyond(changed, promises, bench.declaration().stride):
                continue
            raise
        if after == before:
            raise Broken(f"another hash when {what} changes", f"the same, {before[:16]}...")


@check("C3.5", "hash-stays-with-what-decides-nothing", two_sources, needs="hash", faults=(55,))
def hash_stays_with_what_decides_nothing(bench: Bench, case: Case) -> None:
    """Other folders, and sources written down in another order, leave the hash as it is."""
    before = _identity(bench, case)
    settings = case.settings
    reordered = case.with_settings(
        sources=dict(reversed(settings.sources.items())),
        phases=[Phase(phase.length, dict(reversed(phase.weights.items()))) for phase in settings.phases],
    )
    for what, other in (("in another folder", case), ("with sources written in another order", reordered)):
        corpus = bench.folder / "elsewhere"
        shutil.copytree(bench.corpora(case.corpora), corpus)
        try:
            after = _identity(bench, other, corpus)
        finally:
            shutil.rmtree(corpus)
        if after != before:
            raise Broken(f"the hash {before[:16]}... also {what}", f"{after[:16]}...")


def _identity(bench: Bench, case: Case, corpus: Path | None = None) -> str:
    with bench.open(case, corpus) as play:
        play.open(Leg())
        found = play.ask({"do": "identity"})[0][0]
    return str(found)


def _shards(corpus: Path) -> list[Path]:
    return sorted(corpus.glob("*/*.bin"))


Damage = Callable[[Path, Case], None]


def _cut_short(corpus: Path, case: Case) -> None:
    for shard in _shards(corpus):
        shard.write_bytes(shard.read_bytes()[: shard.stat().st_size // 2])


def _grown(corpus: Path, case: Case) -> None:
    for shard in _shards(corpus):
        shard.write_bytes(shard.read_bytes() + bytes(64))


def _half_staged(corpus: Path, case: Case) -> None:
    for shard in _shards(corpus):
        shard.unlink()


DAMAGES: dict[str, Damage] = {"cut short": _cut_short, "grown": _grown, "not there": _half_staged}


@check("C3.6", "damaged-files", lambda scale: [one_source(10)], needs="identity", faults=(53,))
def damaged_files(bench: Bench, case: Case) -> None:
    """A file that is short, long or missing is refused, or was never needed: its tokens are not made up."""
    for what, damage in DAMAGES.items():
        corpus = bench.folder / "damaged"
        shutil.copytree(bench.corpora(case.corpora), corpus)
        try:
            with bench.open(case, corpus) as play:
                # What fails while nothing is damaged is no refusal of damage.
                play.start(Leg())
                damage(corpus, case)
                try:
                    play.build()
                    play.steps(None)
                except (Refused, Failed):
                    continue
            _expect_true_tokens(play, f"a shard that is {what}")
        finally:
            shutil.rmtree(corpus)


def _expect_true_tokens(play: Play, what: str) -> None:
    for sample in play.trace.samples():
        place = play.trace.identity.place(sample.first)
        if place is None or not np.array_equal(sample.inputs, sample.first + np.arange(len(sample.inputs))):
            raise Broken(f"a refusal of {what}", f"tokens {sample.inputs[:4].tolist()}...", play.trace, sample)


@check("C3.6", "replaced-corpus", lambda scale: [one_source(10, leg=Leg(steps=3))], needs="identity resume", faults=(54,))
def replaced_corpus(bench: Bench, case: Case) -> None:
    """A corpus of the same name, size and shape with other tokens is refused on resumption."""
    if len(case.corpora) != 1 or case.legs[0].steps is None:
        raise NotApplicable("expected one corpus and a stop")
    other = replace(case.corpora[0], first=50_000)
    corpus = bench.folder / "replaced"
    shutil.copytree(bench.corpora(case.corpora), corpus)
    try:
        with bench.open(case, corpus) as play:
            # What fails while nothing is replaced is no refusal of what is.
            play.run(case.legs[0])
            shutil.rmtree(corpus)
            Identity([other]).write(corpus)
            try:
                play.run(Leg(steps=2))
            except (Refused, Failed):
                return
    finally:
        shutil.rmtree(corpus, ignore_errors=True)
    late = [sample for sample in play.trace.samples() if sample.first >= 50_000]
    if late:
        raise Broken(
            "a refusal to go on with other tokens under the old name", f"token {late[0].first}", leg=late[0].leg, step=late[0].step
        )


def runs_with_everything(scale: Scale) -> Iterable[Case]:
    """Several epochs, a union, two phases, skips: everything that the way back has to undo."""
    yield from two_sources(scale)
    case = mixture({"a": 7, "b": 3}, {"a": "0.7", "b": "0.3"}, 40)
    yield case.with_settings(skips=[(0, 2), (11, 3), (39, 1)])


@check("C3.7", "where", runs_with_everything, needs="where", faults=(15,))
def where(bench: Bench, case: Case) -> None:
    """Every token's positions, against a search through the whole run; windows share their edges."""
    with bench.open(case, None) as play:
        play.open(Leg())
        play.steps(None)
        trace = play.trace
        positions: dict[tuple[str, int], list[int]] = {}
        for sample in served(trace):
            corpus, first = trace.window(sample)
            for token in range(first, first + case.settings.seq_len + 1):
                positions.setdefault((corpus, token), []).append(sample.position)
        for spec in case.corpora:
            for first in range(0, spec.tokens, max(1, spec.tokens // 25)):
                last = min(first + first % 3, spec.tokens - 1)
                expected = sorted({at for token in range(first, last + 1) for at in positions.get((spec.name, token), [])})
                request: dict[str, Any] = {"source": case.source_of(spec.name), "corpus": spec.name, "first": first, "last": last}
                got = play.ask({"do": "where", **request})[0][0]
                if list(got) != expected:
                    place = min(set(expected) ^ set(got), default=0)
                    document = f"{spec.name}:{trace.identity.document(spec.name, first)} (token {first})"
                    wanted = f"positions {_some(expected)} for tokens {first} to {last} of {spec.name}"
                    raise Broken(wanted, _some(got), leg=0, position=place, document=document)


def _some(positions: list[int]) -> str:
    return str(positions) if len(positions) <= 8 else f"{positions[:8]}... ({len(positions)})"
