"""Cases of A6: from tokens to every position that serves them."""

from typing import Any

from ..blend import FURTHEST_BEHIND
from .case import Case
from .plans import Json, opened, plan

CLAUSES = ["C3.7", "C1.10"]


def results(plan: Json, source: str, corpus: str, first: int, last: int) -> dict[str, Any]:
    """Return the positions, ascending."""
    return {"positions": opened(plan).where(source, corpus, first, last)}


def _case(id: str, comment: str, plan: Json, source: str, corpus: str, first: int, last: int, refused: str = "", **known: Any) -> Case:
    inputs = {"plan": plan, "source": source, "corpus": corpus, "first": first, "last": last}
    return Case(f"where-{id}", comment, inputs, refused, known)


def _one(id: str, comment: str, first: int, last: int, refused: str = "", **known: Any) -> Case:
    """A case over one source of 24 tokens: five windows of L = 4, and tokens 21 to 23 in none of them."""
    return _case(id, comment, ONE, "a", "a", first, last, refused, **known)


ONE = plan(4, {"a": 24}, [(12, {"a": 1})])
SKIPPED = plan(4, {"a": 24}, [(12, {"a": 1})], skips=[(0, 1), (3, 2), (7, 5)])
UNION = plan(4, {"other": 61, "u": {"x": 15, "y": 3, "z": 22}}, [(30, {"other": 1, "u": 2})])
PHASED = plan(
    4,
    {"a": 41, "b": 29, "c": 23},
    [(7, {"a": 2, "b": 1}), (6, {"b": 1, "c": 1}), (9, {"a": 1, "b": 3, "c": 2}, FURTHEST_BEHIND)],
    skips=[(7, 2), (12, 1), (13, 1)],
)
LONG = plan(4096, {"books": 26_000_000_001, "web": 2_134_567_890_123}, [(10**9, {"books": 1, "web": 99})])
LONGEST = plan(1, {"u": {"x": 1 << 48, "y": 2}}, [(1 << 48, {"u": 1})])
CASES = [
    _one("first-token", "token 0 is in the first window alone; once in each epoch", 0, 0),
    _one("inside-a-window", "a token that one window holds", 6, 6),
    _one("shared-edge", "token kL is the last target of one window and the first input of the next", 4, 4),
    _one("edge-range", "the last token of a window and the first one after it", 4, 5),
    _one("before-the-edge", "up to the last input of a window, and not its last target", 1, 3),
    _one("last-target", "the last token that a window holds", 20, 20),
    _one("tail", "tokens that no window holds", 21, 23, positions=[]),
    _one("into-the-tail", "from the last window into the tail", 19, 23),
    _one("whole-corpus", "every token: every position", 0, 23, positions=list(range(12))),
    _one("two-windows", "a document over two windows", 6, 10),
    _one("refused-past-the-end", "the corpus has no token 24", 23, 24, "token 24 is past the corpus"),
    _one("refused-backwards", "last before first", 5, 4, "the tokens are in descending order"),
    _case("refused-source", "not in the plan", ONE, "b", "a", 0, 0, "the plan has no source b"),
    _case("refused-corpus", "not in the source", ONE, "a", "b", 0, 0, "source a has no corpus b"),
    *(
        _case(f"skipped-{first}", "windows passed over are at no position", SKIPPED, "a", "a", first, first + 3)
        for first in (0, 4, 8, 12, 16)
    ),
    _case("skipped-whole-corpus", "all that is served, at every position", SKIPPED, "a", "a", 0, 23, positions=list(range(12))),
    _case("union-first-corpus", "the first corpus of a union", UNION, "u", "x", 0, 14),
    _case("union-last-corpus", "the last corpus of a union: windows count on from the others", UNION, "u", "z", 8, 8),
    _case("union-last-window", "and its last window", UNION, "u", "z", 20, 21),
    _case("union-no-window", "a corpus that is too short for a window", UNION, "u", "y", 0, 2, positions=[]),
    _case("union-neighbour", "the other source of the plan", UNION, "other", "other", 30, 37),
    *(
        _case(
            f"phases-{name}", "three phases with skips at their borders: every position that serves the source", PHASED, name, name, 0, last
        )
        for name, last in (("a", 40), ("b", 28), ("c", 22))
    ),
    *(_case(f"phases-edge-{name}", "one token on an edge", PHASED, name, name, 8, 8) for name in "abc"),
    _case("not-yet-drawn", "the run ends before the window's turn", plan(4, {"a": 41}, [(1, {"a": 1})]), "a", "a", 20, 20),
    _case("many-epochs", "forty epochs", plan(4, {"a": 13}, [(120, {"a": 1})], repeated="a"), "a", "a", 5, 6),
    _case("one-window", "one window, drawn by every position", plan(4, {"a": 5}, [(4, {"a": 1})]), "a", "a", 4, 4, positions=[0, 1, 2, 3]),
    _case(
        "names",
        "a source and a corpus outside the Basic Multilingual Plane",
        plan(4, {"\U0001f600": {"\U0001f601": 21, "\uff5e": 13}, "\uff5e": {"z": 30}}, [(12, {"\U0001f600": 2, "\uff5e": 1})]),
        "\U0001f600",
        "\uff5e",
        4,
        4,
    ),
    _case("long-run", "10^9 positions: a source of almost two epochs", LONG, "books", "books", 13_000_000_000, 13_000_004_096),
    _case("long-run-once", "and one that is not passed through", LONG, "web", "web", 1_234_567_890_000, 1_234_567_899_999),
    _case("largest-source", "2^48 windows", LONGEST, "u", "x", (1 << 48) - 2, (1 << 48) - 1),
    _case("largest-source-last", "the last window of 2^48", LONGEST, "u", "y", 1, 1),
]
