"""Plans that the reference refuses: budgets, sign-offs, one collection twice, sources that cannot serve (C1)."""

import json

import pytest
from corpora import Serial, write_corpus
from plans import make_plan, phase

from fivepoint.errors import BudgetError, PlanError, UsageError
from fivepoint.reference.loader import Loader
from fivepoint.reference.plan import Plan

SEQ_LEN = 4


@pytest.fixture
def write(tmp_path):
    """Write a corpus of serial numbers: its name and number of windows, or its documents."""
    serial = Serial()

    def make(name, windows=0, documents=None):
        lengths = [windows * SEQ_LEN + 1]
        return write_corpus(tmp_path / name, documents or serial.documents(lengths))

    return make


@pytest.fixture
def load(tmp_path):
    """Open a plan as a run would: from its file."""

    def read(plan):
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        return Plan.load(tmp_path / "plan.json")

    return read


@pytest.mark.clause("C1.4")
@pytest.mark.parametrize(("length", "skips"), [(20, []), (15, [[3, 5]])])
def test_a_budget_that_is_just_kept(write, load, length, skips):
    plan = make_plan({"a": [write("a", 10)]}, [phase(length, {"a": 1}, SEQ_LEN)], skips=skips, budgets={"a": {"max_epochs": 2}})
    assert load(plan).length == length


@pytest.mark.clause("C1.4")
@pytest.mark.parametrize(("length", "skips"), [(21, []), (15, [[3, 6]])])
def test_a_budget_exceeded_by_one_sample(write, load, length, skips):
    plan = make_plan({"a": [write("a", 10)]}, [phase(length, {"a": 1}, SEQ_LEN)], skips=skips, budgets={"a": {"max_epochs": 2}})
    with pytest.raises(BudgetError, match=r"(?s)'a'.*begins 3.*phase.*\b21\b.*\b10\b"):
        load(plan)


@pytest.mark.clause("C1.4")
@pytest.mark.parametrize("limited", ["a", "b"])
def test_a_corpus_of_two_sources_has_one_budget(write, load, limited):
    document = Serial().documents([41])
    folders = {name: [write(name, documents=document)] for name in ("a", "b")}
    phases = [phase(10, {"a": 1}, SEQ_LEN), phase(10, {"b": 1}, SEQ_LEN)]
    assert load(make_plan(folders, phases, budgets={limited: {"max_epochs": 2}})).length == 20
    with pytest.raises(BudgetError):
        load(make_plan(folders, phases, budgets={limited: {"max_epochs": 1}}))


@pytest.mark.clause("C1.5")
def test_four_epochs_need_no_sign_off(write, load):
    assert load(make_plan({"a": [write("a", 5)]}, [phase(20, {"a": 1}, SEQ_LEN)], budgets={})).length == 20


@pytest.mark.clause("C1.5")
def test_a_sample_above_four_epochs_needs_a_sign_off(write, load):
    folders = {"a": [write("a", 5)]}
    with pytest.raises(BudgetError, match="repeats_signed_off"):
        load(make_plan(folders, [phase(21, {"a": 1}, SEQ_LEN)], budgets={}))
    assert load(make_plan(folders, [phase(21, {"a": 1}, SEQ_LEN)], budgets={"a": {"repeats_signed_off": "us"}})).length == 21


@pytest.mark.clause("C1.5")
def test_the_loader_opens_no_plan_that_lacks_a_sign_off(write):
    plan = Plan.from_json(make_plan({"a": [write("a", 5)]}, [phase(21, {"a": 1}, SEQ_LEN)], budgets={}))
    with pytest.raises(BudgetError):
        Loader(plan, 0, 1, 1)


@pytest.mark.clause("C1.9")
def test_one_corpus_twice_in_a_union(write, load):
    document = Serial().documents([41])
    folders = [write("first", documents=document), write("copy", documents=document)]
    with pytest.raises(PlanError, match="copy"):
        load(make_plan({"a": folders}, [phase(5, {"a": 1}, SEQ_LEN)]))


