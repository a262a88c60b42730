"""The specification: numbered clauses, algorithms, formats, JSON schemas and golden vectors, with the door to them.

This package imports nothing of fivepoint; everything else may read it.
"""

import json
from importlib import resources
from typing import Any


def text(name: str) -> str:
    """Return a document of the specification, such as `contract.md`."""
    return (resources.files(__name__) / name).read_text(encoding="utf-8")


def schema(name: str) -> dict[str, Any]:
    """Return a JSON schema (draft 7) by its name, such as `plan`, `run_log` or `command_where`."""
    return _load("schemas", f"{name}.schema.json")


def vectors(name: str) -> dict[str, Any]:
    """Return a file of golden vectors, such as `permutation`."""
    return _load("vectors", f"{name}.json")


def _load(folder: str, name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((resources.files(__name__) / folder / name).read_text(encoding="utf-8"))
    return loaded
