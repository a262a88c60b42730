"""Bytes of input files, plain or compressed, with bounded memory; what is cut short or corrupt is refused."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from ..errors import InputError

if TYPE_CHECKING:
    import zstandard

_FRAME_BLOCK = 1 << 14  # a block of a zstd file can grow 30,000-fold: 16 KiB at a time stay below half a GB


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Yield the content of `path`, decompressed by its suffix (.gz, .zst), and the raw file, whose `tell()` is progress.

    Raises InputError, also while it is read, for a file that is missing, corrupt or cut short.
    """
    try:
        with open(path, "rb") as raw:
            yield _content(path, raw), raw
    except (EOFError, gzip.BadGzipFile, zlib.error) as reason:
        raise InputError(f"{path} is corrupt or cut short ({reason}); restore it from a copy") from reason
    except OSError as reason:
        raise InputError(f"cannot read {path}: {reason.strerror or reason}") from reason


def _content(path: Path, raw: BinaryIO) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw, mode="rb"))
    if path.suffix == ".zst":
        return io.BufferedReader(_Zstandard(raw), 1 << 20)
    return raw


class _Zstandard(io.RawIOBase):
    """The content of a zstd file of one or more frames; unlike the library's own reader it refuses a cut frame."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self._ready, self._left = raw, memoryview(b""), b""
        self._frame: zstandard.ZstdDecompressionObj | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the base accepts more kinds
        while not self._ready:
            if not self._fill():
                return 0
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _fill(self) -> bool:
        """Decompress the next block; False at the end of the file."""
        import zstandard

        data = self._left or self._raw.read(_FRAME_BLOCK)
        self._left = b""
        if not data:
            if self._frame is not None:
                raise EOFError("zstd frame ended early")
            return False
        if self._frame is None:
            self._frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            self._ready = memoryview(self._frame.decompress(data))
        except zstandard.ZstdError as reason:
            raise EOFError(str(reason)) from reason
        if self._frame.eof:
            self._left, self._frame = self._frame.unused_data, None
        return True
