"""D0, what a sample is: vocabularies that fit (D0.10), of one tokenizer (D0.12), and files that are whole (D0.11)."""

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..bench import Bench
from ..case import Case, Leg
from ..cases import mixture
from ..corpora import CorpusSpec
from ..driver import Phase, Settings
from ..judging import served
from ..play import Failed, Refused
from ..refusing import expect_refusal
from ..registry import Scale, check
from ..trace import Trace
from ..verdict import Broken, NotApplicable
from .d0 import of_one_corpus

TWO_BYTES = 1 << 16


def largest_ids(scale: Scale) -> Iterable[Case]:
    """Corpora whose last id is 65,535 in two bytes and in four, and 65,536 in four."""
    for dtype, last in (("uint16", 65_535), ("uint32", 65_535), ("uint32", 65_536)):
        yield of_one_corpus(CorpusSpec("ids", (12, 9), dtype, first=last - 20))


@check("D0.10", "fits", largest_ids, needs="vocabulary", faults=(51,))
def vocabulary_fits(bench: Bench, case: Case) -> None:
    """A vocabulary of one more than the largest id is served, that id included."""
    last = _largest(bench, case)
    trace = bench.play(case, _declaring(bench, case, "fits", last + 1))
    if max(_ids(trace)) > last:
        raise Broken(f"ids up to {last}", f"{max(_ids(trace))}")
    if last not in _ids(trace):
        raise NotApplicable("expected a loader that comes to the last id in an epoch")


@check("D0.10", "does-not-fit", largest_ids, needs="vocabulary", faults=(51,))
def vocabulary_does_not_fit(bench: Bench, case: Case) -> None:
    """An id at the vocabulary's size is not served, nor a vocabulary that two bytes cannot hold."""
    last, (spec,) = _largest(bench, case), case.corpora
    if spec.dtype == "uint16":
        large = _declaring(bench, case, "large", TWO_BYTES + 1)
        expect_refusal(bench, case, f"two bytes hold no vocabulary of {TWO_BYTES + 1}", large, errors=True)
    try:
        trace = bench.play(case, _declaring(bench, case, "small", last))
    except (Refused, Failed):
        return
    if last not in _ids(trace):
        raise NotApplicable("expected a loader that comes to the last id in an epoch")
    raise Broken(f"a refusal, because the vocabulary of {last} ends before id {last}", f"id {last}")


def unions_and_mixtures(scale: Scale) -> Iterable[Case]:
    """Two corpora of one source, and of two sources."""
    corpora = (CorpusSpec("x", (11, 7)), CorpusSpec("y", (5, 18)))
    yield Case(corpora, Settings(2, 4, {"union": ["x", "y"]}, [Phase(8, {"union": "1"})]))
    yield mixture({"x": 9, "y": 6}, {"x": "0.6", "y": "0.4"}, 12)


@check("D0.12", "two-tokenizers", unions_and_mixtures, needs="vocabulary")
def one_tokenizer(bench: Bench, case: Case) -> None:
    """Corpora of different tokenizers are not served together."""
    if len(case.corpora) < 2:
        raise NotApplicable("expected two corpora")
    expect_refusal(bench, case, "its corpora were made with two tokenizers", _tokenized(bench, case, "two", "serial numbers", "1" * 64))


@check("D0.12", "one-under-two-names", unions_and_mixtures, needs="vocabulary")
def one_tokenizer_of_two_names(bench: Bench, case: Case) -> None:
    """Corpora of one tokenizer are served, whatever its file was called."""
    trace = bench.play(case, _tokenized(bench, case, "renamed", "another name", "0" * 64))
    if not list(trace.samples()):
        raise Broken("samples, because the tokenizer is one", "none")


def _tokenized(bench: Bench, case: Case, name: str, tokenizer: str, sha256: str) -> Path:
    """Return a copy of the corpora, whose first one names another tokenizer."""

    def name_it(folder: Path) -> None:
        _edit(folder / "manifest.json", lambda manifest: manifest | {"tokenizer": {"name": tokenizer, "sha256": sha256}})

    return _copied(bench, case, name, name_it)


