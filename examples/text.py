"""Real text that every machine with Python has, as one JSONL file per source: {"text": ..., "from": ...}, a whole document a line.

- stdlib: the modules of the standard library
- packages: the modules of the installed packages
- docs: the language reference that `help()` shows, the descriptions of installed packages, and their text files

Which documents are taken is decided by a seed and their names alone; two documents with the same text are taken once.

    python examples/text.py --out text --tokens 12000000 --seed 2024
"""

import argparse
import hashlib
import json
import os
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

BYTES_PER_TOKEN = 3.2
"""Of such text, with a vocabulary of 4,096: an estimate, since the tokenizer is trained on what is chosen here."""

SHARES = {"docs": 0.03, "stdlib": 0.32, "packages": 0.65}
"""Each source's part of the tokens asked for, in order of choice. What one source cannot fill the last one does."""

SMALLEST, LARGEST = 400, 200_000
"""Bytes of a document: below are stubs, above generated tables."""

CODE = (".py",)
TEXTS = (".md", ".rst", ".txt")
NOT_TEXTS = {"RECORD", "top_level.txt", "entry_points.txt", "SOURCES.txt"}
PASSED_OVER = {"__pycache__", "site-packages", "dist-packages", "licenses", "test", "tests"}

Document = tuple[str, Callable[[], str | None]]
"""Where it comes from, and how to read it; None where it is not text."""


@dataclass
class Choice:
    """What was taken of a source."""

    source: str
    found: int
    documents: int
    bytes: int


def write(folder: Path, tokens: int, seed: int) -> list[Choice]:
    """Write NAME.jsonl into `folder` for each source, about `tokens` tokens in all, and return what was chosen."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {"docs": list(_docs()), "stdlib": list(_stdlib()), "packages": list(_packages())}
    left = int(tokens * BYTES_PER_TOKEN)
    seen: set[str] = set()
    choices = []
    for number, (source, share) in enumerate(SHARES.items()):
        room = left if number == len(SHARES) - 1 else int(tokens * BYTES_PER_TOKEN * share)
        choice = _choose(folder / f"{source}.jsonl", source, found[source], room, seed, seen)
        left -= choice.bytes
        choices.append(choice)
    return choices


def _choose(path: Path, source: str, found: list[Document], room: int, seed: int, seen: set[str]) -> Choice:
    choice = Choice(source, len(found), 0, 0)
    with open(path, "w", encoding="utf-8") as file:
        for origin, read in sorted(found, key=lambda document: hashlib.sha256(f"{seed} {document[0]}".encode()).digest()):
            text = read()
            if text is None:
                continue
            data = text.encode("utf-8", "replace")
            name = hashlib.sha256(data).hexdigest()
            if name in seen or not SMALLEST <= len(data) <= LARGEST or choice.bytes + len(data) > room:
                continue
            seen.add(name)
            file.write(json.dumps({"text": data.decode(), "from": origin}, ensure_ascii=False) + "\n")
            choice.documents, choice.bytes = choice.documents + 1, choice.bytes + len(data)
            if choice.bytes > room - SMALLEST:
                break
    return choice


def _stdlib() -> Iterator[Document]:
    yield from _files(Path(sysconfig.get_path("stdlib")), "stdlib", CODE)


def _packages() -> Iterator[Document]:
    for folder in _site_packages():
        yield from _files(folder, folder.name, CODE)


def _docs() -> Iterator[Document]:
    try:
        topics = import_module("pydoc_data.topics").topics
    except ImportError:  # some distributions leave it out
        topics = {}
    for name, text in topics.items():
        yield f"help({name!r})", partial(str, text)
    for folder in _site_packages():
        yield from _files(folder, folder.name, TEXTS, frozenset({"METADATA"}))
    yield from _files(Path(sysconfig.get_path("stdlib")), "stdlib", TEXTS)


def _site_packages() -> list[Path]:
    return sorted({Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")})


def _files(root: Path, label: str, suffixes: tuple[str, ...], names: frozenset[str] = frozenset()) -> Iterator[Document]:
    for base, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in PASSED_OVER)
        for name in sorted(files):
            path = Path(base, name)
            if (name in names or name.endswith(suffixes)) and name not in NOT_TEXTS and not path.is_symlink():
                yield f"{label}/{path.relative_to(root).as_posix()}", partial(_text, path)


def _text(path: Path) -> str | None:
    try:
        if SMALLEST <= path.stat().st_size <= LARGEST:
            return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        pass
    return None


def main() -> None:
    """Read the command line, and print what was chosen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--tokens", type=int, default=12_000_000, help="about how many; the tokenizer will tell")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of documents")
    options = parser.parse_args()
    for choice in write(options.out, options.tokens, options.seed):
        print(f"{choice.source:<9} {choice.documents:>6,} of {choice.found:>6,} documents, {choice.bytes:>11,} bytes")


if __name__ == "__main__":
    main()
