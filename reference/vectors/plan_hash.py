"""Cases of F3: the identity of a plan, and what it is made of."""

from copy import deepcopy
from typing import Any

from ..blend import FURTHEST_BEHIND
from .case import Case
from .plans import Json, corpus, opened, plan, source

CLAUSES = ["C3.5"]


def results(plan: Json) -> dict[str, Any]:
    """Return the hash of the plan."""
    return {"plan_hash": opened(plan).plan_hash}


BASE = plan(
    16, {"u": {"x": 333, "y": 444}, "web": 5555}, [(40, {"u": 1, "web": 3}), (20, {"u": 1, "web": 1})], skips=[(7, 2)], repeated=["u"]
)
RAMP = [[0, 4], [20, 8]]


def _case(id: str, comment: str, plan: Json) -> Case:
    return Case(f"plan-hash-{id}", comment, {"plan": plan})


def _with(id: str, comment: str, *path: str | int, value: Any) -> Case:
    """The plan BASE with one value in it replaced or added."""
    changed = deepcopy(BASE)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return _case(id, comment, changed)


def _reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed_keys(value[key]) for key in reversed(value)}
    return [_reversed_keys(item) for item in value] if isinstance(value, list) else value


def _without_budgets() -> Json:
    return {key: value for key, value in BASE.items() if key != "budgets"}


PATHS = {"u": ["corpora/x", "corpora/y"], "web": ["/data/web"]}
SAME = [
    _case("base", "the plan that the others differ from", BASE),
    _with("same-paths", "where the files lie decides nothing", "paths", value=PATHS),
    _with("same-other-paths", "nor where else they lie", "paths", value={"web": ["elsewhere/web"]}),
    _with("same-no-paths", "nor that nothing is said of it", "paths", value={}),
    _case("same-key-order", "nor in which order the keys of objects were written", _reversed_keys(BASE)),
]
OTHER = [
    _with("seed", "another seed", "seed", value=1235),
    _with("seed-2-to-53-plus-1", "a seed that a float would round", "seed", value=(1 << 53) + 1),
    _with("seed-2-to-64-less-1", "the largest seed", "seed", value=(1 << 64) - 1),
    _with(
        "manifest",
        "another manifest: another tokenizer or dtype, the same token files",
        "sources",
        1,
        "corpora",
        0,
        "manifest",
        value=corpus("w", 1)["manifest"],
    ),
    _with("content", "other content", "sources", 1, "corpora", 0, "content", value=corpus("w", 1)["content"]),
    _with("tokens", "one token more", "sources", 1, "corpora", 0, "tokens", value=5556),
    _with("corpus-name", "another name of a corpus", "sources", 1, "corpora", 0, "name", value="Web"),
    _with("union-order", "a union in another order", "sources", 0, value=source("u", {"y": 444, "x": 333})),
    _with("rule", "another rule in the second phase", "phases", 1, "rule", value=FURTHEST_BEHIND),
    _with("weights", "other weights in the second phase", "phases", 1, "weights", value={"u": 1, "web": 2}),
    _with("length", "a longer run", "phases", 1, "length", value=21),
    _with("skips-none", "no skips", "skips", value=[]),
    _with("skips-at", "a skip one position later", "skips", value=[[8, 2]]),
    _with("skips-count", "a skip of one sample more", "skips", value=[[7, 3]]),
    _with("batch-sizes", "batch sizes are part of the plan", "batch_sizes", value=RAMP),
    _with("batch-sizes-other", "and so is each of them", "batch_sizes", value=[[0, 4], [24, 8]]),
    _with(
        "budgets-max-epochs",
        "budgets are part of the plan",
        "budgets",
        value={"u": {"max_epochs": 9, "repeats_signed_off": "golden vectors"}},
    ),
    _with("budgets-sign-off", "and so is who signed off on it", "budgets", value={"u": {"repeats_signed_off": "somebody else"}}),
    _with("budgets-in-step", "and on repeats in a step", "budgets", "web", value={"repeats_in_step_signed_off": "golden vectors"}),
    _case("budgets-none", "no budgets", _without_budgets()),
    _case(
        "seq-len",
        "another sequence length",
        plan(
            17,
            {"u": {"x": 333, "y": 444}, "web": 5555},
            [(40, {"u": 1, "web": 3}), (20, {"u": 1, "web": 1})],
            skips=[(7, 2)],
            repeated=["u"],
        ),
    ),
    _case(
        "source-name",
        "another name of a source",
        plan(
            16,
            {"u": {"x": 333, "y": 444}, "wEb": {"web": 5555}},
            [(40, {"u": 1, "wEb": 3}), (20, {"u": 1, "wEb": 1})],
            skips=[(7, 2)],
            repeated=["u"],
        ),
    ),
    _case("phases-split", "one phase in two, with the same weights", plan(16, {"web": 5555}, [(20, {"web": 1}), (20, {"web": 1})])),
    _case("phases-joined", "and in one", plan(16, {"web": 5555}, [(40, {"web": 1})])),
    _case(
        "names",
        "names outside ASCII and outside the Basic Multilingual Plane, in paths too",
        plan(
            16,
            {"\U0001f600": 555, "\uff5e": 444, "\u00e9": 333, "e\u0301": 222},
            [(40, {"\U0001f600": 1, "\uff5e": 2, "\u00e9": 3, "e\u0301": 4})],
        )
        | {"paths": {"\U0001f600": ["\U0001f600/\u00e9"]}},
    ),
    _case(
        "names-escaped",
        "names that canonical JSON escapes",
        plan(16, {'"\\\x7f': 333, "a\u2028b": 222}, [(20, {'"\\\x7f': 1, "a\u2028b": 1})]),
    ),
]
CASES = [*SAME, *OTHER]