def _ids(trace: Trace) -> set[int]:
    arrays = [array for sample in served(trace) for array in (sample.inputs, sample.targets) if array is not None]
    return set(np.concatenate(arrays).tolist())


def _largest(bench: Bench, case: Case) -> int:
    """Return the largest id of the one corpus of a case, which its last window serves."""
    (spec,) = case.corpora
    if bench.declaration().stride != "L" or spec.tokens % case.settings.seq_len != 1:
        raise NotApplicable("expected windows that end with the corpus")
    return (spec.first or 0) + spec.tokens - 1


def _declaring(bench: Bench, case: Case, name: str, vocab_size: int) -> Path:
    def declare(folder: Path) -> None:
        _edit(folder / "manifest.json", lambda manifest: manifest | {"vocab_size": vocab_size})

    return _copied(bench, case, name, declare)


def _edit(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def _copied(bench: Bench, case: Case, name: str, change: Callable[[Path], None]) -> Path:
    """Return a copy of the case's corpora in which the first one was changed."""
    original = bench.corpora(case.corpora)
    copy = original.with_name(f"{original.name}-{name}")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy)
    change(copy / case.corpora[0].name)
    return copy


def shards(scale: Scale) -> Iterable[Case]:
    """One epoch of a corpus of three shards, with its boundaries."""
    yield of_one_corpus(CorpusSpec("shards", (9, 8, 10, 7, 11), shard_tokens=18), boundaries=True)


def _torn_manifest(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _unfinished_manifest(folder: Path) -> None:
    (folder / "manifest.json").rename(folder / ".manifest.json.tmp")


def _torn_index(folder: Path) -> None:
    path = sorted(folder.glob("*.idx.npy"))[0]
    path.write_bytes(path.read_bytes()[:-8])


def _missing_shard(folder: Path) -> None:
    for path in (sorted(folder.glob("*.bin"))[-1], sorted(folder.glob("*.idx.npy"))[-1]):
        path.unlink()


DAMAGES = {
    "torn-manifest": (_torn_manifest, "its manifest is cut off"),
    "unfinished-manifest": (_unfinished_manifest, "its manifest is there under a temporary name only"),
    "torn-index": (_torn_index, "a document index is cut off"),
    "missing-shard": (_missing_shard, "a shard is missing"),
}


def _register(name: str, damage: Callable[[Path], None], reason: str) -> None:
    @check("D0.11", name, shards, needs="identity boundaries", faults=(53,))
    def damaged(bench: Bench, case: Case) -> None:
        """A corpus that is not whole is not served."""
        if case.settings.length < case.windows(case.corpora[0].name):
            raise NotApplicable("expected a case of a whole epoch")
        expect_refusal(bench, case, reason, _copied(bench, case, name, damage), errors=True)


for each, (how, why) in DAMAGES.items():
    _register(each, how, why)


def resumed(scale: Scale) -> Iterable[Case]:
    """A run in two legs."""
    yield of_one_corpus(CorpusSpec("data", (20, 13)), samples=8).with_legs(Leg(steps=3), Leg())


@check("D0.11", "torn-state", resumed, needs="identity resume", faults=(53,))
def torn_state(bench: Bench, case: Case) -> None:
    """A state of which half was written is not resumed from."""
    if len(case.legs) < 2:
        raise NotApplicable("expected a case of two legs")
    with bench.open(case) as play:
        first = play.run(case.legs[0])
        # Cut in the middle: what is left is no state, whatever the loader's format.
        play.states = [np.array(state[: len(state) // 2]) for state in play.states]
        if not first.steps or not all(len(state) for state in play.states):
            raise NotApplicable("expected a state of some bytes")
        try:
            second = play.run(case.legs[1])
        except (Refused, Failed):
            return
        raise Broken("a refusal, because the state is cut off", f"{len(second.steps)} more steps", leg=1)
