"""The unit tests of csrc/, under sanitizers that end the program at the first error."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest
from checkout import ROOT

pytestmark = [pytest.mark.checkout, pytest.mark.slow]
CASES = 14


def built(folder: Path, sanitizer: str) -> Path:
    """Build the tests with a sanitizer, by the project's own recipe."""
    spec = importlib.util.spec_from_file_location("native_build", ROOT / "csrc" / "build.py")
    recipe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    return recipe.build_tests(folder, sanitizer)


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_the_native_part_is_clean(tmp_path, sanitizer):
    done = subprocess.run([built(tmp_path, sanitizer)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and f"{CASES} passed" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
