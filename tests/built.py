"""The project's own recipe for csrc/, which is no module of the package."""

import importlib.util
from pathlib import Path
from types import ModuleType

from checkout import ROOT

CASES = 28
"""Test cases of csrc/tests."""


def recipe(csrc: Path = ROOT / "csrc") -> ModuleType:
    """Return csrc/build.py, or that of a copy, which builds the copy."""
    spec = importlib.util.spec_from_file_location("native_build", csrc / "build.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
