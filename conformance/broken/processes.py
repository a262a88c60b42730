"""Drivers that do to their process what no driver should (V2). The suite goes on, and says what became of it."""

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

from ..driver import Layout, MicroBatch, Settings
from .drivers import HOUR
from .honest import Honest


class EndsAsIfAllWereWell(Honest):
    """Ends its process at the second step, with status 0 and without a word."""

    clause = "V2"

    def next(self) -> list[MicroBatch] | None:
        """Return the first step, and no other."""
        if self.consumed:
            os._exit(0)
        return super().next()


class IsKilled(Honest):
    """Takes more memory than there is, and is killed for it at the second step."""

    clause = "V2"

    def next(self) -> list[MicroBatch] | None:
        """Return the first step, and no other."""
        if self.consumed:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().next()


class HangsWhateverIsRaised(Honest):
    """Waits for ever for its second step, takes every signal for itself, and catches whatever is raised in it."""

    clause = "V2"

    def next(self) -> list[MicroBatch] | None:
        """Return the first step, and no other."""
        while self.consumed:
            with suppress(BaseException):
                for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
                time.sleep(HOUR)
        return super().next()


class RaisesWhatIsNoException(Honest):
    """Raises an error that no handler of exceptions sees, and of which no text can be made."""

    clause = "V2"

    class Odd(BaseException):
        """An error whose text is another error."""

        def __str__(self) -> str:
            raise ValueError("no text")

    def next(self) -> list[MicroBatch] | None:
        """Return the first step, and no other."""
        if self.consumed:
            raise self.Odd
        return super().next()


class ClosesWhatIsNotItsOwn(Honest):
    """Closes every file of its process before it builds, the pipes of the suite among them."""

    clause = "V2"

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Close them, and build."""
        os.closerange(3, 256)
        super().build(corpus, workdir, settings, layout, states)


class StaysWhenAllIsOver(Honest):
    """Starts a thread that no process can end without, and never ends it."""

    clause = "V2"
    also = ("C5.3",)

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and start the thread."""
        super().build(corpus, workdir, settings, layout, states)
        threading.Thread(target=time.sleep, args=(HOUR,)).start()
