"""The dataset and the sampler for torch's DataLoader: a rank's positions and no others, in every process (C2, C4)."""

import re

import pytest
from corpora import Serial, write_corpus
from plans import make_plan, phase
from scripted import ran
from served import write_plan

from fivepoint.errors import PlanError, RangeError, UsageError
from fivepoint.reference.plan import Plan

pytest.importorskip("torch")
fastpath = pytest.importorskip("fivepoint.fastpath")
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_plan(tmp_path_factory.mktemp("dataset"))


@pytest.fixture(scope="module")
def plan(path):
    return Plan.load(path)


@pytest.mark.clause("C2.2")
@pytest.mark.parametrize("consumed", [0, 24, 216])
def test_the_ranks_together_sample_every_position_once(plan, consumed):
    samplers = [fastpath.PositionSampler(plan, rank, 3, 2, consumed=consumed) for rank in range(3)]
    found = [list(sampler) for sampler in samplers]
    assert sorted(position for rank in found for micro in rank for position in micro) == list(
        range(consumed, 336)
    )  # of 352, in steps of 12 and from 96 on of 24
    assert [len(sampler) for sampler in samplers] == [len(rank) for rank in found]


@pytest.mark.clause("C2.7")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((3, 3, 2), "expected dp_rank to be a whole number, from 0 to 2, found 3"),
        ((-1, 3, 2), "expected dp_rank to be a whole number, from 0 to 2, found -1"),
        ((0, 3, 2, None, -12), "expected consumed to be a whole number, from 0 to"),
        ((0, 3, 2, None, 3), "expected to go on at the beginning of a step, found 3, which lies inside one"),
        ((0, 3, 2, None, 10**9), "expected consumed to be a whole number, from 0 to"),
        ((0, 5, 2), "expected a batch size that dp_size \\* micro_batch = 5 \\* 2 = 10 divides, found 12"),
        ((0, 3, "2"), "expected micro_batch to be a whole number, at least 1, found '2'"),
    ],
)
def test_what_is_no_rank_or_no_step_is_refused(plan, given, said):
    with pytest.raises(UsageError, match=said):
        fastpath.PositionSampler(plan, *given)


@pytest.mark.parametrize("outside", [-1, 10**9, 1.5, "a", None, [1, 2]])
def test_what_is_no_position_of_the_run_is_refused(plan, outside):
    with pytest.raises(RangeError, match=re.escape(f"expected positions from 0 to {plan.length - 1}, found {outside!r}")):
        fastpath.PositionDataset(plan)[outside]


def test_no_plan_and_no_positions_are_refused(plan):
    with pytest.raises(UsageError, match=r"expected a plan, as Plan\.load"):
        fastpath.PositionDataset("plan.json")
    with pytest.raises(UsageError, match="expected a position or more, found none"):
        fastpath.PositionDataset(plan, "cu_seqlens").__getitems__([])


@pytest.mark.clause("C1.11")
def test_a_source_that_repeats_in_a_step_is_refused(tmp_path):
    serial = Serial()
    folders = {name: [write_corpus(tmp_path / name, serial.documents([41]))] for name in ("a", "b")}
    signed_off = {name: {"repeats_signed_off": "the tests"} for name in folders}
    short = Plan.from_json(make_plan(folders, [phase(40, {"a": 1, "b": 1}, 8)], budgets=signed_off))
    with pytest.raises(PlanError, match="drawn more often in one step of 20 samples"):
        fastpath.PositionSampler(short, 0, 1, 20)


def test_a_fork_opens_its_own_files(path):
    script = """
    dataset = PositionDataset(plan)
    expected = dataset[5].inputs.tolist()
    mine = dataset._reader
    child = os.fork()
    if not child:
        same = dataset[5].inputs.tolist() == expected and dataset._reader is not mine
        os._exit(0 if same else 1)
    _, status = os.waitpid(child, 0)
    print(status, dataset._reader is mine)
    """
    assert ran(path, script) == "0 True\n"
