"""What the system keeps of files in memory: dropped, or brought there, before something is measured."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def below(*folders: Path) -> list[Path]:
    """Return the files below folders."""
    return [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]


def forget(files: Iterable[Path]) -> None:
    """Drop the cached pages of files, as far as the system does it; what was just written goes to the disk first."""
    for path in files:
        with suppress(OSError), path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def warm(files: Iterable[Path]) -> None:
    """Read files whole, so that they are in memory as far as it holds them."""
    for path in files:
        with suppress(OSError), path.open("rb", buffering=0) as file:
            while file.read(1 << 22):
                pass
