"""Canonical JSON, hashes and cuts (formats.md, F0 and F3), written character by character and position by position."""

import hashlib
from typing import Any

ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def canonical(value: Any) -> str:
    """Return the canonical JSON text of a value."""
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + "".join(ESCAPES.get(c, c if ord(c) >= 32 else f"\\u{ord(c):04x}") for c in value) + '"'
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode())
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in keys) + "}"
    return "[" + ",".join(canonical(item) for item in value) + "]"


def sha256(value: Any) -> str:
    """Return the hash of a JSON value."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def plan_hash(plan: dict[str, Any]) -> str:
    """Return the identity of a plan, wherever its corpora lie."""
    return sha256({key: value for key, value in plan.items() if key != "paths"})


def cut(plan: dict[str, Any], consumed: int) -> dict[str, Any]:
    """Return what the first `consumed` positions of a plan depend on, by walking over them."""
    phases: list[dict[str, Any]] = []
    position = 0
    for phase in plan["phases"]:
        for served in range(1, phase["length"] + 1):
            if position == consumed:
                break
            if served == 1:
                phases.append({})
            phases[-1] = {**phase, "length": served}
            position += 1
    weighed = {name for phase in phases for name in phase["weights"]}
    return {
        "format": plan["format"],
        "version": plan["version"],
        "seed": plan["seed"],
        "sources": [source for source in plan["sources"] if source["name"] in weighed],
        "phases": phases,
        "skips": [[at, count] for at, count in plan["skips"] if at in range(consumed)],
    }


def prefix_hash(plan: dict[str, Any], consumed: int) -> str:
    """Return the identity of the first `consumed` positions of a plan."""
    return sha256(cut(plan, consumed))
