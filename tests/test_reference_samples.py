"""What a sample of the reference holds: windows, targets, exact tokens, document boundaries (D0; A8, F1, F2)."""

import json
import os
import random

import numpy as np
import pytest
from corpora import Serial, write_corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from independent import boundaries
from independent.identity import sha256
from plans import make_plan, phase, read

from fivepoint.corpus.verify import problems
from fivepoint.errors import CorpusError
from fivepoint.reference.corpus import CorpusReader
from fivepoint.reference.loader import Loader
from fivepoint.reference.plan import Plan

KINDS = ["document_ids", "position_ids", "loss_mask", "cu_seqlens"]
L = 4
AWKWARD = {
    "one document": [41],
    "one token each": [1] * 41,
    "of L": [L] * 10 + [1],
    "of L + 1": [L + 1] * 8 + [1],
    "of L - 1": [L - 1] * 13 + [2],
    "of no length between": [3, 0, 5, 0, 0, 2, 31],
    "of no length first and last": [0, 0, 20, 21, 0],
    "boundaries at kL and kL + L": [L, L, 2 * L, 25],
    "boundaries at kL + 1": [1, L, L, 2 * L, 24],
    "boundary before the last token": [40, 1],
    "boundary after the first token": [1, 40],
    "of 0, 1, L and L + 1": [0, 1, L, L + 1, 0, 1, L + 1, L, 21],
}


def serve(folder, seq_len=L, boundaries=()):
    """Return the batches of one epoch of a corpus, of up to three rows each, in order of service."""
    windows = len(read(folder).windows(seq_len))
    micro_batch = next(rows for rows in (3, 2, 1) if windows % rows == 0)
    plan = Plan.from_json(make_plan({"a": [folder]}, [phase(windows, {"a": 1}, seq_len)]))
    loader = Loader(plan, 0, 1, micro_batch, boundaries=boundaries)
    found = []
    for step in loader:
        found += list(step)
        loader.commit()
    return found


@pytest.mark.clause("D0.1")
@pytest.mark.parametrize("tokens", [5, 6, 8, 9, 10, 12, 13, 40, 41, 42])
def test_windows_of_a_corpus(tmp_path, tokens):
    folder = write_corpus(tmp_path / "corpus", Serial().documents([tokens]))
    batches = serve(folder)
    inputs = [row for batch in batches for row in batch.inputs.tolist()]
    lasts = [row[-1] for batch in batches for row in batch.targets.tolist()]
    served = sorted([*row, last] for row, last in zip(inputs, lasts, strict=True))
    assert served == [list(range(first, first + L + 1)) for first in range(0, tokens - L, L)]


@pytest.mark.clause("D0.2")
@pytest.mark.parametrize("seq_len", [1, 2, 3, 4, 7, 40])
def test_targets_follow_their_inputs(tmp_path, seq_len):
    folder = write_corpus(tmp_path / "corpus", Serial().documents([41]))
    for batch in serve(folder, seq_len):
        assert batch.inputs.shape == batch.targets.shape == (len(batch.positions), seq_len)
        assert (batch.targets == batch.inputs + 1).all()


@pytest.mark.clause("D0.3")
def test_no_window_crosses_from_a_corpus_into_the_next(tmp_path):
    serial = Serial()
    folders = [write_corpus(tmp_path / str(size), serial.documents([size])) for size in (7, 9, 4, 13)]
    plan = Plan.from_json(make_plan({"a": folders}, [phase(6, {"a": 1}, L)]))
    loader, served = Loader(plan, 0, 1, 6), []
    for row in next(next(loader)).inputs.tolist():
        served.append(row)
    firsts = [0, 7, 11, 20, 24, 28]
    assert sorted(served) == [list(range(first, first + L)) for first in firsts]


@pytest.mark.clause("D0.1")
@pytest.mark.parametrize("shard_bytes", [2, 10, 18, 64])
def test_windows_cross_from_a_shard_into_the_next(tmp_path, shard_bytes):
    folder = write_corpus(tmp_path / "corpus", Serial().documents([3, 0, 1, 4, 9, 2, 2, 20]), shard_bytes=shard_bytes)
    served = sorted(row for batch in serve(folder) for row in batch.inputs.tolist())
    assert served == [list(range(first, first + L)) for first in range(0, 40, L)]


EXACT = [
    ("uint16", None, [0, 1, 255, 256, 32767, 32768, 65534, 65535]),
    ("uint16", 65_536, [65_535, 0]),
    ("uint32", 65_537, [65_536, 65_535, 0]),
    ("uint32", None, [0, 65535, 65536, 100_257, 151_643, 2**31 - 1, 2**31, 2**32 - 1]),
]


