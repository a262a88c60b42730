"""The repository that the tests stand in: its root, and the files that git tracks.

Where the tests stand alone, a test file that imports this is skipped.
"""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

if not (ROOT / ".git").exists():
    pytest.skip("needs the repository around the tests", allow_module_level=True)


def tracked(*patterns: str) -> list[str]:
    """Return the tracked files that exist, as paths relative to ROOT, in order; `patterns` are git's."""
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return sorted(path for path in listed.stdout.split("\0") if path and (ROOT / path).exists())
