"""Where cases are played: corpora are written, ranks started, legs run, and everything that was received is kept."""

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from .case import Case
from .corpora import CorpusSpec, Identity
from .doors import Door, Rank
from .doors.replies import DriverFault, LoaderError
from .driver import Array, Layout, Refusal
from .play import Failed, Play, Refused
from .trace import Trace

__all__ = ["Bench", "Declaration", "Failed", "Play", "Refused"]


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
        self.folder = Path(tempfile.mkdtemp(prefix="fivepoint-conformance-", dir=parent))
        self._declared: Declaration | None = None

    def __enter__(self) -> "Bench":
        """Return the bench, closed at the end of the `with` block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Remove all files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def declaration(self) -> Declaration:
        """Return what the driver promises, asked once; raises DriverFault for an answer that is none."""
        if self._declared is None:
            self._declared = self._ask_declaration()
        return self._declared

    def _ask_declaration(self) -> Declaration:
        ranks = self.door.open([Layout(0, 1, 1)], self._new_folder(), {}, False)
        try:
            found = _all(ranks, {"do": "declare"})[0][0]
            return Declaration(frozenset(found["promises"]), found["stride"], str(found["version"]))
        except (KeyError, TypeError, LoaderError, Refusal) as reason:
            raise DriverFault("V3", f"declares no promises, stride and version: {reason}") from reason
        finally:
            ranks[0].end()

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
        return Path(tempfile.mkdtemp(prefix="play-", dir=self.folder))


def _all(ranks: Sequence[Rank], request: dict[str, Any]) -> list[tuple[Any, list[Array]]]:
    for rank in ranks:
        rank.ask(request)
    return [rank.reply() for rank in ranks]
