"""Files that appear only when whole: written under a temporary name, flushed, renamed, the folder flushed (formats.md; D0.11)."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import OutputError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class NewFile:
    """A file being written beside its final name, `path`; nobody takes it for finished before `finish()`.

    Its temporary name begins with a dot and ends in `.tmp`, and is its own: of two writers of one path the last one to finish stays.
    """

    def __init__(self, path: Path) -> None:
        """Begin the file; raises OutputError where its folder takes none."""
        self.path = path
        with written(path):
            taken = path.exists() and not path.is_file()
        if taken:
            # The rename would put a file in the place of /dev/null.
            found = "a folder" if path.is_dir() else "a device or a pipe"
            raise OutputError(f"cannot write {path}: expected a regular file or nothing there, found {found}; choose another path")
        with written(path):
            # Names may have 255 bytes, the temporary one too.
            start = os.fsdecode(os.fsencode(path.name)[:200])
            descriptor, temporary = tempfile.mkstemp(prefix=f".{start}.", suffix=".tmp", dir=path.parent)
            # mkstemp makes files private; a corpus, a plan or a checkpoint is read by other users' jobs like any file.
            os.fchmod(descriptor, 0o666 & ~_umask())
        self._temporary = Path(temporary)
        self._file: BinaryIO = os.fdopen(descriptor, "wb", buffering=1 << 20)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append `data`; raises OutputError where it cannot be written, a full disk for instance."""
        with written(self.path):
            self._file.write(data)

    def finish(self) -> None:
        """Flush to disk, and let the file appear under its name; raises OutputError where that fails."""
        with written(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self._temporary, self.path)
            sync_folder(self.path.parent)

    def discard(self) -> None:
        """Leave nothing behind; a finished file stays."""
        with suppress(OSError):  # closing flushes again what the full disk refused
            self._file.close()
        self._temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path` so that a crash at any moment leaves the old file or the new one, never a part.

    Raises OutputError where that fails; the old file is then as it was.
    """
    file = NewFile(path)
    try:
        file.write(content)
        file.finish()
    finally:
        file.discard()


def expect_writable(path: Path) -> None:
    """Raise OutputError where `path` cannot be written, before work is done whose result goes there."""
    NewFile(path).discard()


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk: a rename survives a power failure only once its folder is flushed."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Turn what the system says against writing `path` into one OutputError."""
    try:
        yield
    except OSError as reason:
        advice = "free space there or choose another folder" if reason.errno in _FULL else "correct the path or the rights"
        raise OutputError(f"cannot write {path}: {reason.strerror or reason}; {advice}, then run again") from reason


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
