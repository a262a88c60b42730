"""Drivers that take their process down or hold it: a verdict that names it, exit code 1, and the suite goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conforming import conform

from fivepoint.conformance.doors import Processes, host_command, procfs
from fivepoint.conformance.driver import Layout

HERE = "fivepoint.conformance.broken.honest:Honest"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("code", "got"),
    [
        ("import os; os._exit(0)", "ended with status 0, while rude:Rude was imported"),
        ("raise SystemExit(0)", "ended with status 0, while rude:Rude was imported"),
        ("import time; time.sleep(1000)", "did not answer within 2 s, while rude:Rude was imported"),
        ("import os; os.kill(os.getpid(), 11)", "was ended by SIGSEGV, while rude:Rude was imported"),
        ("class Rude:\n    def __init__(self): import time; time.sleep(1000)", "did not answer within 2 s"),
        ("class Rude:\n    def __init__(self): raise ValueError('\\x1b[31mred')", "ValueError: \\x1b[31mred (rude.py:2, in __init__)"),
    ],
)
def test_what_a_driver_does_when_it_is_imported_or_made_is_a_verdict(tmp_path, code, got):
    (tmp_path / "rude.py").write_text(code)
    done = conform("rude:Rude", "--select", "V", "--limit", 2)
    assert done.code == 1 and got in done.out, done.out


def test_what_a_driver_prints_is_no_part_of_the_report(tmp_path):
    (tmp_path / "loud.py").write_text(
        "import os\nfrom fivepoint.conformance.broken.honest import Honest\n"
        "class Loud(Honest):\n    def next(self):\n        print('rubbish', flush=True)\n        os.write(1, b'more rubbish')\n"
        "        return super().next()\n"
    )
    done = conform("loud:Loud", "--select", "V1")
    assert done.code == 0 and "rubbish" not in done.out, done.out
