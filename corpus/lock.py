"""One process at a time in a folder of output."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ConfigError


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold `folder` for this process; raises ConfigError where another one holds it.

    The lock is the kernel's and on the folder itself: it ends with the process, however that ends, and leaves no file.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as reason:
            raise ConfigError(f"{folder} is being written by another process; wait for it, or choose another folder") from reason
        yield
    finally:
        os.close(handle)
