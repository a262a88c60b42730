"""What a person gave the commands on the way in: tokens, checkpoints, and files that must not be one."""

from pathlib import Path
from typing import Any

from ..errors import CheckpointError, RangeError, UsageError
from ..reference.canonical import read_json
from ..reference.plan import Plan
from ..reference.schema import validate
from .samples import open_corpus


def expect_apart(option: str, path: Path, *others: Path | None) -> None:
    """Raise UsageError where what is to be written would replace another file that the command was given."""
    for other in others:
        if other is not None and path.resolve() == other.resolve():
            raise UsageError(f"expected a file of its own for {option}, found {path}, which the command also uses; choose another path")


def wanted_tokens(plan: Plan, source: str, corpus: str, document: int | None, tokens: str | None) -> range:
    """Return the tokens that a person asked for; raises UsageError unless they were asked for in one way."""
    if (document is None) == (tokens is None):
        raise UsageError(f"expected one of --document and --tokens, found {'neither' if document is None else 'both'}")
    if document is not None:
        first, length = open_corpus(plan, source, corpus).document(document)
        return range(first, first + length)
    begin, _, end = (tokens or "").partition(":")
    if not (begin.isdecimal() and end.isdecimal()):
        raise UsageError(f"expected --tokens FIRST:LAST, two numbers in ascending order, found {(tokens or '')[:80]!r}; correct it")
    # No corpus has 10^18 tokens, and Python refuses to read numbers of thousands of digits.
    if max(len(begin), len(end)) > 18:
        held = next(item.tokens for each in plan.sources if each.name == source for item in each.corpora if item.name == corpus)
        raise RangeError(f"expected tokens from 0 to {held - 1} of corpus {corpus!r}, found {(tokens or '')[:80]}; ask for some of these")
    if int(begin) > int(end):
        raise UsageError(f"expected --tokens FIRST:LAST, two numbers in ascending order, found {tokens!r}; turn them round")
    return range(int(begin), int(end) + 1)


def read_checkpoint(path: Path) -> Any:
    """Return the checkpoint in a file, of which only the form was looked at; raises CheckpointError."""
    state = read_json(path, CheckpointError, "checkpoint")
    validate(state, "checkpoint", str(path), CheckpointError)
    return state
