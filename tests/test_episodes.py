"""Over a thousand stops, changes and resumes of random plans, held to the run of the second implementation (C1 to C4)."""

import json
from collections import Counter

import pytest
from amendments import futures, pasts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from independent.identity import plan_hash, prefix_hash
from pool import make_pool
from random_plans import plans
from ranks import Expected, Layout, Ranks, check_step, check_to_end

from fivepoint.errors import CheckpointError
from fivepoint.reference.loader import Loader
from fivepoint.reference.plan import Plan

RUNS = 150
STOPS = ["inside a step", "before the commit", "between the commits", "after the commit"]


@pytest.mark.slow
@pytest.mark.timeout(1500)  # a minute of one core, which other tests may want too
@pytest.mark.clause("C4.1")
@pytest.mark.clause("C4.2")
@pytest.mark.clause("C4.3")
@pytest.mark.clause("C4.4")
@pytest.mark.clause("C4.7")
@pytest.mark.clause("C4.8")
def test_a_thousand_episodes(tmp_path):
    pool = make_pool(tmp_path)
    tally = Counter()

    @settings(
        max_examples=RUNS,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.data())
    def run(data):
        run_with_stops(data.draw, pool, tally)

    run()
    print(dict(tally))
    assert tally["episodes"] >= 1000
    assert all(tally[stop] >= 100 for stop in STOPS), tally
    assert tally["future changed"] >= 200 and tally["past refused"] >= 200, tally


def run_with_stops(draw, pool, tally):
    """Play one run of a random plan to its end, with stops, changes of the plan and resumes on other ranks."""
    plan = draw(plans(pool))
    expected = Expected(plan)
    consumed, state = 0, None
    for left in range(draw(st.integers(10, 16)), 0, -1):
        layout = draw(layouts("batch_sizes" in plan))
        ranks = Ranks(plan, layout, state)
        stop = draw(st.sampled_from(STOPS))
        resumed = consumed > 0 and consumed + expected.batch_size(consumed, layout) <= expected.length
        consumed, state = draw(leg(expected, ranks, consumed, stop, left))
        assert state["consumed"] == consumed, f"stopped {stop}"
        assert state["prefix_hash"] == prefix_hash(plan, consumed)
        assert state["plan_hash"] == plan_hash(plan)
        tally["episodes"] += resumed and past_first_epoch(expected) >= 3
        tally[stop] += 1
        if draw(st.booleans()):
            field, changed = draw(pasts(plan, consumed))
            expect_refusal(changed, state, field)
            tally["past refused"] += 1
        if draw(st.booleans()):
            kind, plan = draw(futures(plan, consumed, pool))
            served, expected = expected.run[:consumed], Expected(plan)
            assert expected.run[:consumed] == served
            tally["future changed"] += kind != "nothing"
    last = Ranks(plan, draw(layouts("batch_sizes" in plan)), state)
    check_to_end(expected, last, consumed)
    tally["episodes"] += consumed > 0 and past_first_epoch(expected) >= 3


def past_first_epoch(expected):
    """Return how many sources begin a second epoch in the run."""
    return len({sample.source for sample in expected.run if sample.epoch})


@st.composite
def layouts(draw, batch_sizes):
    """Return ranks and sizes; where the plan has batch sizes, all multiples of 12, their product divides 12."""
    if batch_sizes:
        dp_size = draw(st.sampled_from([1, 2, 3, 4, 6, 12]))
        return Layout(dp_size, draw(st.sampled_from([size for size in (1, 2, 3, 4, 6) if 12 // dp_size % size == 0])))
    dp_size = draw(st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 64]))
    if dp_size > 8:
        return Layout(dp_size, 1, 1)
    return Layout(dp_size, draw(st.integers(1, 4)), draw(st.integers(1, 3)))


@st.composite
def leg(draw, expected, ranks, consumed, stop, left):
    """Serve some steps, stop in the next one, and return (consumed, state) as any one rank saved them."""
    layout = ranks.layout
    share = (expected.length - consumed) // left
    for _ in range(draw(st.integers(0, 4))):
        size = expected.batch_size(consumed, layout)
        if size > share:
            break
        share -= size
        check_step(expected, ranks, consumed)
        ranks.commit()
        consumed += size
    saver = draw(st.integers(0, layout.dp_size - 1))
    size = expected.batch_size(consumed, layout)
    if consumed + size <= expected.length:
        served = None if stop != "inside a step" else draw(micro_batches(layout.dp_size))
        check_step(expected, ranks, consumed, served)
        committed = {"between the commits": draw(st.integers(0, layout.dp_size)), "after the commit": layout.dp_size}
        ranks.commit(committed.get(stop, 0))
        consumed += size if saver < committed.get(stop, 0) else 0
    states = [loader.state_dict() for loader in ranks.loaders]
    assert all(state in (states[0], states[-1]) for state in states)
    return consumed, json.loads(json.dumps(states[saver]))


def micro_batches(dp_size):
    """Return how many micro-batches each rank takes before the stop."""
    return st.lists(st.integers(0, 3), min_size=dp_size, max_size=dp_size)


def expect_refusal(changed, state, field):
    """A plan of another past does not go on from the state, and says which field differs."""
    opened = Plan.from_json(changed)
    with pytest.raises(CheckpointError) as refusal:
        Loader(opened, 0, 1, 1, checkpoint=state)
    assert any(field in named for named in refusal.value.fields), f"{field} changed, {refusal.value.fields} named"
