"""Hold JSON values to the schemas of the specification, and say in one sentence where they depart from it."""

from collections.abc import Callable
from functools import cache
from typing import Any

from fastjsonschema import JsonSchemaValueException, compile

from .. import spec
from ..errors import FivepointError


def validate(value: Any, name: str, where: str, error: type[FivepointError]) -> None:
    """Raise `error` unless `value` fits the schema `name`; `where` names the file or object for the message."""
    if isinstance(value, dict):
        known = _properties(name)
        for field in ("format", "version"):
            if field in known and value.get(field, known[field]["const"]) != known[field]["const"]:
                raise error(
                    f"{where}: expected {field} {known[field]['const']!r}, found {value[field]!r}; "
                    "open it with the version of fivepoint that wrote it"
                )
    try:
        _validator(name)(value)
    except JsonSchemaValueException as reason:
        raise error(f"{where}: {reason.message.replace('data', 'the value', 1)}, found {_short(reason.value)}") from None


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
        text = repr(value)
    except RecursionError:
        return "one too deep to show"
    return text if len(text) <= 80 else f"{text[:77]}..."
