"""Stops and resumes of the reference at places worth keeping, against the run of the second implementation (C4)."""

import json
import time
from copy import deepcopy
from statistics import median

import pytest
from amendments import before
from corpora import Serial, write_corpus
from independent.identity import cut, plan_hash, prefix_hash
from plans import length_of, make_plan, phase
from pool import make_pool
from ranks import Expected, Layout, Ranks, as_lists, check_step, check_to_end

from fivepoint.errors import CheckpointError, UsageError
from fivepoint.reference.loader import Loader
from fivepoint.reference.plan import Plan


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    return make_pool(tmp_path_factory.mktemp("pool"))


@pytest.fixture(scope="module")
def plan(pool):
    """A run of 90 positions: sources of 3, 8 and 10 windows, a change of mixture at 30, two skips."""
    sources = {"a": [pool[4]], "b": [pool[9]], "union": [pool[7], pool[5]]}
    phases = [phase(30, {"a": 1, "union": 2}, 4), phase(60, {"a": 1, "b": 2, "union": 3}, 4, "furthest-behind")]
    return make_plan(sources, phases, skips=[[10, 3], [40, 2]])


@pytest.fixture(scope="module")
def expected(plan):
    return Expected(plan)


def state_at(plan, consumed):
    """Return the state of a run that stands at `consumed`, as JSON that went through a file."""
    ranks = Ranks(plan, Layout(1, 1))
    for _ in range(consumed):
        list(ranks.serve()[0])
        ranks.commit()
    return json.loads(json.dumps(ranks.loaders[0].state_dict()))


def served(loader, steps=None):
    """Return the positions of each of the next steps."""
    found = []
    for step in loader:
        found.append([position for batch in step for position in batch.positions.tolist()])
        loader.commit()
        if len(found) == steps:
            break
    return found


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


PAST = {
    "seed": lambda plan: plan.update(seed=1),
    "phases[0].rule": lambda plan: plan["phases"][0].update(rule="furthest-behind"),
    "phases[0].weights.union": lambda plan: plan["phases"][0]["weights"].update(union=3),
    "phases[1].weights.b": lambda plan: plan["phases"][1]["weights"].update(b=1),
    "phases[0].length": lambda plan: plan["phases"][0].update(length=31),
    "skips[0]": lambda plan: plan["skips"][0].__setitem__(1, 4),
    "sources.union.corpora": lambda plan: (plan["sources"][2]["corpora"].reverse(), plan["paths"]["union"].reverse()),
}


@pytest.mark.clause("C4.7")
@pytest.mark.parametrize("field", PAST)
def test_another_past_is_refused_by_field(plan, field):
    state = state_at(plan, 35)
    changed = deepcopy(plan)
    PAST[field](changed)
    with pytest.raises(CheckpointError) as refusal:
        Loader(Plan.from_json(changed), 0, 1, 1, checkpoint=state)
    named = [name for name in refusal.value.fields if name.startswith(field)]
    assert named, f"{field} changed, {refusal.value.fields} named"
    assert named[0] in str(refusal.value)


@pytest.mark.clause("C4.7")
@pytest.mark.parametrize("field", PAST)
def test_no_other_field_is_named(plan, field):
    state = state_at(plan, 35)
    changed = deepcopy(plan)
    PAST[field](changed)
    with pytest.raises(CheckpointError) as refusal:
        Loader(Plan.from_json(changed), 0, 1, 1, checkpoint=state)
    # a phase that lasts longer leaves the next one shorter at the same place
    allowed = (field, "phases[1].length") if field == "phases[0].length" else (field,)
    assert all(name.startswith(allowed) for name in refusal.value.fields)


@pytest.mark.clause("C4.7")
def test_the_corpus_of_another_tokenizer_is_refused_by_field(tmp_path, plan):
    folders = {tokens: write_corpus(tmp_path / str(tokens), Serial(tokens).documents([41]), name="c") for tokens in (0, 50)}
    one, other = (make_plan({"a": [folder]}, [phase(10, {"a": 1}, 4)]) for folder in folders.values())
    with pytest.raises(CheckpointError, match=r"manifest"):
        Loader(Plan.from_json(other), 0, 1, 1, checkpoint=state_at(one, 5))


@pytest.mark.clause("C4.7")
def test_an_override_is_named_and_logged(plan):
    lines = []
    Loader(Plan.from_json(plan | {"seed": 1}), 0, 1, 1, checkpoint=state_at(plan, 35), override="we know", log=lines.append)
    assert [(line["event"], line["override"], line["consumed"]) for line in lines] == [("opened", "we know", 35)]
    assert [field.partition(":")[0] for field in lines[0]["differs"]] == ["seed"]


