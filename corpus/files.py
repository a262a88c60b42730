"""Files that appear only when whole: written under a temporary name, flushed, renamed, the folder flushed."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import ConfigError, CorpusError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class NewFile:
    """A file being written beside its final name; nobody takes it for finished before `finish()`.

    `path` is the final name. The temporary one begins with a dot and ends in `.tmp`, so that readers pass it over.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._temporary = path.with_name(f".{path.name}.tmp")
        with written(path):
            self._file: BinaryIO = open(self._temporary, "wb", buffering=1 << 20)  # noqa: SIM115 closed in finish, discard

    def write(self, data: bytes | memoryview) -> None:
        """Append `data`; raises CorpusError where it cannot be written, a full disk for instance."""
        with written(self.path):
            self._file.write(data)

    def finish(self) -> None:
        """Flush to disk, and let the file appear under its name; raises CorpusError where that fails."""
        with written(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            os.rename(self._temporary, self.path)
            flush_folder(self.path.parent)

    def discard(self) -> None:
        """Leave nothing behind; a finished file stays."""
        with suppress(OSError):  # closing flushes again what the full disk refused
            self._file.close()
        self._temporary.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes) -> None:
    """Let a file with the bytes `data` appear at `path`, in place of one that is there; raises CorpusError."""
    file = NewFile(path)
    try:
        file.write(data)
        file.finish()
    finally:
        file.discard()


def flush_folder(folder: Path) -> None:
    """Make the names in `folder` as lasting as the files: a rename is only safe once its folder is flushed."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Turn what the system says against writing `path` into one CorpusError."""
    try:
        yield
    except OSError as reason:
        advice = "free space there or choose another folder" if reason.errno in _FULL else "check the folder"
        raise CorpusError(f"cannot write {path}: {reason.strerror or reason}; {advice}, then run again") from reason


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
