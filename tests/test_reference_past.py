"""Which states a plan of the reference goes on from: another past is refused by field, the future is free (C4.7, C4.8)."""

from copy import deepcopy

import pytest
from amendments import before
from corpora import Serial, write_corpus
from plans import make_plan, phase
from pool import make_pool, varied_plan
from ranks import Expected, Layout, Ranks, as_lists, check_to_end, served, state_at

from fivepoint.errors import CheckpointError
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


@pytest.mark.clause("C4.7")
@pytest.mark.parametrize("field", ["consumed", "step"])
def test_a_state_that_holds_a_float_is_damaged(plan, field):
    state = state_at(plan, 35)
    state[field] = float(state[field])
    with pytest.raises(CheckpointError, match=r"the checkpoint is damaged: .*found"):
        Loader(Plan.from_json(plan), 0, 1, 1, checkpoint=state)
