"""Documents of input files, in parts that fit in memory: text, JSONL and Parquet."""

import codecs
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import BinaryIO

from ..errors import InputError
from .cut import Joint, pieces
from .long_line import LongLine
from .sources import InputFile
from .streams import opened

BLOCK = 1 << 20  # bytes read at a time
LONG_LINE = 1 << 23  # bytes of JSON from which a line is no longer parsed at once
NOT_UTF8 = "not UTF-8"
BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True)
class Reading:
    """How documents are read. `invalid_utf8` is refuse, replace or skip; `joints` say where long ones are cut."""

    text_field: str = "text"
    invalid_utf8: str = "refuse"
    joints: tuple[Joint, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a document, `last` or not; one that ends at no joint is not `exact`.

    `replaced`: some bytes were not UTF-8 and became U+FFFD. `problem`: why the document cannot be used, "" where it can.
    `position`: bytes of the input file that are done with.
    """

    document: str
    text: str
    last: bool
    exact: bool
    replaced: bool
    problem: str
    position: int


def read_parts(file: InputFile, reading: Reading) -> Iterator[Part]:
    """Yield the parts of every document in `file`, in order; raises InputError for what cannot be read."""
    if file.kind == "parquet":
        from .parquet import read_values

        for document, value, position in read_values(file, reading.text_field):
            yield from _parts(document, [value], reading, lambda done=position: done)  # type: ignore[misc]
        return
    with opened(file.path) as (content, raw):
        if file.kind == "jsonl":
            yield from _jsonl(file, content, raw.tell, reading)
        else:
            yield from _parts(file.label, iter(lambda: content.read(BLOCK), b""), reading, raw.tell, str(file.path), signed=True)


def _jsonl(file: InputFile, content: BinaryIO, tell: Callable[[], int], reading: Reading) -> Iterator[Part]:
    for number in count(1):
        line = content.readline(LONG_LINE)
        if not line:
            return
        document, where = f"{file.label}:{number}", f"{file.path}:{number}"
        is_long = len(line) == LONG_LINE and line[-1:] != b"\n"
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if is_long:
            long_line = LongLine(line, content, where)
            yield from _parts(document, long_line.text(reading.text_field), reading, tell, where)
            long_line.drain()
        elif line.strip():
            yield from _line(document, line, reading, tell, where)


def _line(document: str, line: bytes, reading: Reading, tell: Callable[[], int], where: str) -> Iterator[Part]:
    decoded = _Decoded([line], reading.invalid_utf8, where)
    try:
        text = _field("".join(decoded), reading.text_field, where)
    except _NotUtf8Error:
        yield Part(document, "", True, True, False, NOT_UTF8, tell())
        return
    blocks: Iterable[str | bytes] = [text] if _has_utf8(text) else [text.encode("utf-8", "surrogatepass")]
    for part in _parts(document, blocks, reading, tell, where):
        yield part if not decoded.replaced else Part(document, part.text, part.last, part.exact, True, "", part.position)


def _field(line: str, field: str, where: str) -> str:
    """Return the text in `field` of a line of JSON; raises InputError."""
    try:
        value = json.loads(line)
        if isinstance(value, dict) and line.count(f'"{field}"') > 1:
            _expect_once(line, field, where)
    except (ValueError, RecursionError) as reason:
        raise InputError(f"{where} is not JSON: {reason}; mend the line or take it out") from reason
    if not isinstance(value, dict):
        raise InputError(f"expected a JSON object in {where}, found {type(value).__name__}")
    if field not in value:
        found = ", ".join(sorted(value)[:10]) or "none"
        raise InputError(f"expected the field {field!r} in {where}, found {found}; name another with --text-field")
    text = value[field]
    if not isinstance(text, str):
        raise InputError(f"expected text in the field {field!r} of {where}, found {json.dumps(text)[:40]}")
    return text


def _expect_once(line: str, field: str, where: str) -> None:
    """Raise InputError where the object names `field` twice: the parser takes the last value, without a word."""
    objects: list[list[tuple[str, object]]] = []
    json.loads(line, object_pairs_hook=objects.append)  # the outermost object is the last to end
    if [name for name, _ in objects[-1]].count(field) > 1:
        raise InputError(f"expected the field {field!r} once in {where}, found it twice; mend the line or take it out")


def _has_utf8(text: str) -> bool:
    """Whether `text` has a UTF-8 form: JSON can write surrogates that have none."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _parts(
    document: str, blocks: Iterable[str | bytes], reading: Reading, tell: Callable[[], int], where: str = "", signed: bool = False
) -> Iterator[Part]:
    decoded = _Decoded(blocks, reading.invalid_utf8, where or document, signed)
    try:
        for text, last, exact in pieces(decoded, reading.joints):
            yield Part(document, text, last, exact, decoded.replaced, "", tell())
    except _NotUtf8Error:
        yield Part(document, "", True, True, False, NOT_UTF8, tell())


class _NotUtf8Error(Exception):
    """A document is to be skipped because it is not UTF-8."""


class _Decoded:
    """The text of blocks of UTF-8; text passes through. `replaced` tells, after the fact, whether any byte was.

    A byte-order mark is the signature of a file, and left out where it begins one (`signed`); in a value it is text.
    """

    def __init__(self, blocks: Iterable[str | bytes], invalid_utf8: str, where: str, signed: bool = False) -> None:
        self._blocks, self._invalid, self._where, self._signed = blocks, invalid_utf8, where, signed
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._bytes = 0
        self.replaced = False

    def __iter__(self) -> Iterator[str]:
        at_start = self._signed
        for block in self._blocks:
            text = block if isinstance(block, str) else self._decode(block, final=False)
            yield text.removeprefix(BYTE_ORDER_MARK) if at_start else text
            at_start = at_start and not text
        yield self._decode(b"", final=True)

    def _decode(self, block: bytes, final: bool) -> str:
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(block, final)
        except UnicodeDecodeError as reason:
            at = self._bytes - len(state[0]) + reason.start
            if self._invalid == "skip":
                raise _NotUtf8Error from reason
            if self._invalid == "refuse":
                raise InputError(
                    f"{self._where} is not UTF-8 text at byte {at}; convert it, leave it out (--glob says which files to read), or choose "
                    "--invalid-utf8 replace or skip"
                ) from reason
            lenient = codecs.getincrementaldecoder("utf-8")("replace")
            lenient.setstate(state)
            text = lenient.decode(block, final)
            self._decoder.setstate(lenient.getstate())
            self.replaced = True
        self._bytes += len(block)
        return text
