"""Scripts with the native loader, each in a process of its own with a time limit; where wanted, behind a pread that misbehaves."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

SHIM = Path(__file__).resolve().parent / "fastpath" / "shim.c"
BEGIN = """
import os, signal, sys, threading, time
from pathlib import Path
from fivepoint.errors import *
from fivepoint.fastpath import Loader, PositionDataset, PositionSampler
from fivepoint.reference.loader import Loader as Reference
from fivepoint.reference.plan import Plan

def threads():
    return len(os.listdir("/proc/self/task"))

def files():
    return len(os.listdir("/proc/self/fd"))

plan = Plan.load(sys.argv[1])
"""


def start(plan: Path, script: str, **environment: object) -> subprocess.Popen[str]:
    """Start a script, which finds `plan` opened."""
    command = [sys.executable, "-P", "-c", BEGIN + textwrap.dedent(script), str(plan)]
    changed = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    return subprocess.Popen(command, env=changed, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str], timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Wait for a script; one that does not end fails the test, and is ended."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"not over after {timeout} seconds: {out}{err}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def ran(plan: Path, script: str, timeout: float = 60, **environment: object) -> str:
    """Run a script that must succeed, and return what it printed."""
    done = finished(start(plan, script, **environment), timeout)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def built_shim(folder: Path) -> Path:
    """Compile the shim for LD_PRELOAD, and return its path."""
    library = folder / "shim.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, SHIM, "-ldl"], check=True)
    return library
