"""Positions to samples and back in the reference, against the run walked by the second implementation (C1, C3.7; A5, A6)."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from independent.run import taken, walk, where
from plans import corpora_of, length_of, make_plan, phase, read
from pool import make_pool
from random_plans import plans

from fivepoint.errors import RangeError
from fivepoint.reference.plan import Plan

SEQ_LEN = 4


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    return make_pool(tmp_path_factory.mktemp("pool"))


@pytest.fixture(scope="module")
def sources(pool):
    """A corpus of three windows, one of eight, and a union of three corpora of which one holds no window."""
    return {"a": [pool[4]], "b": [pool[9]], "union": [pool[7], pool[0], pool[5]]}


def resolved(plan, positions=None):
    opened = Plan.from_json(plan)
    samples = [opened.resolve(position) for position in positions or range(length_of(plan))]
    return [(s.source, s.epoch, s.offset, s.window, s.part, [(p.corpus, p.first, p.length) for p in s.spans]) for s in samples]


def walked(plan):
    samples = walk(plan, corpora_of(plan))
    return [(s.source, s.epoch, s.offset, s.window, 0, [(s.corpus, s.first, len(s.tokens))]) for s in samples]


@pytest.mark.slow
@pytest.mark.clause("C1.2")
@pytest.mark.clause("C3.3")
@settings(max_examples=60)
@given(data=st.data())
def test_every_position_of_any_plan(pool, data):
    plan = data.draw(plans(pool))
    assert resolved(plan) == walked(plan)


@pytest.mark.slow
@pytest.mark.clause("C3.7")
@settings(max_examples=60)
@given(data=st.data())
def test_way_back_in_any_plan(pool, data):
    plan = data.draw(plans(pool))
    run = walk(plan, corpora_of(plan))
    opened = Plan.from_json(plan)
    for _ in range(10):
        source = data.draw(st.sampled_from(sorted(plan["paths"])))
        corpus = data.draw(st.sampled_from(corpora_of(plan)[source]))
        first = data.draw(st.integers(0, len(corpus.tokens) - 1))
        last = data.draw(st.integers(first, len(corpus.tokens) - 1) | st.just(first))
        assert opened.where(source, corpus.name, first, last) == where(run, source, corpus.name, first, last)


@pytest.mark.clause("C3.7")
def test_way_back_from_each_token(sources):
    weights = {"a": 1, "b": 2, "union": 3}
    plan = make_plan(sources, [phase(40, weights, SEQ_LEN), phase(40, {"a": 5, "union": 1}, SEQ_LEN)], skips=[[3, 5], [40, 7], [79, 2]])
    run = walk(plan, corpora_of(plan))
    opened = Plan.from_json(plan)
    for source, corpora in corpora_of(plan).items():
        for corpus in corpora:
            for token in range(len(corpus.tokens)):
                expected = where(run, source, corpus.name, token, token)
                assert opened.where(source, corpus.name, token, token) == expected, f"token {token} of {corpus.name}"


@pytest.mark.clause("C3.7")
@pytest.mark.parametrize(
    ("source", "corpus", "first", "last"),
    [("c", "corpus-04", 0, 0), ("a", "corpus-05", 0, 0), ("a", "corpus-04", 0, 13), ("a", "corpus-04", -1, 3), ("a", "corpus-04", 5, 4)],
)
def test_way_back_from_what_is_not_there(sources, source, corpus, first, last):
    plan = Plan.from_json(make_plan({"a": sources["a"]}, [phase(9, {"a": 1}, SEQ_LEN)]))
    with pytest.raises(RangeError):
        plan.where(source, corpus, first, last)


@pytest.mark.clause("C3.7")
@pytest.mark.parametrize("position", [-1, 9, 2**48])
def test_no_sample_outside_the_run(sources, position):
    plan = Plan.from_json(make_plan({"a": sources["a"]}, [phase(9, {"a": 1}, SEQ_LEN)]))
    with pytest.raises(RangeError):
        plan.resolve(position)


@pytest.mark.clause("C1.3")
@pytest.mark.parametrize("rule", ["earliest-deadline", "furthest-behind"])
def test_each_epoch_shows_every_window_once(sources, rule):
    plan = make_plan(sources, [phase(150, {"a": 1, "b": 2, "union": 2}, SEQ_LEN, rule)])
    drawn = defaultdict(list)
    for source, _, _, window, _, _ in resolved(plan):
        drawn[source].append(window)
    for source, corpora in corpora_of(plan).items():
        n = sum(len(corpus.windows(SEQ_LEN)) for corpus in corpora)
        epochs = [drawn[source][start : start + n] for start in range(0, len(drawn[source]) - n + 1, n)]
        assert len(epochs) >= 3
        assert all(sorted(epoch) == list(range(n)) for epoch in epochs)
        assert n == 3 or len({tuple(epoch) for epoch in epochs}) == len(epochs), f"two epochs of {source} have one order"


@pytest.mark.clause("C1.3")
def test_seven_windows_in_three_epochs(pool):
    folder = next(folder for folder in pool if len(read(folder).windows(7)) == 7)
    windows = [sample[3] for sample in resolved(make_plan({"a": [folder]}, [phase(21, {"a": 1}, 7)]))]
    blocks = [windows[:7], windows[7:14], windows[14:]]
    assert [sorted(block) for block in blocks] == [list(range(7))] * 3
    assert len(set(map(tuple, blocks))) == 3


@pytest.mark.clause("C3.4")
def test_sources_of_equal_size_have_different_orders(pool):
    first, second = [folder for folder in pool if len(read(folder).windows(SEQ_LEN)) == 16][:2]
    orders = {}
    for name in ("a", "b"):
        plan = make_plan({"a": [first], "b": [second]}, [phase(32, {"a": 1, "b": 1}, SEQ_LEN)])
        orders[name] = [sample[3] for sample in resolved(plan) if sample[0] == name]
    assert sorted(orders["a"]) == sorted(orders["b"]) == list(range(16))
    assert orders["a"] != orders["b"]


@pytest.mark.clause("C1.8")
def test_cursors_go_on_through_a_change_of_mixture(sources):
    one = make_plan(sources, [phase(90, {"a": 1, "b": 1, "union": 1}, SEQ_LEN)])
    parts = [
        phase(30, {"a": 1, "b": 1}, SEQ_LEN),
        phase(31, {"a": 2, "union": 1}, SEQ_LEN),
        phase(29, {"a": 1, "b": 1, "union": 1}, SEQ_LEN),
    ]
    several = make_plan(sources, parts)
    for name in sources:
        before = [sample[1:] for sample in resolved(one) if sample[0] == name]
        after = [sample[1:] for sample in resolved(several) if sample[0] == name]
        common = min(len(before), len(after))
        assert common >= 10
        assert after[:common] == before[:common], f"draws of {name}"


@pytest.mark.clause("C1.8")
def test_one_to_one_and_then_two_to_one(sources):
    sources = {name: sources[name] for name in ("a", "b")}
    run = resolved(make_plan(sources, [phase(10, {"a": 1, "b": 1}, SEQ_LEN), phase(9, {"a": 2, "b": 1}, SEQ_LEN)]))
    drawn = {name: [divmod_of(sample, n) for sample in run if sample[0] == name] for name, n in (("a", 3), ("b", 8))}
    assert drawn == {"a": list(range(11)), "b": list(range(8))}


def divmod_of(sample, n):
    """Return the draw number that has the sample's epoch and offset."""
    return sample[1] * n + sample[2]


