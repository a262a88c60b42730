"""The files behind `--source NAME=PATH`, in the order in which their documents are numbered."""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

from ..errors import InputError, OptionError, UsageError
from ..reference.canonical import digest
from .write import check_name

_COMPRESSED = {".gz", ".zst"}
_KINDS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


@dataclass(frozen=True)
class InputFile:
    """One input: `label` is its path within the source, `kind` is text, jsonl or parquet."""

    path: Path
    label: str
    bytes: int
    modified_ns: int

    @property
    def kind(self) -> str:
        """How to find documents in it, by its suffix: what is neither JSONL nor Parquet is one document of text."""
        suffixes = [suffix for suffix in self.path.suffixes if suffix not in _COMPRESSED]
        return _KINDS.get(suffixes[-1] if suffixes else "", "text")

    def sha256(self) -> str:
        """SHA-256 of the file's bytes; raises InputError where it cannot be read."""
        try:
            with open(self.path, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as reason:
            raise InputError(f"cannot read {self.path}: {reason.strerror or reason}") from reason


@dataclass(frozen=True)
class Source:
    """What one `--source` names: files in order, and the path that it named."""

    name: str
    files: tuple[InputFile, ...]
    path: Path

    @cached_property
    def bytes(self) -> int:
        """Sum of the files' sizes as they lie on disk."""
        return sum(file.bytes for file in self.files)

    def fingerprint(self, progress: Callable[[int, int], None]) -> str:
        """Hash of every file's label and content; where the files lie is no part of it."""
        found, done = [], 0
        for file in self.files:
            found.append([file.label, file.sha256()])
            done += file.bytes
            progress(done, self.bytes)
        return digest(found)

    def check_unchanged(self) -> None:
        """Raise InputError where a file is no longer the one that was found at first."""
        for file in self.files:
            if not file.path.exists() or input_file(file.path, file.label) != file:
                raise InputError(f"{file.path} was changed while it was read; run again when it rests")


def input_file(path: Path, label: str) -> InputFile:
    """Return the file at `path` as it is now."""
    found = path.stat()
    return InputFile(path, label, found.st_size, found.st_mtime_ns)


def parse_sources(arguments: list[str], globs: list[str], suffix: str = "") -> list[Source]:
    """Return the sources that `NAME=PATH` arguments name; `suffix` added to a name names its second corpus.

    Raises OptionError for a malformed name, UsageError for a name or a file in two sources, InputError where nothing is found.
    """
    sources: list[Source] = []
    names: set[str] = set()
    owners: dict[Path, str] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not equals or not path:
            raise OptionError(f"expected --source NAME=PATH, found {argument!r}; name the source, such as web={argument or 'texts/web'}")
        check_name(name, spare=len(suffix))
        for taken in dict.fromkeys((name, name + suffix)):
            if taken in names:
                raise UsageError(f"expected each corpus name once, found {taken!r} twice; put its files in one folder")
            names.add(taken)
        source = Source(name, tuple(_files(Path(path), name, globs)), Path(path))
        for file in source.files:
            other = owners.setdefault(file.path.resolve(), name)
            if other != name:
                raise UsageError(f"expected each file in one source, found {file.path} in {other} and in {name}; take it out of one")
        sources.append(source)
    if not sources:
        raise UsageError("expected at least one --source NAME=PATH, found none; name one")
    return sources


def _files(path: Path, name: str, globs: list[str]) -> Iterator[InputFile]:
    if not path.exists():
        raise InputError(f"expected a file or folder for source {name}, found nothing at {path}; correct the path")
    if path.is_file():
        _expect_utf8(path.name, path.parent)
        yield input_file(path, path.name)
        return
    found = sorted(_walk(path), key=lambda label: os.fsencode(label))
    wanted = [label for label in found if not globs or any(fnmatch(label, glob) for glob in globs)]
    if not wanted:
        matching = f" that match {' or '.join(globs)}" if globs else ""
        raise InputError(
            f"expected files{matching} for source {name}, found none in {path}; correct the path{' or --glob' if globs else ''}"
        )
    for label in wanted:
        _expect_utf8(label, path)
        yield input_file(path / label, label)


def _expect_utf8(label: str, folder: Path) -> None:
    try:
        label.encode()
    except UnicodeEncodeError as reason:
        raise InputError(f"expected file names in UTF-8 in {folder}, found {label!r}; rename the file") from reason


def _walk(folder: Path) -> Iterator[str]:
    """Yield the relative paths of the files below `folder`; names that begin with a dot are passed over.

    Linked files are read, linked folders are not: they could lead in circles.
    """
    for base, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(base, name)
            if not name.startswith(".") and path.is_file():
                yield path.relative_to(folder).as_posix()
