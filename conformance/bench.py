"""Where cases are played: corpora are written, ranks started, legs run, and everything that was received is kept."""

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import OutputError
from ..reference.files import written
from .case import Case
from .corpora import CorpusSpec, Identity
from .doors import Door, end_all
from .doors.replies import DriverFault, LoaderError
from .driver import Layout, Refusal
from .play import Failed, Play, Refused
from .trace import Trace

__all__ = ["Bench", "Declaration", "Failed", "Play", "Refused"]

ROOM = 1 << 20
"""Bytes that are free on any disk on which a loader can be judged."""


@dataclass(frozen=True)
class Declaration:
    """What a driver says of its loader."""

    promises: frozenset[str]
    stride: str
    version: str


class Bench:
    """Plays cases through one door. Corpora are written once and shared; every play has a folder of its own."""

    def __init__(self, door: Door, parent: Path | None = None) -> None:
        """Make the folder in which everything happens, in `parent` or where temporary files go; `close` removes it."""
        self.door = door
        with written(parent or Path(tempfile.gettempdir())):
            self.folder = Path(tempfile.mkdtemp(prefix="fivepoint-conformance-", dir=parent))
        self._declared: Declaration | None = None
        self._undeclared: DriverFault | None = None

    def __enter__(self) -> "Bench":
        """Return the bench, closed at the end of the `with` block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """End what runs, and remove all files."""
        self.door.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def declaration(self) -> Declaration:
        """Return what the driver promises, asked once; raises DriverFault for an answer that is none."""
        if self._undeclared:
            raise self._undeclared
        if self._declared is None:
            try:
                self._declared = self._ask_declaration()
            except DriverFault as fault:
                # To ask again could cost the time limit again.
                self._undeclared = fault
                raise
        return self._declared

    def _ask_declaration(self) -> Declaration:
        ranks = self.door.open([Layout(0, 1, 1)], self._new_folder(), {}, False)
        try:
            ranks[0].ask({"do": "declare"})
            found, _ = ranks[0].reply()
            return declaration(found)
        except (LoaderError, Refusal) as reason:
            raise DriverFault("V3", f"declares no promises, stride and version: {reason}") from reason
        finally:
            end_all(ranks, self.door.limit)

    def corpora(self, specs: Sequence[CorpusSpec]) -> Path:
        """Return the folder with the corpora, which is shared by all plays: whoever damages one copies it first."""
        name = hashlib.sha256(repr(tuple(specs)).encode()).hexdigest()[:16]
        if not (self.folder / name).exists():
            unfinished = self.folder / f"{name}.tmp"
            Identity(specs).write(unfinished)
            unfinished.rename(self.folder / name)
        return self.folder / name

    def play(self, case: Case, corpus: Path | None = None) -> Trace:
        """Run all legs of a case and return what was served; `corpus` is a folder to use in place of the case's own.

        Raises Refused, Failed or DriverFault where a rank refuses, fails, or is not heard of.
        """
        with self.open(case, corpus) as play:
            for leg in case.legs:
                play.run(leg)
            return play.trace

    def open(self, case: Case, corpus: Path | None = None) -> Play:
        """Return a play of the case that is before its first leg."""
        return Play(self, case, corpus or self.corpora(case.corpora), self._new_folder())

    def _new_folder(self) -> Path:
        with written(self.folder):
            return Path(tempfile.mkdtemp(prefix="play-", dir=self.folder))

    def expect_room(self) -> None:
        """Raise OutputError where the disk of the bench is full, for which no loader can be blamed."""
        if shutil.disk_usage(self.folder).free < ROOM:
            raise OutputError(f"expected room for the cases in {self.folder.parent}, found a full disk; free space or set TMPDIR")


def declaration(found: Any) -> Declaration:
    """Return what the answer to `declare` says; raises DriverFault for one that says nothing."""
    if not isinstance(found, dict) or not {"promises", "stride", "version"} <= found.keys():
        raise DriverFault("V3", f"declares no promises, stride and version, but {str(found)[:80]}")
    promises, stride = found["promises"], found["stride"]
    if not isinstance(promises, list) or not all(isinstance(promise, str) for promise in promises) or not isinstance(stride, str):
        raise DriverFault("V3", f"declares {str(promises)[:80]} and {str(stride)[:80]} for a list of promises and a stride")
    return Declaration(frozenset(promises), stride, str(found["version"]))
