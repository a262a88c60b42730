"""The text in one field of a line of JSON that is too long to be parsed at once.

The object is walked through token by token, holding a few blocks at a time. What lies beside the wanted field is passed
over: its strings and brackets are followed, but it is not checked further.
"""

import json
import re
from collections.abc import Iterator
from typing import BinaryIO

from ..errors import InputError

_BLOCK = 1 << 20
_LONGEST_KEY = 1 << 16
_HIGH, _LOW, _HEX = rb"[dD][89abAB][0-9a-fA-F]{2}", rb"[dD][c-fC-F][0-9a-fA-F]{2}", rb"[0-9a-fA-F]{4}"
# whole characters and escapes; stops before one whose end, or whose second half, is not there yet
_CONTENT = re.compile(
    rb'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u(?!'
    + _HIGH
    + rb")"
    + _HEX
    + rb"|\\u"
    + _HIGH
    + rb"(?:\\u"
    + _LOW
    + rb"|(?=[^\\]|\\[^u]|\\u(?!"
    + _LOW
    + rb")"
    + _HEX
    + rb")))*+"
)
_ESCAPE = re.compile(rb"\\u" + _HIGH + rb"\\u" + _LOW + rb"|\\u" + _HEX + rb"|\\.")
_SPACE = re.compile(rb"[ \t\r\n]*+")
_LITERAL = re.compile(rb"[-+.0-9A-Za-z]*+")
_BESIDE = re.compile(rb'[^"{}\[\]]*+')


class LongLine:
    """One line of JSON, of which `start` has been read from `content`; `where` names it in errors."""

    def __init__(self, start: bytes, content: BinaryIO, where: str) -> None:
        self._ready, self._at, self._content, self._where, self._ended = start, 0, content, where, False

    def text(self, field: str) -> Iterator[bytes]:
        """Yield the text in `field` as UTF-8, in blocks; raises InputError where the line holds no such text."""
        found = False
        self._expect(b"{")
        while not self._accept(b"}"):
            key = self._key()
            self._expect(b":")
            if key != field:
                self._pass_over()
            elif found:
                raise InputError(f"expected the field {field!r} once in {self._where}, found it twice; mend the line or take it out")
            elif self._next() != b'"':
                raise InputError(f"expected text in the field {field!r} of {self._where}, found something else")
            else:
                found = True
                yield from self._string()
            if not self._accept(b","):
                self._expect(b"}")
                break
        if self._next():
            raise self._error()
        if not found:
            raise InputError(f"expected the field {field!r} in {self._where}, found others; name it with --text-field")

    def drain(self) -> None:
        """Read on to the end of the line."""
        while self._more():
            self._at = len(self._ready)

    def _more(self) -> bool:
        """Read the next block of the line behind what is not used up; False at the end of the line."""
        if self._ended:
            return False
        block = self._content.readline(_BLOCK)
        self._ended = not block or block.endswith(b"\n")
        self._ready, self._at = self._ready[self._at :] + block, 0
        return bool(block)

    def _error(self) -> InputError:
        return InputError(f"{self._where} is not JSON; mend the line or take it out")

    def _next(self) -> bytes:
        """Return the next character that is not white space, b"" at the end of the line."""
        while True:
            matched = _SPACE.match(self._ready, self._at)
            self._at = matched.end() if matched else self._at
            if self._at < len(self._ready) or not self._more():
                return self._ready[self._at : self._at + 1]

    def _accept(self, sign: bytes) -> bool:
        accepted = self._next() == sign
        self._at += accepted
        return accepted

    def _expect(self, sign: bytes) -> None:
        if not self._accept(sign):
            raise self._error()

    def _key(self) -> str:
        key = b""
        for block in self._string():
            key += block
            if len(key) > _LONGEST_KEY:
                raise InputError(f"expected names of fields of at most {_LONGEST_KEY} bytes in {self._where}")
        return key.decode("utf-8", "replace")

    def _string(self) -> Iterator[bytes]:
        """Yield what the string that comes next means, in UTF-8 (a lone surrogate as 3 bytes that are not)."""
        self._expect(b'"')
        while True:
            matched = _CONTENT.match(self._ready, self._at)
            content = matched.group() if matched else b""
            self._at += len(content)
            if content:
                yield _ESCAPE.sub(_meaning, content)
            if self._ready[self._at : self._at + 1] == b'"':
                self._at += 1
                return
            if len(self._ready) - self._at > 12 or not self._more():  # the longest escape has 12 bytes
                raise self._error()

    def _pass_over(self) -> None:
        """Pass over the value that comes next."""
        depth = 0
        while True:
            sign = self._next()
            if sign == b'"':
                for _ in self._string():
                    pass
            elif sign in (b"{", b"["):
                self._at += 1
                depth += 1
            elif sign in (b"}", b"]") and depth:
                self._at += 1
                depth -= 1
            elif depth and sign:
                matched = _BESIDE.match(self._ready, self._at)
                self._at = matched.end() if matched else self._at
            else:
                self._literal()
            if not depth:
                return

    def _literal(self) -> None:
        matched = _LITERAL.match(self._ready, self._at)
        while matched and matched.end() == len(self._ready) and self._more():
            matched = _LITERAL.match(self._ready, self._at)
        literal = matched.group() if matched else b""
        try:
            json.loads(literal)
        except ValueError as reason:
            raise self._error() from reason
        self._at += len(literal)


def _meaning(escape: re.Match[bytes]) -> bytes:
    text: str = json.loads(b'"' + escape.group() + b'"')
    return text.encode("utf-8", "surrogatepass")