@pytest.mark.clause("C1.6")
def test_a_source_that_was_passed_through_keeps_its_share(sources):
    run = resolved(make_plan(sources, [phase(200, {"a": 1, "b": 2, "union": 2}, SEQ_LEN)]))
    for quarter in range(0, 200, 50):
        names = [sample[0] for sample in run[quarter : quarter + 50]]
        assert [names.count(name) for name in ("a", "b", "union")] == [10, 20, 20]


@pytest.mark.clause("C1.6")
def test_a_source_of_one_window(pool):
    single = next(folder for folder in pool if len(read(folder).windows(SEQ_LEN)) == 1)
    plan = make_plan({"a": [single], "b": [pool[9]]}, [phase(60, {"a": 1, "b": 2}, SEQ_LEN)])
    assert resolved(plan) == walked(plan)
    assert [sample[1:4] for sample in resolved(plan) if sample[0] == "a"] == [(epoch, 0, 0) for epoch in range(20)]


SKIPS = {
    "the first sample": [[0, 1]],
    "a whole period and more": [[7, 23]],
    "several": [[1, 2], [2, 2], [3, 1]],
    "the last sample": [[59, 4]],
    "at the border, of the phase that begins": [[30, 3]],
    "before the border": [[29, 3]],
    "more than the source holds": [[10, 100]],
}


@pytest.mark.clause("C1.10")
@pytest.mark.parametrize("skips", SKIPS.values(), ids=SKIPS)
def test_positions_with_skips(sources, skips):
    phases = [phase(30, {"a": 1, "b": 1, "union": 2}, SEQ_LEN), phase(30, {"a": 3, "b": 1}, SEQ_LEN, "furthest-behind")]
    plan = make_plan(sources, phases, skips=skips)
    assert resolved(plan) == walked(plan)


@pytest.mark.clause("C1.10")
def test_a_skip_takes_what_was_planned_and_serves_the_rest(sources):
    weights = {"a": 1, "b": 1, "union": 2}
    planned = resolved(make_plan(sources, [phase(47, weights, SEQ_LEN)]))
    served = resolved(make_plan(sources, [phase(40, weights, SEQ_LEN)], skips=[[11, 4], [20, 3]]))
    assert served == planned[:11] + planned[15:24] + planned[27:]


@pytest.mark.clause("C1.10")
def test_what_is_passed_over_is_nowhere_on_the_way_back(sources):
    plan = make_plan(sources, [phase(30, {"a": 1, "b": 2}, SEQ_LEN), phase(9, {"union": 1}, SEQ_LEN)], skips=[[4, 6]])
    passed = [sample for sample, served in taken(plan, corpora_of(plan)) if not served]
    opened = Plan.from_json(plan)
    for sample in passed:
        positions = opened.where(sample.source, sample.corpus, sample.first + 1, sample.first + SEQ_LEN - 1)
        assert (sample.epoch, sample.offset) not in {(opened.resolve(p).epoch, opened.resolve(p).offset) for p in positions}


@pytest.mark.clause("C3.7")
def test_the_way_back_jumps_over_epochs_that_a_skip_passes_over(sources):
    skips = [[2, 3 * 2**40 + 1], [5, 7]]
    plan = Plan.from_json(make_plan({"a": sources["a"]}, [phase(12, {"a": 1}, SEQ_LEN)], skips=skips))
    samples = [plan.resolve(position) for position in range(12)]
    for window in range(3):
        expected = [sample.position for sample in samples if sample.window == window]
        first, corpus = window * SEQ_LEN + 1, plan.sources[0].corpora[0].name
        assert plan.where("a", corpus, first, first) == expected
