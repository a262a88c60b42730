"""How long work ends early: what a person (Ctrl-C) or the system (SIGTERM) asks for ends it in order, with its processes."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ..errors import EndedEarlyError


class _Terminated(BaseException):
    """SIGTERM came: like KeyboardInterrupt, nothing that the block calls takes it for an error of its own."""


@contextmanager
def ended_in_order(message: str) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM in the block into EndedEarlyError with `message`, after all that the block holds was let go of."""
    before = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except KeyboardInterrupt:
        raise EndedEarlyError(message) from None
    except _Terminated:
        ended = EndedEarlyError(message)
        ended.exit_code = 128 + signal.SIGTERM
        raise ended from None
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: FrameType | None) -> None:
    # One is enough: a second must not break off the clearing up after the first.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Terminated
