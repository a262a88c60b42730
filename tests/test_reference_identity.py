"""What moves a hash, what does not, and data that is not the plan's, in the reference (C3.5, C3.6; F0, F3)."""

import json
import os
import shutil
from copy import deepcopy

import pytest
from corpora import Serial, Tokenizer, write_corpus
from hypothesis import given
from hypothesis import strategies as st
from independent.identity import canonical, cut, plan_hash, prefix_hash, sha256
from plans import length_of, make_plan, phase
from pool import make_pool

from fivepoint.errors import CorpusError
from fivepoint.reference import canonical as reference
from fivepoint.reference.loader import Loader
from fivepoint.reference.manifest import Manifest
from fivepoint.reference.plan import Plan

JSON = st.recursive(
    st.booleans() | st.integers(0, 2**64 - 1) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """Three sources, one of them a union, two phases and two skips; at position 25 the second phase has begun."""
    pool = make_pool(tmp_path_factory.mktemp("pool"))
    sources = {"a": [pool[4]], "b": [pool[9]], "union": [pool[7], pool[5]]}
    phases = [phase(20, {"a": 1, "union": 2}, 4), phase(40, {"a": 1, "b": 2, "union": 3}, 4)]
    return make_plan(sources, phases, skips=[[10, 3], [30, 2]], batch_sizes=[[0, 2], [20, 4]])


@pytest.mark.clause("C3.5")
@given(JSON)
def test_canonical_form(value):
    assert reference.canonical(value) == canonical(value).encode()
    assert reference.digest(value) == sha256(value)


@pytest.mark.clause("C3.5")
@pytest.mark.parametrize("value", [0.5, 1.0, None, float("nan"), {"a": None}, [1.5], {1: 2}, -1, 2**64, "\ud800"], ids=str)
def test_values_without_canonical_form(value):
    with pytest.raises((TypeError, ValueError)):
        reference.canonical(value)


@pytest.mark.clause("C3.5")
def test_plan_hash(plan):
    assert Plan.from_json(plan).plan_hash == plan_hash(plan)


@pytest.mark.clause("C3.5")
def test_prefix_hash_at_every_position(plan):
    opened = Plan.from_json(plan)
    for consumed in range(length_of(plan) + 1):
        assert opened.cut(consumed).to_json() == cut(plan, consumed), f"cut at {consumed}"
        assert opened.prefix_hash(consumed) == prefix_hash(plan, consumed), f"cut at {consumed}"


@pytest.mark.clause("C3.5")
def test_a_cut_is_a_plan_and_its_own_cut(plan):
    opened = Plan.from_json(plan)
    for consumed in range(length_of(plan) + 1):
        again = Plan.from_json(opened.cut(consumed).to_json())
        assert again.plan_hash == opened.prefix_hash(consumed)
        assert again.cut(consumed).plan_hash == again.plan_hash


PAST = {
    "seed": lambda plan: plan.update(seed=plan["seed"] + 1),
    "name of a source": lambda plan: rename(plan, "b", "c"),
    "name of a corpus": lambda plan: plan["sources"][0]["corpora"][0].update(name="renamed"),
    "manifest": lambda plan: plan["sources"][1]["corpora"][0].update(manifest="0" * 64),
    "content": lambda plan: plan["sources"][2]["corpora"][1].update(content="0" * 64),
    "tokens": lambda plan: plan["sources"][0]["corpora"][0].update(tokens=14),
    "order of a union": lambda plan: plan["sources"][2]["corpora"].reverse(),
    "another corpus in a union": lambda plan: (plan["sources"][2]["corpora"].pop(), plan["paths"].clear()),
    "length of a phase that ended": lambda plan: plan["phases"][0].update(length=21),
    "rule of a phase that ended": lambda plan: plan["phases"][0].update(rule="furthest-behind"),
    "rule of the present phase": lambda plan: plan["phases"][1].update(rule="furthest-behind"),
    "weight in a phase that ended": lambda plan: plan["phases"][0]["weights"].update(a=3),
    "weight in the present phase": lambda plan: plan["phases"][1]["weights"].update(b=1),
    "sequence length": lambda plan: [part.update(seq_len=3, grid=3) for part in plan["phases"]],
    "place of a skip": lambda plan: plan["skips"][0].__setitem__(0, 11),
    "count of a skip": lambda plan: plan["skips"][0].__setitem__(1, 4),
    "a skip less": lambda plan: plan["skips"].pop(0),
    "a skip more": lambda plan: plan["skips"].insert(0, [0, 1]),
    "a phase split in two": lambda plan: plan["phases"].insert(0, {**split(plan["phases"][0]), "length": 10}),
}
FUTURE = {
    "length of the present phase": lambda plan: plan["phases"][1].update(length=50),
    "a skip later": lambda plan: plan["skips"][1].__setitem__(0, 25),
    "no skip later": lambda plan: plan["skips"].pop(),
    "batch sizes": lambda plan: plan.update(batch_sizes=[[0, 1]]),
    "no batch sizes": lambda plan: plan.pop("batch_sizes"),
    "budgets": lambda plan: plan["budgets"]["a"].update(max_epochs=1000),
    "a phase more": lambda plan: plan["phases"].append(phase(9, {"b": 1}, 4)),
}
NEITHER = {
    "paths": lambda plan: plan.update(paths={name: ["/elsewhere"] * len(folders) for name, folders in plan["paths"].items()}),
    "no paths": lambda plan: plan.pop("paths"),
    "order of the keys": lambda plan: [plan.update({key: plan.pop(key)}) for key in sorted(plan, reverse=True)],
    "order of the weights": lambda plan: plan["phases"][1].update(weights=dict(reversed(plan["phases"][1]["weights"].items()))),
}


def rename(plan, before, after):
    plan["sources"][1]["name"] = after
    plan["phases"][1]["weights"][after] = plan["phases"][1]["weights"].pop(before)
    for part in ("paths", "budgets"):
        plan[part][after] = plan[part].pop(before)


def split(part):
    part["length"] -= 10
    return part


def hashes(plan):
    opened = Plan.from_json(plan)
    return opened.plan_hash, opened.prefix_hash(25)


@pytest.mark.clause("C3.5")
@pytest.mark.parametrize("flip", PAST)
def test_both_hashes_move_with_the_past(plan, flip):
    changed = deepcopy(plan)
    PAST[flip](changed)
    assert [new != old for new, old in zip(hashes(changed), hashes(plan), strict=True)] == [True, True]


@pytest.mark.clause("C3.5")
@pytest.mark.parametrize("flip", FUTURE)
def test_prefix_hash_stays_while_the_future_changes(plan, flip):
    changed = deepcopy(plan)
    FUTURE[flip](changed)
    assert [new != old for new, old in zip(hashes(changed), hashes(plan), strict=True)] == [True, False]


@pytest.mark.clause("C3.5")
@pytest.mark.parametrize("flip", NEITHER)
def test_no_hash_moves_with_what_decides_nothing(plan, flip):
    changed = deepcopy(plan)
    NEITHER[flip](changed)
    assert hashes(changed) == hashes(plan)


CORPUS = {
    "name": {"name": "other"},
    "dtype": {"dtype": "uint32", "vocab_size": 1 << 16},
    "vocabulary": {"vocab_size": 60_000},
    "end of document": {"eod_id": 1},
    "name of the tokenizer": {"tokenizer": Tokenizer("other", "0" * 64)},
    "file of the tokenizer": {"tokenizer": Tokenizer("serial numbers", "1" * 64)},
    "shards": {"shard_bytes": 20},
    "a token": {"documents": [list(range(10)), [10, 12]]},
    "a boundary": {"documents": [list(range(9)), [9, 10, 11]]},
    "a document of no length": {"documents": [list(range(10)), [], [10, 11]]},
}


@pytest.mark.clause("C3.5")
@pytest.mark.parametrize("flip", CORPUS)
def test_manifest_hash_moves_with_all_that_a_corpus_is(tmp_path, flip):
    documents = [list(range(10)), [10, 11]]
    plain = write_corpus(tmp_path / "plain", documents, name="c")
    options = {"documents": documents, "name": "c"} | CORPUS[flip]
    other = write_corpus(tmp_path / "other", **options)
    assert Manifest.load(plain).manifest_hash == sha256(json.loads((plain / "manifest.json").read_text()))
    assert Manifest.load(plain).manifest_hash != Manifest.load(other).manifest_hash


@pytest.mark.clause("C3.5")
def test_manifest_hash_stays_with_a_copy_elsewhere(tmp_path):
    folder = write_corpus(tmp_path / "here", [range(10)])
    assert Manifest.load(folder) == Manifest.load(shutil.copytree(folder, tmp_path / "there"))


def cut_last_byte(folder):
    shard = next(folder.glob("*.bin"))
    os.truncate(shard, shard.stat().st_size - 1)


def cut_last_token(folder):
    shard = next(folder.glob("*.bin"))
    os.truncate(shard, shard.stat().st_size - 2)


def grow(folder):
    with next(folder.glob("*.bin")).open("ab") as file:
        file.write(b"\0\0")


def change_manifest(folder):
    value = json.loads((folder / "manifest.json").read_text())
    value["tokenizer"]["sha256"] = "1" * 64
    (folder / "manifest.json").write_text(json.dumps(value))


def put_another(folder):
    shutil.rmtree(folder)
    write_corpus(folder, Serial(500).documents([20, 21]))


DAMAGE = {
    "a shard short of a byte": cut_last_byte,
    "a shard short of a token": cut_last_token,
    "a shard that grew": grow,
    "no shard": lambda folder: next(folder.glob("*.bin")).unlink(),
    "no index": lambda folder: next(folder.glob("*.idx.npy")).unlink(),
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "half a manifest": lambda folder: os.truncate(folder / "manifest.json", 100),
    "another tokenizer": change_manifest,
    "another corpus of that name and size": put_another,
    "no folder": shutil.rmtree,
}


@pytest.mark.clause("C3.6")
@pytest.mark.parametrize("damage", DAMAGE)
def test_data_that_is_not_the_plans_is_refused(tmp_path, damage):
    folder = write_corpus(tmp_path / "corpus", Serial().documents([20, 21]))
    opened = Plan.from_json(make_plan({"a": [folder]}, [phase(10, {"a": 1}, 4)]))
    Loader(opened, 0, 1, 1)
    DAMAGE[damage](folder)
    with pytest.raises(CorpusError, match="corpus"):
        Loader(opened, 0, 1, 1)


@pytest.mark.clause("C3.6")
@pytest.mark.parametrize("field, value", [("tokens", 33), ("content", "1" * 64), ("name", "another")])
def test_a_plan_that_contradicts_the_manifest_it_pins_is_refused(tmp_path, field, value):
    folder = write_corpus(tmp_path / "corpus", Serial().documents([20, 21]))
    plan = make_plan({"a": [folder]}, [phase(10, {"a": 1}, 4)])
    plan["sources"][0]["corpora"][0][field] = value
    with pytest.raises(CorpusError, match="as the plan says"):
        Loader(Plan.from_json(plan), 0, 1, 1)
