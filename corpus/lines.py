"""How much of a document repeats itself: its different lines against all its lines.

Lines end at "\\n" and are compared as they are; lines of white space alone do not count. No line at all repeats nothing.
"""

import hashlib
from typing import Any

import numpy as np

_PENDING = 1 << 20  # lines
_BUCKETS = 16


def count_lines(text: str) -> tuple[int, int]:
    """Return (different lines, lines) of `text`."""
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    return len(set(lines)), len(lines)


class LineCounter:
    """Counts as `count_lines` does, over a text that comes in parts, in 8 bytes of memory a different line.

    Lines are told apart by 64 bits of BLAKE2b. They are kept sorted in buckets, so that merging needs little more.
    """

    def __init__(self) -> None:
        self._lines = 0
        self._pending = bytearray()  # their hashes, not merged yet
        self._seen: list[np.ndarray[Any, Any]] = [np.empty(0, np.uint64)] * _BUCKETS
        self._line = hashlib.blake2b(digest_size=8)  # the line that the next part goes on with
        self._blank = True

    def add(self, part: str) -> None:
        """Count the next part of the text."""
        *ended, rest = part.split("\n")
        for line in ended:
            self._extend(line)
            self._end_line()
        self._extend(rest)

    def result(self) -> tuple[int, int]:
        """Return (different lines, lines); nothing may be added afterwards."""
        self._end_line()
        self._merge()
        return sum(bucket.size for bucket in self._seen), self._lines

    def _extend(self, text: str) -> None:
        if text:
            self._line.update(text.encode())
            self._blank = self._blank and text.isspace()

    def _end_line(self) -> None:
        if not self._blank:
            self._lines += 1
            self._pending += self._line.digest()
            if len(self._pending) >= 8 * _PENDING:
                self._merge()
        self._line = hashlib.blake2b(digest_size=8)
        self._blank = True

    def _merge(self) -> None:
        hashes = np.frombuffer(self._pending, dtype="<u8")
        self._pending = bytearray()
        bucket = hashes >> np.uint64(60)
        for number in range(_BUCKETS):
            self._seen[number] = np.union1d(self._seen[number], hashes[bucket == number])
