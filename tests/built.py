"""The project's own recipe for csrc/, which is no module of the package."""

import importlib.util
from types import ModuleType

from checkout import ROOT


def recipe() -> ModuleType:
    """Return csrc/build.py."""
    spec = importlib.util.spec_from_file_location("native_build", ROOT / "csrc" / "build.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
