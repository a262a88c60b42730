"""JSON that can be reviewed: a field a line, and values that are too long for a line broken up, in ASCII."""

import json
import textwrap
from typing import Any

WIDTH = 320


def text(content: dict[str, Any]) -> str:
    """Return the text of a file of golden vectors; equal contents have equal texts."""
    head = [f" {_inline(key)}: {_inline(value)}" for key, value in content.items() if key != "cases"]
    cases = ",\n".join("  " + _object(case, 2) for case in content["cases"])
    return "{\n" + ",\n".join([*head, f' "cases": [\n{cases}\n ]']) + "\n}\n"


def _object(value: dict[str, Any], indent: int) -> str:
    inner = " " * (indent + 1)
    fields = [f"{inner}{_inline(key)}: {_value(item, indent + 1, len(key) + 4)}" for key, item in value.items()]
    return "{\n" + ",\n".join(fields) + "\n" + " " * indent + "}"


def _value(value: Any, indent: int, used: int) -> str:
    inline = _inline(value)
    if indent + used + len(inline) < WIDTH or not isinstance(value, dict | list):
        return inline
    if isinstance(value, dict):
        return _object(value, indent)
    inner = " " * (indent + 1)
    if all(isinstance(item, int) for item in value):
        items = textwrap.fill(inline[1:-1], WIDTH - 1, initial_indent=inner, subsequent_indent=inner)
    else:
        items = ",\n".join(inner + _value(item, indent + 1, 0) for item in value)
    return "[\n" + items + "\n" + " " * indent + "]"


def _inline(value: Any) -> str:
    return json.dumps(value, separators=(", ", ":"))
