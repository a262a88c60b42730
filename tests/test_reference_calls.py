"""The order of calls to the reference's loader, what it logs, and that going on costs the same anywhere (C4.10 to C4.12)."""

import time
from statistics import median

import numpy as np
import pytest
from independent.identity import plan_hash, prefix_hash
from plans import length_of, make_plan, phase
from pool import make_pool, varied_plan
from ranks import Expected, as_lists, served

from fivepoint.errors import CheckpointError, FivepointError, UsageError
from fivepoint.reference.loader import Loader
from fivepoint.reference.plan import Plan


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    return make_pool(tmp_path_factory.mktemp("pool"))


@pytest.fixture(scope="module")
def plan(pool):
    return varied_plan(pool)


@pytest.fixture(scope="module")
def expected(plan):
    return Expected(plan)


@pytest.mark.clause("C4.10")
def test_time_to_the_first_batch_does_not_grow(pool):
    plan = Plan.from_json(make_plan({"a": [pool[4]], "b": [pool[9]]}, [phase(10**9, {"a": 1, "b": 2}, 4)]))
    state = Loader(plan, 0, 1, 1).state_dict()

    def first_batch(consumed):
        past = plan.cut(consumed)
        there = state | {"consumed": consumed, "step": consumed, "plan": past.to_json(), "prefix_hash": past.plan_hash}
        start = time.perf_counter()
        batch = next(next(Loader(plan, 0, 1, 1, checkpoint=there)))
        took = time.perf_counter() - start
        assert batch.positions.tolist() == [consumed]
        return took

    times = [(first_batch(10**7), first_batch(99 * 10**7)) for _ in range(9)]
    early, late = (median(each) for each in zip(*times, strict=True))
    assert late < 3 * early + 0.01


@pytest.mark.clause("C4.11")
def test_the_log_names_what_was_served(plan, expected):
    lines = []
    loader = Loader(Plan.from_json(plan), 0, 1, 3, 2, log=lines.append)
    for step in loader:
        list(step)
        loader.commit(applied=loader.consumed != 12)
    assert lines[0]["event"] == "opened" and len(lines) == 1 + 90 // 6
    for number, line in enumerate(lines[1:], start=1):
        first = 6 * (number - 1)
        names = [sample.source for sample in expected.run[first : first + 6]]
        phase = plan["phases"][0 if first < 30 else 1]
        assert line == {
            "step": number,
            "consumed": first + 6,
            "batch_size": 6,
            "dp_size": 1,
            "micro_batch": 3,
            "plan_hash": plan_hash(plan),
            "prefix_hash": prefix_hash(plan, first + 6),
            "phase": plan["phases"].index(phase),
            "weights": phase["weights"],
            "seq_len": 4,
            "samples": {name: names.count(name) for name in sorted(set(names))},
            "applied": first != 12,
        }


@pytest.mark.clause("C4.12")
def test_the_next_step_before_the_commit(plan):
    loader = Loader(Plan.from_json(plan), 0, 1, 1)
    list(next(loader))
    with pytest.raises(UsageError):
        next(loader)
    assert loader.state_dict()["consumed"] == 0


@pytest.mark.clause("C4.12")
def test_a_commit_without_a_step(plan):
    loader = Loader(Plan.from_json(plan), 0, 1, 1)
    with pytest.raises(UsageError):
        loader.commit()
    list(next(loader))
    loader.commit()
    with pytest.raises(UsageError):
        loader.commit()
    assert loader.state_dict()["consumed"] == 1


@pytest.mark.clause("C4.12")
def test_a_commit_of_half_a_step(plan):
    loader = Loader(Plan.from_json(plan), 0, 1, 1, 2)
    next(next(loader))
    with pytest.raises(UsageError):
        loader.commit()
    assert loader.state_dict()["consumed"] == 0


@pytest.mark.clause("C4.12")
def test_a_step_whose_update_was_not_applied_counts(plan, expected):
    loader = Loader(Plan.from_json(plan), 0, 1, 2)
    list(next(loader))
    loader.commit(applied=False)
    assert loader.state_dict()["consumed"] == 2
    assert as_lists(next(next(loader))) == expected.batch([2, 3])


@pytest.mark.clause("C4.12")
def test_iterating_again_goes_on(plan):
    loader = Loader(Plan.from_json(plan), 0, 1, 3)
    assert served(loader, 2) == [[0, 1, 2], [3, 4, 5]]
    assert served(loader) == [list(range(first, first + 3)) for first in range(6, length_of(plan), 3)]
    assert served(loader) == []


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ({"dp_rank": "0"}, UsageError, "expected dp_rank to be a whole number, from 0 to 1, found '0'"),
        ({"dp_rank": 2}, UsageError, "expected dp_rank to be a whole number, from 0 to 1, found 2"),
        ({"dp_rank": -1}, UsageError, "found -1"),
        ({"dp_size": 2.0}, UsageError, "expected dp_size to be a whole number, at least 1, found 2.0"),
        ({"micro_batch": 0}, UsageError, "expected micro_batch to be a whole number, at least 1, found 0"),
        ({"micro_batch": None}, UsageError, "found None"),
        ({"accumulation": "2"}, UsageError, "expected accumulation to be"),
        ({"checkpoint": 5}, CheckpointError, "expected the dict that state_dict[(][)] returned, found int"),
        ({"checkpoint": "step-1.json"}, CheckpointError, "found str"),
        ({"boundaries": 5}, UsageError, "expected boundaries among .*, found 5"),
        ({"boundaries": ["loss_mask", 5]}, UsageError, "expected boundaries among .*, found 5"),
    ],
)
def test_what_no_loader_can_be_opened_with(plan, given, error, sentence):
    with pytest.raises(FivepointError, match=sentence) as refusal:
        Loader(**{"plan": Plan.from_json(plan), "dp_rank": 0, "dp_size": 2, "micro_batch": 3, **given})
    assert refusal.type is error


def test_sizes_may_be_numpy_integers(plan):
    loader = Loader(Plan.from_json(plan), np.int64(1), np.int32(2), np.uint8(3), np.int64(1))
    assert next(next(loader)).positions.tolist() == [3, 4, 5]
    loader.rollback()
    assert type(loader.state_dict()["consumed"]) is int


def test_a_closed_loader_serves_no_more_and_says_where_it_stands(plan):
    with Loader(Plan.from_json(plan), 0, 1, 3) as loader:
        list(next(loader))
        loader.commit()
    with pytest.raises(UsageError, match="one that was closed"):
        next(loader)
    assert loader.state_dict()["consumed"] == 3
