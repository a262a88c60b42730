"""Stops and resumes of the reference at places worth keeping, against the run of the second implementation (C4.1 to C4.6)."""

import pytest
from corpora import Serial, write_corpus
from independent.identity import cut, plan_hash, prefix_hash
from plans import make_plan, phase
from pool import make_pool, varied_plan
from ranks import Expected, Layout, Ranks, as_lists, check_step, check_to_end, served, state_at

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


@pytest.mark.clause("C4.1")
@pytest.mark.clause("C4.5")
@pytest.mark.parametrize("consumed", range(91))
def test_resume_at_every_position(plan, expected, consumed):
    # among them the ends of every epoch, of the first phase and of the run, and the places of the skips
    check_to_end(expected, Ranks(plan, Layout(2, 1, 1), state_at(plan, consumed)), consumed)


@pytest.mark.clause("C4.1")
@pytest.mark.parametrize("stop", range(0, 31, 2))
def test_ten_samples_three_times_in_batches_of_two(tmp_path, stop):
    folder = write_corpus(tmp_path / "ten", Serial().documents([41]))
    plan = make_plan({"a": [folder]}, [phase(30, {"a": 1}, 4)])
    check_to_end(Expected(plan), Ranks(plan, Layout(1, 2), state_at(plan, stop)), stop)


@pytest.mark.clause("C4.1")
def test_twelve_rows_saved_after_each(tmp_path):
    folder = write_corpus(tmp_path / "twelve", Serial().documents([49]))
    plan = Plan.from_json(make_plan({"a": [folder]}, [phase(12, {"a": 1}, 4)]))
    loader, rows = Loader(plan, 0, 1, 1), []
    for _ in range(12):
        rows += next(next(loader)).windows.tolist()
        loader.commit()
        loader = Loader(plan, 0, 1, 1, checkpoint=loader.state_dict())
    assert sorted(rows) == list(range(12))
    assert loader.complete and next(loader, None) is None


@pytest.mark.clause("C4.1")
def test_accumulation_is_counted(tmp_path):
    # an epoch of 100 micro-batches of two rows; 500 steps of 4 micro-batches are 20 epochs
    folder = write_corpus(tmp_path / "corpus", Serial().documents([201]))
    plan = Plan.from_json(make_plan({"a": [folder]}, [phase(4200, {"a": 1}, 1)]))
    loader = Loader(plan, 0, 1, 2, 4)
    served(loader, 500)
    resumed = Loader(plan, 0, 1, 2, 4, checkpoint=loader.state_dict())
    first = next(next(resumed)).positions.tolist()[0]
    assert (plan.resolve(first).epoch, plan.resolve(first).offset) == (20, 0)


@pytest.mark.clause("C4.2")
def test_a_state_inside_a_step_is_that_of_the_last_commit(plan):
    loader = Loader(Plan.from_json(plan), 0, 2, 2, 3)
    states = [loader.state_dict()]
    for step in loader:
        states.append(loader.state_dict())
        for _ in step:
            states.append(loader.state_dict())
        assert all(state == states[0] for state in states), f"before the commit at {loader.consumed}"
        loader.commit()
        states = [loader.state_dict()]
        assert states[0]["consumed"] == loader.consumed


@pytest.mark.clause("C4.2")
def test_a_step_that_was_served_and_not_committed_comes_again(plan, expected):
    ranks = Ranks(plan, Layout(3, 2, 1), state_at(plan, 12))
    check_step(expected, ranks, 12)
    states = [loader.state_dict() for loader in ranks.loaders]
    for state in states:
        check_step(expected, Ranks(plan, Layout(3, 2, 1), state), 12)


@pytest.mark.slow
@pytest.mark.clause("C4.3")
@pytest.mark.parametrize("dp_size", [1, 2, 3, 5, 8, 13, 64])
def test_resume_on_another_number_of_ranks(plan, expected, dp_size):
    ranks = Ranks(plan, Layout(4, 1, 2))
    check_step(expected, ranks, 0)
    ranks.commit()
    state = ranks.loaders[3].state_dict()
    check_to_end(expected, Ranks(plan, Layout(dp_size, 1, 1), state), 8)


@pytest.mark.clause("C4.3")
def test_batch_sizes_go_on_where_they_stand(plan):
    ramp = plan | {"batch_sizes": [[0, 2], [6, 4], [30, 8], [60, 2]]}
    ramped = Expected(ramp)
    for stop in (2, 6, 10, 30, 38, 62, 90):
        check_to_end(ramped, Ranks(ramp, Layout(2, 1), state_at(plan | {"batch_sizes": [[0, 1]]}, stop)), stop)


@pytest.mark.clause("C4.4")
@pytest.mark.parametrize("micro_batch", [1, 2])
def test_a_resume_after_every_step(plan, expected, micro_batch):
    state = None
    for consumed in range(0, 90, micro_batch * 3):
        ranks = Ranks(plan, Layout(3, micro_batch), state)
        check_step(expected, ranks, consumed)
        ranks.commit()
        state = ranks.loaders[consumed % 3].state_dict()
    check_to_end(expected, Ranks(plan, Layout(1, 1), state), 90)


@pytest.mark.clause("C4.5")
def test_a_run_that_is_over_says_so(plan):
    loader = Loader(Plan.from_json(plan), 0, 1, 7, checkpoint=state_at(plan, 84))
    assert loader.complete and loader.unserved == 6
    assert next(loader, None) is None
    assert loader.state_dict()["consumed"] == 84


@pytest.mark.clause("C4.6")
def test_ranks_save_one_state(plan, expected):
    ranks = Ranks(plan, Layout(5, 2, 1))
    for consumed in (0, 10, 20):
        check_step(expected, ranks, consumed)
        ranks.commit()
        states = [loader.state_dict() for loader in ranks.loaders]
        assert all(state == states[0] for state in states)


@pytest.mark.clause("C4.6")
def test_what_a_state_holds(plan):
    state = state_at(plan, 35)
    hashes = {"plan_hash": plan_hash(plan), "prefix_hash": prefix_hash(plan, 35), "plan": cut(plan, 35)}
    assert state == {"format": "fivepoint-checkpoint", "version": 1, "consumed": 35, "step": 35, **hashes}


@pytest.mark.clause("C4.1")
def test_an_open_loader_goes_on_from_a_state(plan, expected):
    loader = Loader(Plan.from_json(plan), 0, 1, 2)
    list(next(loader))
    loader.load_state_dict(state_at(plan, 35))
    assert as_lists(next(next(loader))) == expected.batch([35, 36])


@pytest.mark.clause("C1.10")
def test_after_a_skip_of_steps_their_successors_are_trained(tmp_path):
    # steps 2 to 4 of 4 samples are passed over: steps 10 to 12 train what 13 to 15 were planned to
    folder = write_corpus(tmp_path / "corpus", Serial().documents([101]))
    planned = make_plan({"a": [folder]}, [phase(80, {"a": 1}, 4)])
    skipping = planned | {"skips": [[8, 12]]}
    assert Expected(skipping).run[40:52] == Expected(planned).run[52:64]
    for step in (3, 4, 5):
        check_to_end(Expected(skipping), Ranks(skipping, Layout(2, 2), state_at(skipping, 4 * step)), 4 * step)
