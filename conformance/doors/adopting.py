"""Processes that lost their parent while loaders were judged: they become the suite's, which ends them. Linux, through prctl."""

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from . import procfs

PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def adopted() -> Iterator[None]:
    """Kill at the end all that this process has below it, but for what was there before."""
    before = set(procfs.descendants([os.getpid()]))
    adopt(True)
    try:
        yield
    finally:
        while strays := set(procfs.descendants([os.getpid()])) - before:
            for stray in strays:
                with suppress(ProcessLookupError):
                    os.kill(stray, signal.SIGKILL)
            for stray in strays:
                # What is not a child yet becomes one when its parent has ended.
                with suppress(ChildProcessError):
                    os.waitpid(stray, 0)
        adopt(False)


def adopt(wanted: bool) -> None:
    """Have orphans of this process become its children, or no longer."""
    # A system that knows of no such thing leaves orphans to its first process, as always.
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)