@pytest.mark.clause("C1.9")
def test_one_corpus_in_two_sources_of_a_phase(write, load):
    document = Serial().documents([41])
    folders = {name: [write(name, documents=document)] for name in ("a", "b")}
    with pytest.raises(PlanError, match=r"'a'.*'b'|'b'.*'a'"):
        load(make_plan(folders, [phase(5, {"a": 1, "b": 1}, SEQ_LEN)]))


@pytest.mark.clause("C1.9")
def test_one_corpus_in_sources_of_different_phases(write, load):
    document = Serial().documents([41])
    folders = {name: [write(name, documents=document)] for name in ("a", "b")}
    assert load(make_plan(folders, [phase(5, {"a": 1}, SEQ_LEN), phase(5, {"b": 1}, SEQ_LEN)])).length == 10


@pytest.mark.clause("C1.11")
def test_fewer_windows_than_draws_in_a_step(write, load):
    folders = {"a": [write("a", 3)], "b": [write("b", 60)]}
    phases = [phase(20, {"a": 1, "b": 1}, SEQ_LEN)]
    assert load(make_plan(folders, phases, batch_sizes=[[0, 6]], budgets={})).length == 20
    with pytest.raises(PlanError, match="repeats_in_step_signed_off"):
        load(make_plan(folders, phases, batch_sizes=[[0, 8]], budgets={}))


@pytest.mark.clause("C1.11")
def test_a_source_that_is_drawn_less_often_than_it_has_windows(write, load):
    folders = {"a": [write("a", 9)], "b": [write("b", 60)]}
    assert load(make_plan(folders, [phase(10, {"a": 4, "b": 1}, SEQ_LEN)], batch_sizes=[[0, 10]], budgets={})).length == 10


@pytest.mark.clause("C1.11")
def test_repeats_in_a_step_that_somebody_signed_off(write, load):
    folders = {"a": [write("a", 3)], "b": [write("b", 60)]}
    budgets = {"a": {"repeats_in_step_signed_off": "us"}}
    assert load(make_plan(folders, [phase(20, {"a": 1, "b": 1}, SEQ_LEN)], batch_sizes=[[0, 8]], budgets=budgets)).length == 20


@pytest.mark.clause("C1.11")
def test_repeats_in_a_step_of_a_later_size(write, load):
    folders = {"a": [write("a", 3)], "b": [write("b", 60)]}
    with pytest.raises(PlanError, match="repeats_in_step_signed_off"):
        load(make_plan(folders, [phase(20, {"a": 1, "b": 1}, SEQ_LEN)], batch_sizes=[[0, 2], [8, 12]], budgets={}))


@pytest.mark.clause("C1.11")
def test_repeats_in_a_step_whose_size_the_loader_brings(write, load):
    plan = load(make_plan({"a": [write("a", 3)], "b": [write("b", 60)]}, [phase(20, {"a": 1, "b": 1}, SEQ_LEN)], budgets={}))
    Loader(plan, 0, 2, 3)
    with pytest.raises((PlanError, UsageError), match="repeats_in_step_signed_off"):
        Loader(plan, 0, 2, 4)


@pytest.mark.clause("C1.12")
def test_a_source_without_a_whole_window(write, load):
    folders = {"a": [write("a", documents=[range(1, SEQ_LEN + 1)])], "b": [write("b", 60)]}
    with pytest.raises(PlanError, match="'a'"):
        load(make_plan(folders, [phase(20, {"a": 1, "b": 1}, SEQ_LEN)]))


@pytest.mark.clause("C1.12")
def test_a_union_in_which_one_corpus_has_no_window(write, load):
    folders = {"a": [write("short", documents=[range(1, SEQ_LEN + 1)]), write("long", 5)]}
    assert load(make_plan(folders, [phase(5, {"a": 1}, SEQ_LEN)])).resolve(0).spans[0].corpus == "long"


