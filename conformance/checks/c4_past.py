"""C4, whose state a state is: another past is refused, and the future is free."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..bench import Bench, Play, Refused
from ..case import Case, Leg
from ..cases import mixture, one_source
from ..corpora import CorpusSpec
from ..driver import Phase
from ..judging import expect_same_sequence
from ..registry import Scale, check
from ..resuming import changed, cut, expect_uninterrupted, stops, without_stops
from ..verdict import Broken, NotApplicable


def resumed_with(case: Case, steps: int = 3, **settings: Any) -> Case:
    """Return the case, stopped after `steps` and resumed with other settings."""
    values = {name: [asdict(phase) for phase in value] if name == "phases" else value for name, value in settings.items()}
    return stops(case, steps, last=replace(case.legs[0], settings=values))


def seeds(scale: Scale) -> Iterable[Case]:
    """Another seed."""
    yield resumed_with(one_source(20, leg=Leg(1, 2)), seed=2)


def lengths_and_weights(scale: Scale) -> Iterable[Case]:
    """Another sequence length, other weights, a phase that ended elsewhere."""
    yield resumed_with(one_source(20, leg=Leg(1, 2)), seq_len=2)
    case = two_phases()
    first, second = case.settings.phases
    yield resumed_with(case, phases=[Phase(first.length, {"a": "0.6", "b": "0.4"}), second])
    yield resumed_with(case, 5, phases=[Phase(first.length - 2, first.weights), Phase(second.length + 2, second.weights)])


def skips_of_the_past(scale: Scale) -> Iterable[Case]:
    """A skip before the place of the restart that was not there, is gone, or was another."""
    case = one_source(40, samples=24, leg=Leg(1, 2))
    yield resumed_with(case, skips=[(2, 3)])
    yield resumed_with(case.with_settings(skips=[(2, 3)]), skips=[])
    yield resumed_with(case.with_settings(skips=[(2, 3)]), skips=[(2, 2)])


def names_and_rules(scale: Scale) -> Iterable[Case]:
    """Another name of a source, another rule, another order of a union."""
    case = one_source(20, leg=Leg(1, 2))
    yield resumed_with(case, sources={"other": ["data"]}, phases=[Phase(20, {"other": "1"})])
    yield resumed_with(two_phases(), rule="furthest-behind")
    two = mixture({"a": 12, "b": 12}, {"a": "1"}, 24, leg=Leg(1, 2))
    yield resumed_with(two.with_settings(sources={"a": ["a", "b"]}), sources={"a": ["b", "a"]})


def two_phases() -> Case:
    """Return a case of two sources whose mixture changes after 8 of 24 samples."""
    case = mixture({"a": 30, "b": 30}, {"a": "0.7", "b": "0.3"}, 8, leg=Leg(1, 2))
    return case.with_settings(phases=[*case.settings.phases, Phase(16, {"a": "0.2", "b": "0.8"})])


def other_past(bench: Bench, case: Case) -> None:
    """Raise Broken where a state is taken up by a run whose cut at its position differs."""
    expect_refusal(bench, case)


for _name, _cases, _needs in (
    ("another-seed", seeds, "shuffle"),
    ("other-lengths-and-weights", lengths_and_weights, "mixture phases"),
    ("other-skips", skips_of_the_past, "skips"),
    ("other-names-and-rules", names_and_rules, "hash order mixture phases"),
):
    check("C4.7", _name, _cases, f"resume identity {_needs}", faults=(54, 55))(other_past)


def every_field(scale: Scale) -> Iterable[Case]:
    """Every change of the past that settings can make, one at a time."""
    for cases in (seeds, lengths_and_weights, skips_of_the_past, names_and_rules):
        yield from cases(scale)


@check("C4.7", "names-the-field", every_field, needs="resume identity hash order mixture phases skips", faults=(54,))
def names_the_field(bench: Bench, case: Case) -> None:
    """The refusal says in which field the pasts differ."""
    said = expect_refusal(bench, case).lower()
    consumed = (case.legs[0].steps or 0) * case.legs[0].batch_size
    before, after = cut(case.settings, consumed), cut(changed(case), consumed)
    words = {"lengths of phases": ("length", "phases"), "seq_len": ("seq_len", "grid"), "sources": ("sources", "corpora")}
    for name in before:
        if before[name] != after[name] and not any(word in said for word in words.get(name, (name.rstrip("s"),))):
            raise Broken(f"a refusal that names {name}", f"a refusal that says: {said}", leg=1)
    # Who names every field every time names none.
    other = {"seed": case.settings.seed + 1} if before["seed"] == after["seed"] else {"seq_len": case.settings.seq_len // 2 or 2}
    again = case.with_legs(*case.legs[:-1], replace(case.legs[-1], settings=other))
    if expect_refusal(bench, again).lower() == said:
        raise Broken(
            f"a refusal that names what differs, and another one where {' and '.join(other)} differs", f"a refusal that says: {said}", leg=1
        )


def one_corpus(scale: Scale) -> Iterable[Case]:
    """A short run over one corpus, stopped in its middle."""
    yield stops(one_source(20, leg=Leg(1, 2)), 3)


Change = Callable[[CorpusSpec], CorpusSpec]


def expect_data_refused(bench: Bench, case: Case, what: str, change: Change, manifest: dict[str, Any] | None = None) -> None:
    """Raise Broken where a state is taken up over corpora of the same names, but changed."""
    specs = [change(spec) for spec in case.corpora]
    if manifest is None and specs == list(case.corpora):
        raise NotApplicable(f"expected corpora that can have another {what}")
    with _copied(bench.corpora(specs), manifest or {}) as folder:
        expect_refusal(bench, case, what, folder)


@check("C4.7", "other-content", one_corpus, needs="resume identity", faults=(54,))
def other_content(bench: Bench, case: Case) -> None:
    """The same names, lengths and documents, and other tokens."""
    last = sum(spec.tokens for spec in case.corpora)
    expect_data_refused(bench, case, "content of a corpus", lambda spec: replace(spec, first=last))


@check("C4.7", "other-manifest", one_corpus, needs="resume identity hash", faults=(54, 55))
def other_manifest(bench: Bench, case: Case) -> None:
    """The same tokens, told apart by other documents, in another dtype, or of another tokenizer."""
    expect_data_refused(bench, case, "division into documents", lambda spec: replace(spec, documents=(1, spec.tokens - 1)))
    expect_data_refused(bench, case, "dtype", lambda spec: replace(spec, dtype="uint16"))
    tokenizer = {"tokenizer": {"name": "another", "sha256": "1" * 64}}
    expect_data_refused(bench, case, "tokenizer", lambda spec: spec, tokenizer)


def later_changes(scale: Scale) -> Iterable[Case]:
    """A longer run, and a shorter one."""
    case = one_source(20, samples=12, leg=Leg(1, 2))
    yield resumed_with(case, phases=[Phase(18, {"data": "1"})])
    yield resumed_with(case, phases=[Phase(8, {"data": "1"})])


def later_mixtures(scale: Scale) -> Iterable[Case]:
    """Other weights from the place of the restart, or later; another source."""
    case = two_phases()
    first, second = case.settings.phases
    yield resumed_with(case, phases=[first, Phase(16, {"a": "0.5", "b": "0.5"})])
    yield resumed_with(case, phases=[Phase(6, first.weights), Phase(12, {"a": "1", "b": "5"})])
    yield resumed_with(case, 5, phases=[first, Phase(4, second.weights), Phase(10, {"a": "1"})])
    three = replace(case, corpora=(*case.corpora, CorpusSpec("c", (81,))))
    sources = {"c": ["c"], "b": ["b"], "a": ["a"]}
    yield resumed_with(three, 4, sources=sources, phases=[first, Phase(16, {"a": "0.4", "b": "0.2", "c": "0.4"})])


def later_skips(scale: Scale) -> Iterable[Case]:
    """A skip at the place of the restart, and one after it."""
    case = one_source(40, samples=24, leg=Leg(1, 2)).with_settings(skips=[(2, 1)])
    for at in (6, 10):
        yield resumed_with(case, skips=[(2, 1), (at, 4)])


def free_future(bench: Bench, case: Case) -> None:
    """The run goes on as one that had the later settings from the beginning."""
    consumed = (case.legs[0].steps or 0) * case.legs[0].batch_size
    if len(case.legs) < 2 or cut(case.settings, consumed) != cut(changed(case), consumed):
        raise NotApplicable("expected a change of what comes after the restart")
    expect_uninterrupted(bench, case)


for _name, _cases, _needs in (
    ("later-end", later_changes, ""),
    ("later-weights-and-sources", later_mixtures, "epochs mixture phases"),
    ("later-skips", later_skips, "skips"),
):
    check("C4.8", _name, _cases, f"resume amend {_needs}", faults=(56,))(free_future)


@check("C4.8", "moved-data", one_corpus, needs="resume amend", faults=(55,))
def moved_data(bench: Bench, case: Case) -> None:
    """The run goes on over the same corpora in another folder as it would have where they were."""
    first, *others = case.legs
    if not others:
        raise NotApplicable("expected a run that is stopped and resumed")
    with _copied(bench.corpora(case.corpora), {}) as folder, bench.open(case) as play:
        play.run(first)
        play.corpus = folder
        for leg in others:
            play.start(leg)
            play.prepare()
            play.build()
            play.steps(leg.steps)
            play.close()
        expect_same_sequence(bench.play(without_stops(case)), play.trace)


def expect_refusal(bench: Bench, case: Case, what: str = "", corpus: Path | None = None) -> str:
    """Return how the second leg is refused, over the data at `corpus` where it was changed; raises Broken where it is not."""
    leg, *others = case.legs
    if len(others) != 1:
        raise NotApplicable("expected a run that is stopped once")
    with bench.open(case) as play:
        play.run(leg)
        before, after = cut(case.settings, play.consumed), cut(changed(case), play.consumed)
        names = [what] if what else [name for name in before if before[name] != after[name]]
        if not play.consumed or not names:
            raise NotApplicable("expected a change of what was consumed")
        play.corpus = corpus or play.corpus
        try:
            _reopen(play, others[0])
        except Refused as refused:
            return refused.reason
    raise Broken(
        f"a refusal of the state at position {play.consumed}, whose past has another {' and another '.join(names)}",
        "the next step",
        leg=1,
        step=0,
        position=play.consumed,
    )


def _reopen(play: Play, leg: Leg) -> None:
    play.start(leg)
    play.prepare()
    play.build()
    play.begin()


@contextmanager
def _copied(corpora: Path, manifest: dict[str, Any]) -> Iterator[Path]:
    """Copy the corpora for the while, with other fields in their manifests."""
    folder = corpora.parent / f"{corpora.name}-copy"
    shutil.copytree(corpora, folder)
    try:
        for path in folder.glob("*/manifest.json"):
            path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | manifest), encoding="utf-8")
        yield folder
    finally:
        shutil.rmtree(folder)