@pytest.mark.clause("C4.7")
def test_an_override_that_nothing_needs_is_not_logged(plan):
    lines = []
    Loader(Plan.from_json(plan), 0, 1, 1, checkpoint=state_at(plan, 35), override="to be sure", log=lines.append)
    assert "override" not in lines[0]


DAMAGE = {
    "consumed moved": lambda state: state.update(consumed=36),
    "consumed as text": lambda state: state.update(consumed="35"),
    "negative consumed": lambda state: state.update(consumed=-1),
    "no plan": lambda state: state.pop("plan"),
    "another hash": lambda state: state.update(prefix_hash="0" * 64),
    "another plan in it": lambda state: state["plan"].update(seed=1),
    "an unknown version": lambda state: state.update(version=2),
    "an unknown field": lambda state: state.update(rank=0),
}


@pytest.mark.clause("C4.7")
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_state_is_refused(plan, damage):
    state = state_at(plan, 35)
    DAMAGE[damage](state)
    with pytest.raises(CheckpointError):
        Loader(Plan.from_json(plan), 0, 1, 1, checkpoint=state, override="not even so")


@pytest.mark.clause("C4.7")
def test_a_state_beyond_the_end_is_refused(plan):
    shorter = plan | {"phases": before(plan, 60)}
    with pytest.raises(CheckpointError, match="70"):
        Loader(Plan.from_json(shorter), 0, 1, 1, checkpoint=state_at(plan, 70))


@pytest.mark.clause("C4.7")
def test_a_state_that_is_refused_leaves_an_open_loader_where_it_was(plan, expected):
    loader = Loader(Plan.from_json(plan), 0, 1, 2)
    served(loader, 3)
    with pytest.raises(CheckpointError):
        loader.load_state_dict(state_at(plan | {"seed": 1}, 10))
    assert as_lists(next(next(loader))) == expected.batch([6, 7])


@pytest.mark.clause("C4.1")
def test_an_open_loader_goes_on_from_a_state(plan, expected):
    loader = Loader(Plan.from_json(plan), 0, 1, 2)
    list(next(loader))
    loader.load_state_dict(state_at(plan, 35))
    assert as_lists(next(next(loader))) == expected.batch([35, 36])


@pytest.mark.clause("C4.8")
def test_a_longer_run_goes_on(plan):
    longer = deepcopy(plan)
    longer["phases"][1]["length"] += 30
    check_to_end(Expected(longer), Ranks(longer, Layout(2, 1), state_at(plan, 50)), 50)


@pytest.mark.clause("C4.8")
def test_a_finished_run_goes_on_with_a_new_phase(plan):
    longer = plan | {"phases": [*plan["phases"], phase(20, {"b": 1}, 4)]}
    check_to_end(Expected(longer), Ranks(longer, Layout(2, 1), state_at(plan, 90)), 90)


@pytest.mark.clause("C4.8")
def test_a_new_source_goes_in_from_here(plan, pool):
    sources = {"0": [pool[11]], "a": [pool[4]], "b": [pool[9]], "union": [pool[7], pool[5]]}
    phases = [*before(plan, 50), phase(40, {"0": 2, "a": 1}, 4)]
    amended = make_plan(sources, phases, skips=plan["skips"])
    check_to_end(Expected(amended), Ranks(amended, Layout(2, 1), state_at(plan, 50)), 50)


@pytest.mark.clause("C4.8")
@pytest.mark.parametrize("at", [50, 51, 89])
def test_a_skip_from_here_on(plan, at):
    amended = plan | {"skips": [*plan["skips"], [at, 5]]}
    check_to_end(Expected(amended), Ranks(amended, Layout(2, 1), state_at(plan, 50)), 50)


@pytest.mark.clause("C1.10")
def test_after_a_skip_of_steps_their_successors_are_trained(tmp_path):
    # steps 2 to 4 of 4 samples are passed over: steps 10 to 12 train what 13 to 15 were planned to
    folder = write_corpus(tmp_path / "corpus", Serial().documents([101]))
    planned = make_plan({"a": [folder]}, [phase(80, {"a": 1}, 4)])
    skipping = planned | {"skips": [[8, 12]]}
    assert Expected(skipping).run[40:52] == Expected(planned).run[52:64]
    for step in (3, 4, 5):
        check_to_end(Expected(skipping), Ranks(skipping, Layout(2, 2), state_at(skipping, 4 * step)), 4 * step)


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