@pytest.mark.clause("C1.12")
def test_a_source_whose_turn_never_comes(write, load):
    # each phase ends before the turn of b, whose shares add up to a sample
    folders = {"a": [write("a", 9)], "b": [write("b", 9)]}
    weights = {"a": 1, "b": 1}
    assert load(make_plan(folders, [phase(1, weights, SEQ_LEN)])).length == 1
    with pytest.raises(PlanError, match="'b'"):
        load(make_plan(folders, [phase(1, weights, SEQ_LEN), phase(1, weights, SEQ_LEN)]))


MALFORMED = {
    "a source twice": lambda plan: plan["sources"].append(plan["sources"][0]),
    "sources out of order": lambda plan: plan["sources"].reverse(),
    "a weight of an unknown source": lambda plan: plan["phases"][0]["weights"].update(c=1),
    "a weight of 0": lambda plan: plan["phases"][0]["weights"].update(a=0),
    "a negative weight": lambda plan: plan["phases"][0]["weights"].update(a=-1),
    "a weight that is no integer": lambda plan: plan["phases"][0]["weights"].update(a=0.5),
    "no weights": lambda plan: plan["phases"][0].update(weights={}),
    "a common divisor": lambda plan: plan["phases"][0]["weights"].update(a=2, b=2),
    "an unknown rule": lambda plan: plan["phases"][0].update(rule="random"),
    "a source that no phase weighs": lambda plan: plan["phases"][0].update(weights={"a": 1}),
    "skips out of order": lambda plan: plan.update(skips=[[5, 1], [3, 1]]),
    "two skips at one place": lambda plan: plan.update(skips=[[5, 1], [5, 1]]),
    "a skip of nothing": lambda plan: plan.update(skips=[[5, 0]]),
    "a skip at the end": lambda plan: plan.update(skips=[[20, 1]]),
    "skips of more samples than a run may take": lambda plan: plan.update(skips=[[5, 2**48 - 19]]),
    "batch sizes that begin late": lambda plan: plan.update(batch_sizes=[[1, 4]]),
    "batch sizes out of order": lambda plan: plan.update(batch_sizes=[[0, 4], [8, 2], [4, 2]]),
    "a batch size of 0": lambda plan: plan.update(batch_sizes=[[0, 0]]),
    "a phase of no length": lambda plan: plan["phases"][0].update(length=0),
    "a grid that is not the sequence length": lambda plan: plan["phases"][0].update(grid=8),
    "an unknown version": lambda plan: plan.update(version=2),
    "another format": lambda plan: plan.update(format="fivepoint-corpus"),
    "an unknown field": lambda plan: plan.update(comment="mine"),
    "a seed of 65 bits": lambda plan: plan.update(seed=2**64),
    "an order of a later version": lambda plan: plan["sources"][0].update(windows="grouped"),
    "a budget of an unknown source": lambda plan: plan.update(budgets={"c": {"max_epochs": 1}}),
    "a path too few": lambda plan: plan["paths"].update(a=[]),
}


@pytest.mark.clause("C1.2")
@pytest.mark.parametrize("fault", MALFORMED)
def test_a_malformed_plan(write, load, fault):
    plan = make_plan({"a": [write("a", 9)], "b": [write("b", 9)]}, [phase(20, {"a": 2, "b": 1}, SEQ_LEN)])
    assert load(plan).length == 20
    MALFORMED[fault](plan)
    with pytest.raises(PlanError):
        load(plan)


def test_a_refusal_is_one_line_whatever_a_file_names():
    assert str(PlanError("found a\nb\x1b[31m")) == r"found a\nb\x1b[31m"
    assert str(BudgetError("found a\nb", ("one  1", "two\n 2"))) == "found a\\nb\none  1\ntwo\\n 2"
