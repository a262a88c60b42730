"""How the reference deals steps to ranks, and that layout and process decide nothing (C2, C3.1, C3.2; A7)."""

import json
import os
import subprocess
import sys
from itertools import product

import pytest
from independent.run import walk
from independent.steps import deal, digest, flat, steps
from plans import corpora_of, length_of, make_plan, phase
from pool import make_pool
from ranks import Expected, Layout, Ranks, as_lists, check_to_end

from fivepoint.errors import UsageError
from fivepoint.reference.loader import Loader
from fivepoint.reference.plan import Plan

LAYOUTS = [
    *(Layout(*sizes) for sizes in product([1, 2, 3, 4], [1, 2, 3], [1, 2, 4])),
    Layout(7, 1, 1),
    Layout(16, 2, 1),
    Layout(64, 1, 1),
    Layout(1, 64, 1),
    Layout(1, 1, 64),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    pool = make_pool(tmp_path_factory.mktemp("pool"))
    return {"a": [pool[4]], "b": [pool[9]], "union": [pool[7], pool[5]]}


@pytest.fixture(scope="module")
def plan(sources):
    return make_plan(sources, [phase(40, {"a": 1, "union": 2}, 4), phase(93, {"a": 1, "b": 2, "union": 3}, 4)], skips=[[10, 3]])


def positions_of(plan, layout):
    """Return the positions that each rank reads in the first step, as it says itself."""
    step = [next(Loader(plan, rank, layout.dp_size, layout.micro_batch, layout.accumulation)) for rank in range(layout.dp_size)]
    return [[batch.positions.tolist() for batch in batches] for batches in step]


@pytest.mark.clause("C3.2")
@pytest.mark.clause("C2.6")
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_run_on_any_layout(plan, layout):
    check_to_end(Expected(plan), Ranks(plan, layout), 0)


@pytest.mark.clause("C2.1")
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_no_two_ranks_read_a_position(plan, layout):
    dealt = list(flat(positions_of(Plan.from_json(plan), layout)))
    assert len(set(dealt)) == len(dealt)


@pytest.mark.clause("C2.2")
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_the_ranks_read_the_next_positions(plan, layout):
    size = layout.dp_size * layout.micro_batch * layout.accumulation
    assert sorted(flat(positions_of(Plan.from_json(plan), layout))) == list(range(size))


@pytest.mark.clause("C2.6")
def test_each_rank_reads_its_slice(plan):
    assert positions_of(Plan.from_json(plan), Layout(2, 2, 3)) == [[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]]
    assert deal(0, 12, 2, 2) == [[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]]


@pytest.mark.clause("C2.6")
def test_the_second_rank_goes_on_in_the_next_pass(sources):
    # 10 samples, two ranks of two rows: after [2, 3] come [6, 7], and then the first two of the next pass
    plan = make_plan({"a": [sources["union"][0], sources["union"][1]]}, [phase(30, {"a": 1}, 4)])
    opened = Plan.from_json(plan)
    loader = Loader(opened, 1, 2, 2)
    offsets = []
    for step in loader:
        offsets += [(opened.resolve(p).epoch, opened.resolve(p).offset) for batch in step for p in batch.positions.tolist()]
        loader.commit()
    assert offsets[:6] == [(0, 2), (0, 3), (0, 6), (0, 7), (1, 0), (1, 1)]


@pytest.mark.clause("C2.3")
def test_peers_of_a_rank_get_identical_batches(plan):
    opened = Plan.from_json(plan)
    for dp_rank in range(2):
        peers = [Loader(opened, dp_rank, 2, 2) for _ in range(2 * 2 * 2)]
        for _ in range(5):
            served = [[as_lists(batch) for batch in next(peer)] for peer in peers]
            assert all(batches == served[0] for batches in served)
            for peer in peers:
                peer.commit()


@pytest.mark.clause("C2.4")
@pytest.mark.parametrize("length", range(1, 30))
def test_every_rank_serves_the_same_steps(sources, length):
    plan = Plan.from_json(one(sources, length))
    for layout in (Layout(2, 2, 1), Layout(3, 1, 2), Layout(4, 1, 1)):
        size = layout.dp_size * layout.micro_batch * layout.accumulation
        for rank in range(layout.dp_size):
            loader = Loader(plan, rank, layout.dp_size, layout.micro_batch, layout.accumulation)
            rows = []
            for step in loader:
                rows.append([len(batch.positions) for batch in step])
                loader.commit()
            assert rows == [[layout.micro_batch] * layout.accumulation] * (length // size)
            assert loader.unserved == length % size


def one(sources, length):
    return make_plan({"union": sources["union"]}, [phase(length, {"union": 1}, 4)])


@pytest.mark.clause("C2.5")
def test_nine_samples_on_four_ranks(sources):
    plan = Plan.from_json(one(sources, 9))
    served = []
    for rank in range(4):
        loader = Loader(plan, rank, 4, 2)
        for step in loader:
            served += [position for batch in step for position in batch.positions.tolist()]
            loader.commit()
        assert loader.unserved == 1
    assert served == list(range(8))


@pytest.mark.clause("C2.7")
@pytest.mark.parametrize(("dp_size", "micro_batch", "accumulation"), [(4, 1, None), (1, 3, None), (2, 2, None), (2, 1, 4), (1, 10, 2)])
def test_sizes_that_do_not_fit_the_plan(sources, dp_size, micro_batch, accumulation):
    plan = Plan.from_json(make_plan({"b": sources["b"]}, [phase(40, {"b": 1}, 4)], batch_sizes=[[0, 10]]))
    with pytest.raises(UsageError):
        Loader(plan, 0, dp_size, micro_batch, accumulation)


@pytest.mark.clause("C2.7")
def test_a_later_size_that_does_not_fit_is_refused_at_once(sources):
    plan = Plan.from_json(make_plan({"b": sources["b"]}, [phase(40, {"b": 1}, 4)], batch_sizes=[[0, 10], [30, 5]]))
    with pytest.raises(UsageError):
        Loader(plan, 0, 2, 5)


@pytest.mark.clause("C2.7")
@pytest.mark.parametrize(
    ("rank", "dp_size", "micro_batch", "accumulation"), [(2, 2, 1, 1), (-1, 2, 1, 1), (0, 0, 1, 1), (0, 1, 0, 1), (0, 1, 1, 0)]
)
def test_ranks_and_sizes_that_do_not_exist(sources, rank, dp_size, micro_batch, accumulation):
    with pytest.raises(UsageError):
        Loader(Plan.from_json(one(sources, 9)), rank, dp_size, micro_batch, accumulation)


@pytest.mark.clause("C2.2")
@pytest.mark.parametrize(
    "batch_sizes", [[[0, 6]], [[0, 2], [9, 4]], [[0, 6], [7, 2], [8, 4]], [[0, 4], [50, 8], [132, 2]], [[0, 12], [500, 2]]], ids=str
)
def test_batch_sizes_of_the_plan(plan, batch_sizes):
    plan = plan | {"batch_sizes": batch_sizes}
    expected = Expected(plan)
    ended = check_to_end(expected, Ranks(plan, Layout(2, 1)), 0)
    last, size = steps(expected.length, batch_sizes)[-1]
    assert ended == last + size


DIGESTS = """
import hashlib, json, sys
from fivepoint.reference.loader import Loader
from fivepoint.reference.plan import Plan
loader = Loader(Plan.from_json(json.load(sys.stdin)), 0, 1, 1, 7)
for step in loader:
    windows = [[*batch.inputs[0].tolist(), int(batch.targets[0, -1])] for batch in step]
    print(hashlib.sha256(b"".join(token.to_bytes(8, "little") for window in windows for token in window)).hexdigest())
    loader.commit()
"""


@pytest.mark.slow
@pytest.mark.clause("C3.1")
@pytest.mark.parametrize(
    "setting",
    [{"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "7", "LC_ALL": "C"}, {"PYTHONHASHSEED": "9", "PYTHONUTF8": "1", "TZ": "Asia/Tokyo"}],
    ids=str,
)
def test_a_fresh_process_serves_the_same_bits(plan, tmp_path, setting):
    process = subprocess.run(
        [sys.executable, "-P", "-c", DIGESTS],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | setting,
    )
    run = [sample.tokens for sample in walk(plan, corpora_of(plan))]
    assert process.stdout.split() == [digest(run[start : start + 7]) for start in range(0, length_of(plan) - 6, 7)]
