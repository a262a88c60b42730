"""The unit tests of csrc/, under sanitizers that end the program at the first error."""

import shutil
import subprocess

import pytest
from built import CASES, recipe

pytestmark = [pytest.mark.checkout, pytest.mark.slow]


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_the_native_part_is_clean(tmp_path, sanitizer):
    done = subprocess.run([recipe().build_tests(tmp_path, sanitizer)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and f"{CASES} passed" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