@pytest.mark.clause("D0.4")
@pytest.mark.parametrize(("dtype", "vocab_size", "ids"), EXACT)
def test_ids_come_as_they_lie_on_disk(tmp_path, dtype, vocab_size, ids):
    folder = write_corpus(tmp_path / "corpus", [[*ids, *ids]], dtype=dtype, vocab_size=vocab_size)
    (batch,) = serve(folder, 2 * len(ids) - 1)
    assert batch.inputs.dtype == batch.targets.dtype == np.int64
    assert batch.inputs.tolist() == [[*ids, *ids[:-1]]]
    assert batch.targets.tolist() == [[*ids[1:], *ids]]


@pytest.mark.clause("D0.4")
def test_tokens_past_four_gigabytes(tmp_path):
    # a sparse file: zeros, and at its end the tokens of the last window
    tokens, seq_len = (1 << 30) + 4096 + 1, 4096
    folder = write_corpus(tmp_path / "corpus", [[1]], dtype="uint32")
    shard = next(folder.glob("*.bin"))
    with shard.open("r+b") as file:
        file.truncate(tokens * 4)
        file.seek((tokens - seq_len - 1) * 4)
        file.write(np.arange(seq_len + 1, dtype="<u4").tobytes())
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["tokens"] = manifest["shards"][0]["tokens"] = tokens
    manifest["shards"][0]["bytes"] = tokens * 4
    (folder / "manifest.json").write_text(json.dumps(manifest))
    value = make_plan({"a": []}, [phase(tokens // seq_len, {"a": 1}, seq_len)])
    content = sha256([manifest["shards"][0]["sha256"]])
    value["sources"][0]["corpora"] = [{"name": "corpus", "manifest": sha256(manifest), "content": content, "tokens": tokens}]
    value["paths"] = {"a": [str(folder)]}
    plan = Plan.from_json(value)
    (position,) = plan.where("a", "corpus", tokens - 2, tokens - 1)
    past = plan.cut(position)
    state = Loader(plan, 0, 1, 1).state_dict()
    state |= {"consumed": position, "step": position, "plan": past.to_json(), "prefix_hash": past.plan_hash}
    batch = next(next(Loader(plan, 0, 1, 1, checkpoint=state, boundaries="document_ids")))
    assert batch.inputs.tolist() == [list(range(seq_len))]
    assert batch.targets.tolist() == [list(range(1, seq_len + 1))]


@pytest.mark.clause("D0.10")
def test_an_id_outside_the_vocabulary_is_not_served(tmp_path):
    folder = write_corpus(tmp_path / "corpus", [[0, 1, 2, 3, 4, 5, 6, 7, 8]], vocab_size=9)
    shard = next(folder.glob("*.bin"))
    shard.write_bytes(shard.read_bytes()[:-2] + (9).to_bytes(2, "little"))
    with pytest.raises(CorpusError):
        serve(folder)


def expected_bounds(folder, batch):
    """Return the boundaries of a batch of one corpus, from the lengths of its documents."""
    documents = read(folder).documents()
    firsts = [window * L for window in batch.windows.tolist()]
    bounds = boundaries.cu_seqlens([documents] * len(firsts), firsts, L)
    return {
        "document_ids": [boundaries.document_ids(documents, first, L) for first in firsts],
        "position_ids": [boundaries.position_ids(documents, first, L) for first in firsts],
        "loss_mask": [boundaries.loss_mask(documents, first, L) for first in firsts],
        "cu_seqlens": bounds,
        "max_seqlen": boundaries.max_seqlen(bounds),
    }


def check_bounds(folder):
    for batch in serve(folder, boundaries=KINDS):
        expected = expected_bounds(folder, batch)
        for kind in KINDS:
            assert getattr(batch, kind).tolist() == expected[kind], f"{kind} of windows {batch.windows.tolist()}"
        assert batch.max_seqlen == expected["max_seqlen"]


@pytest.mark.clause("D0.9")
@pytest.mark.clause("D0.6")
@pytest.mark.clause("D0.7")
@pytest.mark.clause("D0.8")
@pytest.mark.parametrize("shard_bytes", [2, 20, 1 << 20])
@pytest.mark.parametrize("lengths", AWKWARD.values(), ids=AWKWARD)
def test_boundaries_of_awkward_documents(tmp_path, lengths, shard_bytes):
    check_bounds(write_corpus(tmp_path / "corpus", Serial().documents(lengths), shard_bytes=shard_bytes))


@pytest.mark.clause("D0.9")
@settings(max_examples=60)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30).filter(lambda lengths: sum(lengths) > L), st.integers(2, 60))
def test_boundaries_of_any_documents(tmp_path_factory, lengths, shard_bytes):
    check_bounds(write_corpus(tmp_path_factory.mktemp("any") / "corpus", Serial().documents(lengths), shard_bytes=shard_bytes))


@pytest.mark.clause("D0.5")
@pytest.mark.parametrize("eod_id", [0, 7], ids=["the id that pads too", "another id"])
def test_boundaries_do_not_come_from_end_of_document_ids(tmp_path, eod_id):
    # the id stands inside documents, twice at their end, and is missing from some
    documents = [[1, eod_id, 2, 3, eod_id], [4, 5, 6], [eod_id, eod_id, 8, 9, 1, eod_id, eod_id], [2, 3, 4], [5, eod_id, 6, 8, 9, 1, 2]]
    check_bounds(write_corpus(tmp_path / "corpus", documents, eod_id=eod_id, vocab_size=10))


@pytest.mark.clause("D0.7")
def test_end_of_document_keeps_its_loss(tmp_path):
    folder = write_corpus(tmp_path / "corpus", [[1, 2, 0], [3, 4, 0], [5, 6, 0]], eod_id=0, vocab_size=10)
    masks = {
        window: mask
        for batch in serve(folder, boundaries="loss_mask")
        for window, mask in zip(batch.windows.tolist(), batch.loss_mask.tolist(), strict=True)
    }
    # the targets of window 0 are 2 0 3 4: only 3 is in another document than its input
    assert masks == {0: [True, True, False, True], 1: [True, False, True, True]}


@pytest.mark.clause("D0.8")
def test_rows_of_several_corpora_are_bounded_apart(tmp_path):
    choose = random.Random(5)
    folders = {}
    serial = Serial()
    for name in ("a", "b"):
        lengths = [choose.randrange(7) for _ in range(12)]
        folders[name] = [write_corpus(tmp_path / name, serial.documents([*lengths, 5]))]
    plan = Plan.from_json(make_plan(folders, [phase(12, {"a": 1, "b": 1}, L)]))
    loader = Loader(plan, 0, 1, 6, 2, boundaries=["cu_seqlens"])
    for batch in next(loader):
        samples = [plan.resolve(position) for position in batch.positions.tolist()]
        documents = [read(folders[sample.source][0]).documents() for sample in samples]
        firsts = [sample.spans[0].first for sample in samples]
        assert batch.cu_seqlens.tolist() == boundaries.cu_seqlens(documents, firsts, L)


@pytest.mark.clause("D0.5")
@pytest.mark.parametrize(
    "starts",
    [[0, 5, 10], [0, 5, 10, 15, 20], [1, 5, 10, 15], [0, 5, 10, 22], [0, 10, 5, 15], [0, -5, 10, 15]],
    ids=str,
)
def test_an_index_of_other_documents_is_refused(tmp_path, starts):
    folder = write_corpus(tmp_path / "corpus", Serial().documents([5, 5, 5, 6]))
    serve(folder, boundaries=KINDS)
    np.save(next(folder.glob("*.idx.npy")), np.array(starts, "<i8"))
    with pytest.raises(CorpusError):
        serve(folder, boundaries=KINDS)


@pytest.mark.clause("D0.5")
@pytest.mark.parametrize("size", [0, 60, 128, 152])
def test_a_part_of_an_index_is_refused(tmp_path, size):
    folder = write_corpus(tmp_path / "corpus", Serial().documents([5, 5, 5, 6]))
    serve(folder, boundaries=KINDS)
    os.truncate(next(folder.glob("*.idx.npy")), size)
    with pytest.raises(CorpusError):
        serve(folder, boundaries=KINDS)


TORN = {
    "an open bracket": (b"(4,)", b"(4 , "),
    "an indent": (b"{'descr'", b"\n  {'de"),
    "a null byte": (b"'descr'", b"'de\0cr'"),
    "a list for a type": (b"'<i8'", b"[()] "),
    "a set": (b"'<i8'", b"{[1]}"),
    "a number too long": (b"(4,), }", b"(4,) , " + b"9" * 20),
    "a shape beyond memory": (b"(4,), }                  ", b"(4444444444444444444,), }"),
    "a shape below zero": (b"(4,), } ", b"(-4,), }"),
    "big-endian": (b"'<i8'", b"'>i8'"),
    "of no bytes": (b"'<i8'", b"'<V0'"),
}


@pytest.mark.clause("D0.5")
@pytest.mark.parametrize("torn", TORN)
def test_an_index_with_a_torn_header_is_refused(tmp_path, torn):
    folder = write_corpus(tmp_path / "corpus", Serial().documents([5, 5, 5, 6]))
    index = next(folder.glob("*.idx.npy"))
    before, after = TORN[torn]
    whole = index.read_bytes()
    index.write_bytes(whole.replace(before, after, 1).ljust(len(whole))[: len(whole) - 32] + whole[-32:])
    with pytest.raises(CorpusError, match="is not a document index"):
        CorpusReader(folder).documents(0, 1)
    assert any(str(index) in problem for problem in problems(folder))


@pytest.mark.clause("C3.6")
def test_an_index_cut_short_under_a_loader_ends_in_an_error(tmp_path):
    folder = write_corpus(tmp_path / "a", Serial().documents([9] * 6))
    plan = Plan.from_json(make_plan({"a": [folder]}, [phase(12, {"a": 1}, L)]))
    loader = Loader(plan, 0, 1, 1, boundaries="document_ids")
    (index,) = folder.glob("*.idx.npy")
    index.write_bytes(index.read_bytes()[:-8])
    with pytest.raises(CorpusError, match="is not a document index"):
        next(next(loader))
