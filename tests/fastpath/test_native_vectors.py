"""The golden vectors, given by the native part: every file whose algorithm it holds."""

from pathlib import Path

import pytest
from corpora import Serial, write_corpus
from vector_cases import INPUTS, Json, Reference, cases, inputs, resolved, results

from fivepoint.errors import FivepointError
from fivepoint.reference.corpus import CorpusReader

torch = pytest.importorskip("torch")
_C = pytest.importorskip("fivepoint.fastpath._C")
batch = pytest.importorskip("fivepoint.fastpath.batch")
native = pytest.importorskip("fivepoint.fastpath.native")
pytestmark = pytest.mark.torch

FILES = ("permutation", "blend", "resolve", "skips", "boundaries")
KINDS = frozenset({"document_ids", "position_ids", "loss_mask", "cu_seqlens"})
CASES = [pytest.param(of, case, id=case["id"]) for of in FILES for case in cases(of)]


class Native(Reference):
    """Recomputes cases with fivepoint.fastpath._C."""

    def outcome(self, of: str, case: Json) -> Json:
        try:
            return getattr(self, of)(**inputs(of, case))
        except (FivepointError, ValueError, TypeError, IndexError, OverflowError):
            return {"refused": True}

    def permutation(self, seed: int, key: list[int], n: int, x: list[int]) -> Json:
        permutation = _C.Permutation(n, seed, key)
        y = [permutation(each) for each in x]
        assert [permutation.inverse(each) for each in y] == x
        return {"y": y}

    def blend(self, weights: list[int], rule: str, q: list[int]) -> Json:
        blend = _C.Blend(weights, rule)
        pairs = [blend(each) for each in q]
        assert [blend.position(source, draw) for source, draw in pairs] == q
        for each, (source, draw) in zip(q, pairs, strict=True):
            assert blend.counts(each)[source] == draw
        return {"source": [source for source, _ in pairs], "draw": [draw for _, draw in pairs]}

    def resolve(self, plan: Json, positions: list[int]) -> Json:
        run = self._plan(plan)
        resolver, found = native.resolver(run), []
        assert resolver.length == run.length
        for position in positions:
            phase, source, corpus, draw, epoch, offset, window, first = resolver.resolve(position, 1)[0].tolist()
            known = run.resolve(position)
            assert (phase, draw) == (known.phase, known.draw)
            found.append(resolved(run, phase, source, corpus, epoch, offset, window, first))
        return {"samples": found}

    skips = resolve

    def boundaries(self, documents: list[int], seq_len: int, rows: list[int]) -> Json:
        folder = write_corpus(self._file("corpus"), Serial().documents(documents), shard_bytes=16)
        corpus = native.corpus(CorpusReader(folder), _C.Files(16))
        reader = _C.Reader(_C.Resolver(0, [(0, [sum(documents)])], [], []), [[corpus]], seq_len, True)
        places, pool = [(0, 0, row) for row in rows], _C.MemoryPool(0)
        found = batch.filled(len(rows), seq_len, KINDS, pool, lambda memory: reader.read_places(places, memory))
        return {
            **{kind: getattr(found, kind).tolist() for kind in KINDS},
            "max_seqlen": found.max_seqlen,
        }


@pytest.mark.parametrize(("of", "case"), CASES)
def test_the_native_part_gives_the_results(of: str, case: Json, tmp_path: Path) -> None:
    expected = {"refused": True} if "refused" in case else results(of, case)
    expected.pop("worst_deviation", None)  # for people; the reference computes it
    assert Native(tmp_path).outcome(of, case) == expected, case["comment"]


def test_no_file_of_per_sample_work_is_left_out() -> None:
    # What the native part does not do is decided once, in the reference: weights, partition, hashes, the way back.
    assert set(INPUTS) - set(FILES) == {"weights", "where", "partition", "canonical", "plan_hash", "prefix_hash"}
