"""Hold JSON values to the schemas of the specification, and say in one sentence where they depart from it."""

import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from typing import Any

from fastjsonschema import JsonSchemaValueException, compile

from .. import spec
from ..errors import FivepointError
from .guess import GIVE, KINDS

_ADVICE = {
    "run": "correct it",
    "plan": "compile the plan again",
    "checkpoint": "resume from an earlier checkpoint",
    "manifest": "restore it from a copy",
}
_TYPES = {
    "integer": "an integer",
    "string": "text",
    "number": "a number",
    "object": "an object",
    "array": "a list",
    "boolean": "true or false",
}


def validate(value: Any, name: str, where: str, error: type[FivepointError]) -> None:
    """Raise `error` unless `value` fits the schema `name`; `where` names the file or object for the message."""
    if isinstance(value, dict):
        _expect_format(value, name, where, error)
    try:
        _validator(name)(value)
    except JsonSchemaValueException as reason:
        raise error(f"{where}: {_sentence(reason, _ADVICE.get(name, 'correct it'))}") from None


def _expect_format(value: dict[str, Any], name: str, where: str, error: type[FivepointError]) -> None:
    known = _properties(name)
    if "format" not in known:
        return
    expected, found = known["format"]["const"], value.get("format")
    if found != expected and (found is None or str(found) in KINDS):
        # Another file than was meant: the version of fivepoint that wrote it would not help.
        held = "no format" if found is None else f"{found!r}, that of {KINDS[str(found)]}"
        raise error(f"{where}: expected format {expected!r}, found {held}; {GIVE.get(name, 'give another file')}")
    for field in ("format", "version"):
        if value.get(field, known[field]["const"]) != known[field]["const"]:
            raise error(
                f"{where}: expected {field} {known[field]['const']!r}, found {_short(value[field])}; "
                "open it with the version of fivepoint that wrote it"
            )


def _sentence(reason: JsonSchemaValueException, advice: str) -> str:
    """Say what was expected, where, what was found, and what to do: `advice`, or what is plain from the fault."""
    at, rule = (reason.name or "").removeprefix("data").removeprefix("."), reason.rule or ""
    if rule in {"required", "additionalProperties"} and isinstance(reason.value, dict):
        return _keys(reason.definition, reason.value, f"in {_cut(at)}" if at else "at its top level")
    return f"{_fault(reason, rule, reason.rule_definition, _cut(at) or 'its content')}, found {_short(reason.value)}; {advice}"


def _fault(reason: JsonSchemaValueException, rule: str, given: Any, at: str) -> str:
    if rule == "type":
        types = [given] if isinstance(given, str) else given
        return f"expected {' or '.join(_TYPES.get(each, each) for each in types)} for {at}"
    if rule in {"minimum", "maximum"}:
        return f"expected {at} of at {'least' if rule == 'minimum' else 'most'} {given}"
    if rule in {"enum", "const"}:
        return f"expected {at} to be {' or '.join(map(repr, given if rule == 'enum' else [given]))}"
    if rule in {"minLength", "minItems", "minProperties"}:
        return f"expected at least {given} {'character' if rule == 'minLength' else 'entry'} in {at}"
    return f"expected otherwise: {reason.message.replace('data', at, 1)}"


def _keys(schema: dict[str, Any], value: dict[str, Any], place: str) -> str:
    allowed = list(schema.get("properties", {}))
    unknown = [key for key in value if key not in allowed] if schema.get("additionalProperties") is False else []
    if unknown:
        near = get_close_matches(unknown[0], allowed, 1)
        return (
            f"expected only the keys {', '.join(allowed)} {place}, found {_cut(repr(unknown[0]))}; "
            f"{f'write {near[0]}' if near else 'correct the key'}, or take it out"
        )
    missing = next(key for key in schema["required"] if key not in value)
    return f"expected the key {missing} {place}, found none; add it"


@cache
def _properties(name: str) -> dict[str, Any]:
    properties: dict[str, Any] = spec.schema(name).get("properties", {})
    return properties


@cache
def _validator(name: str) -> Callable[[Any], Any]:
    validator: Callable[[Any], Any] = compile(spec.schema(name))
    return validator


def _short(value: Any) -> str:
    try:
        # A TOML file's numbers are held as decimals, to be exact; nobody wrote that word.
        text = re.sub(r"Decimal\('([^']*)'\)", r"\1", repr(value))
    except RecursionError:
        return "one too deep to show"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
