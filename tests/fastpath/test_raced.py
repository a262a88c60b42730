"""The extension as Python loads it, under the thread sanitizer: threads that read, take, close and fork race nowhere."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from built import recipe
from checkout import ROOT
from served import write_plan

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.checkout,
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++"),
]

SCENARIO = """
    import importlib.util, os, sys, threading
    spec = importlib.util.spec_from_file_location("fivepoint.fastpath._C", sys.argv[2])
    sys.modules["fivepoint.fastpath._C"] = extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)

    import torch
    from fake_cuda import Loader as OnDevice
    from fake_cuda import calls, seen
    from fivepoint.fastpath import Loader
    from fivepoint.reference.plan import Plan

    torch.set_num_threads(1)
    plan = Plan.load(sys.argv[1])
    kinds = [Loader, OnDevice] if sys.argv[3] == "both" else [Loader]
    for kind, steps in [(kind, steps) for kind in kinds for steps in (2, 100)]:  # left with reads in flight, and served to its end
        with kind(plan, 0, 1, 12, boundaries=["document_ids", "cu_seqlens"], threads=4, steps_ahead=3) as loader:
            counting = threading.Event()
            def count():
                while not counting.is_set():
                    loader.rows_read
            other = threading.Thread(target=count)
            other.start()
            for step in loader:
                for batch in step:
                    seen(batch)
                loader.commit()
                if loader.steps == steps:
                    break
            child = os.fork()
            if not child:
                os._exit(0)
            os.waitpid(child, 0)
            counting.set()
            other.join()
    assert not [call for call in calls() if "race" in call]
    print("served")
"""


class Copy:
    """A copy of csrc/, built with the thread sanitizer; what is changed in it is compiled again."""

    def __init__(self, folder: Path) -> None:
        self.csrc, self._built = folder / "csrc", folder / "built"
        shutil.copytree(ROOT / "csrc", self.csrc)
        self._built.mkdir()

    def extension(self) -> Path:
        return recipe(self.csrc).build_module(self._built, ["-fsanitize=thread", "-g", "-O1"], ["-fsanitize=thread"], "g++")

    def driver(self) -> Path:
        return recipe(self.csrc).build_fake_cuda(self._built / "driver", ["-fsanitize=thread"], ["-fsanitize=thread"], "g++")


def run(plan: Path, extension: Path, driver: Path, kinds: str) -> subprocess.CompletedProcess[str]:
    """Run the scenario on the host, or on both it and what stands in for a device; the sanitizer's runtime must be there before Python."""
    runtime = subprocess.run(["g++", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True).stdout.strip()
    environment = {
        **os.environ,
        "LD_PRELOAD": runtime,
        "LD_LIBRARY_PATH": str(driver.parent),
        "PYTHONPATH": str(ROOT / "tests"),
        "TSAN_OPTIONS": "exitcode=66 halt_on_error=0 die_after_fork=0",
    }
    command = [sys.executable, "-P", "-c", textwrap.dedent(SCENARIO), plan, extension, kinds]
    return subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=300)


def test_a_race_would_be_seen_and_there_is_none(tmp_path):
    plan, copy = write_plan(tmp_path), Copy(tmp_path)
    driver = copy.driver()
    source = copy.csrc / "prefetch.cpp"
    text = source.read_text()
    guarded = "  const std::lock_guard<std::mutex> guard(state_->lock);\n  return state_->slots.rows_read();"
    assert text.count(guarded) == 1
    source.write_text(text.replace(guarded, "  return state_->slots.rows_read();"))
    planted = run(plan, copy.extension(), driver, "host")
    assert planted.returncode == 66 and "data race" in planted.stderr and "rows_read" in planted.stderr, planted.stderr[-5000:]
    source.write_text(text)
    done = run(plan, copy.extension(), driver, "both")
    assert done.returncode == 0 and done.stdout == "served\n", done.stderr[-5000:]
