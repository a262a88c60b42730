"""Where the documents of a corpus came from: `documents.jsonl`, whose line k + 1 is about document k (formats.md, F1)."""

import json
from collections.abc import Iterable
from pathlib import Path

from ..reference.files import NewFile
from .write import DOCUMENTS

_BLOCK = 1 << 20
_text = json.JSONEncoder(ensure_ascii=False).encode


class Origins:
    """The file being written, a line a document."""

    def __init__(self, folder: Path) -> None:
        """Begin the file of the corpus in `folder`."""
        self._file = NewFile(folder / DOCUMENTS)
        self._lines = bytearray()  # not handed over yet: there is a line a document, and there may be many short ones

    def add(self, document: str) -> None:
        """Append the line of the next document; `document` is its file, and after a colon its line or row."""
        self._lines += b'{"from": ' + _text(document).encode() + b"}\n"
        if len(self._lines) >= _BLOCK:
            self._file.write(self._lines)
            self._lines.clear()

    def finish(self) -> None:
        """Let the file appear under its name."""
        self._file.write(self._lines)
        self._file.finish()

    def discard(self) -> None:
        """Leave nothing behind; a finished file stays."""
        self._file.discard()


def origins(folder: Path, documents: Iterable[int]) -> dict[int, str]:
    """Return where documents of the corpus in `folder` came from, by their numbers, without those that the file does not say.

    The file is read once, up to the last of them, a block at a time. It is in no hash and decides nothing, so that one
    which is missing or damaged is no error.
    """
    wanted = sorted(set(documents), reverse=True)
    found: dict[int, str] = {}
    try:
        with open(folder / DOCUMENTS, "rb") as file:
            number, rest = 0, b""  # of the line that `rest` begins
            while wanted and (block := file.read(_BLOCK)):
                block = rest + block
                ended = block.count(b"\n")
                if wanted[-1] < number + ended:
                    lines = block.split(b"\n")
                    while wanted and wanted[-1] < number + ended:
                        document = wanted.pop()
                        found[document] = str(json.loads(lines[document - number])["from"])
                number, rest = number + ended, block[block.rfind(b"\n") + 1 :]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return found
