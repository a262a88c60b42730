"""Files that appear only when whole (formats.md; D0.11)."""

import os
import tempfile
from pathlib import Path

from ..errors import OutputError


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path` so that a crash at any moment leaves the old file or the new one, never a part.

    Raises OutputError where that fails, on a full disk for one; the old file is then as it was.
    """
    try:
        _write(path, content)
    except OSError as reason:
        raise OutputError(
            f"cannot write {path}: {reason.strerror or reason}; nothing was changed, make room or choose another place"
        ) from reason


def _write(path: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; a plan or a checkpoint is read by other users' jobs like any file.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, so that a renamed file survives a power failure."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
