"""The committed kernels themselves, executed thread by thread: odd lengths, both dtypes, unaligned rows, grids that are too small."""

import numpy as np
import pytest
from checkout import ROOT
from ptx import Memory, PtxError, launch, parse

pytestmark = [pytest.mark.checkout]

KERNELS = parse((ROOT / "csrc" / "device" / "kernels.ptx").read_text(encoding="utf-8")) if (ROOT / "csrc").exists() else {}
LENGTHS = [1, 2, 3, 7, 8, 33]
GRIDS = [((1, 3), 32), ((2, 1), 4), ((1, 2), 8)]
"""The last two are smaller than the batch: threads take several pairs, and several rows."""


def staged(widths: list[int], seq_len: int, row_bytes: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows as Reader lays them out, each with tokens of so many bytes, and their tokens."""
    rows = random.integers(0, 256, (len(widths), row_bytes), np.uint8)
    tokens = np.empty((len(widths), seq_len + 1), np.int64)
    for row, width in enumerate(widths):
        tokens[row] = random.integers(0, 1 << (8 * width), seq_len + 1)
        rows[row, : width * (seq_len + 1)] = tokens[row].astype(f"<u{width}").view(np.uint8)
        rows[row, -1] = width
    return rows, tokens


@pytest.mark.parametrize(("grid", "block"), GRIDS)
@pytest.mark.parametrize("seq_len", LENGTHS)
@pytest.mark.parametrize("shift", [0, 8])
def test_rows_are_widened(seq_len, shift, grid, block):
    row_bytes = (4 * (seq_len + 1) + 64) // 64 * 64
    rows, tokens = staged([2, 4, 2], seq_len, row_bytes, np.random.default_rng(seq_len))
    inputs, targets = np.full((2, 3, seq_len), -1, np.int64)
    memory = Memory()
    arguments = [
        memory.place(rows, read_only=True),
        row_bytes,
        3,
        seq_len,
        memory.place(inputs, shift=shift),
        memory.place(targets, shift=shift),
    ]
    launch(KERNELS["fivepoint_widen"], grid, block, arguments, memory)
    assert (inputs == tokens[:, :-1]).all() and (targets == tokens[:, 1:]).all()


@pytest.mark.parametrize(("grid", "block"), GRIDS)
@pytest.mark.parametrize("seq_len", LENGTHS)
@pytest.mark.parametrize("wanted", [(True, True, True), (False, True, False), (True, False, True), (False, False, True)])
def test_documents_are_bounded(seq_len, wanted, grid, block):
    random, count = np.random.default_rng(seq_len), 3
    documents = np.cumsum(random.integers(0, 2, (count, seq_len + 1)), axis=1) + 5  # of each token and the last target
    begins = np.ones((count, seq_len), bool)
    begins[:, 1:] = documents[:, 1:-1] != documents[:, :-2]
    first = np.append(np.flatnonzero(begins), count * seq_len).astype(np.int32)
    runs = documents[:, :-1].reshape(-1)[first[:-1]].astype(np.int64)
    last = first[1:] - 1
    parts = documents[last // seq_len, last % seq_len] != documents[last // seq_len, last % seq_len + 1]
    runs = np.where(parts, ~runs, runs)
    ids, positions = np.full((2, count, seq_len), -1, np.int64)
    mask = np.full((count, seq_len), 9, np.uint8)
    memory = Memory()
    given = [memory.place(first, read_only=True), memory.place(runs, read_only=True), len(runs), count, seq_len]
    outputs = [
        memory.place(array, shift=8 * (seq_len % 2)) if asked else 0 for array, asked in zip((ids, positions, mask), wanted, strict=True)
    ]
    launch(KERNELS["fivepoint_bound"], grid, block, given + outputs, memory)
    expected = np.arange(count * seq_len) - first[np.searchsorted(first, np.arange(count * seq_len), side="right") - 1]
    for array, asked, right in (
        (ids, wanted[0], documents[:, :-1]),
        (positions, wanted[1], expected.reshape(count, seq_len)),
        (mask, wanted[2], documents[:, 1:] == documents[:, :-1]),
    ):
        assert (array == right).all() if asked else (array == array[0, 0]).all()


@pytest.mark.parametrize("wrong", ["a row more", "tokens that are not aligned", "outputs too short", "an argument less"])
def test_what_a_gpu_would_refuse_is_a_fault(wrong):
    seq_len, row_bytes = 8, 64
    rows, _ = staged([2, 2], seq_len, row_bytes, np.random.default_rng(1))
    inputs, targets = np.zeros((2, 2, seq_len), np.int64)
    memory = Memory()
    shift = 1 if "aligned" in wrong else 0
    short = targets.reshape(-1)[:-1] if "short" in wrong else targets
    count = 3 if "row" in wrong else 2
    arguments = [memory.place(rows, shift=shift), row_bytes, count, seq_len, memory.place(inputs), memory.place(short)]
    with pytest.raises(PtxError):
        launch(KERNELS["fivepoint_widen"], (1, 2), 32, arguments[: 5 if "less" in wrong else 6], memory)


def test_no_element_is_divided_for_and_pairs_are_stored_at_once():
    words = [instruction.words for kernel in KERNELS.values() for instruction in kernel.code]
    assert not [each for each in words if each[0] in ("div", "rem")]
    assert len([each for each in words if each[0] == "st" and "v2" in each]) >= 6
