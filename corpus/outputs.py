"""The folders that `prepare` writes for one source, and the report that says what they were made from.

A source NAME becomes the corpus NAME, and with a holdout NAME-holdout as well. The manifest of NAME comes last of all:
where it is, both are finished. What lies there without it is redone, where it is prepare's own.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import ConfigError, CorpusError, UsageError
from ..reference.files import sync_folder, write_whole, written
from ..reference.manifest import MANIFEST, Manifest
from .settings import HOLDOUT
from .sources import Source
from .write import REPORT, clear_unfinished

FORMAT = {"format": "fivepoint-prepare-report", "version": 1}


class Output:
    """Where the corpora of source `name` lie in the folder `out`."""

    def __init__(self, out: Path, name: str) -> None:
        self.name = name
        self.train = out / name
        self.holdout = out / f"{name}{HOLDOUT}"

    def finished(self) -> bool:
        """Whether the source was finished; raises CorpusError where a corpus is there that prepare did not write."""
        for folder in (self.train, self.holdout):
            if (folder / MANIFEST).exists() and self._report(folder) is None:
                raise CorpusError(f"{folder} holds a corpus that was not prepared from source {self.name}; choose another folder")
        return (self.train / MANIFEST).exists()

    def reused(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the report of the finished source.

        Raises ConfigError where it was made from other inputs than these, CorpusError where files are missing or resized.
        """
        report = self._report(self.train) or {}
        made_from = report.get("inputs", {})
        other = sorted(key for key in {*made_from, *inputs} if made_from.get(key) != inputs.get(key))
        if other:
            raise ConfigError(
                f"{self.train} was prepared from other inputs ({', '.join(other)}); choose another folder, or write it anew with --force"
            )
        for corpus in report["corpora"]:
            folder = self.train if corpus["name"] == self.name else self.holdout
            manifest = Manifest.load(folder)
            sizes = {
                shard.file: (folder / shard.file).stat().st_size if (folder / shard.file).exists() else -1 for shard in manifest.shards
            }
            wrong = [shard.file for shard in manifest.shards if sizes[shard.file] != shard.bytes]
            if wrong or manifest.manifest_hash != corpus["manifest_hash"]:
                raise CorpusError(
                    f"{folder} was changed since it was prepared ({', '.join(wrong) or MANIFEST}); write it anew with --force"
                )
        return report

    def clear(self) -> None:
        """Remove both corpora, finished or not, the manifests first; raises CorpusError where other files are there."""
        for name, folder in ((self.name, self.train), (f"{self.name}{HOLDOUT}", self.holdout)):
            if folder.exists():
                if (folder / MANIFEST).exists() and self._report(folder) is not None:
                    (folder / MANIFEST).unlink()
                    sync_folder(folder)
                clear_unfinished(folder, name)
                folder.rmdir()

    def write_report(self, folder: Path, report: dict[str, Any]) -> None:
        """Write the report into the corpus `folder`, whose manifest comes afterwards."""
        write_whole(folder / REPORT, (json.dumps(report, indent=2, ensure_ascii=False) + "\n").encode())

    def _report(self, folder: Path) -> dict[str, Any] | None:
        """Return the report in `folder` if it is about this source, else None."""
        try:
            report = json.loads((folder / REPORT).read_bytes())
        except (OSError, ValueError):
            return None
        ours = isinstance(report, dict) and report.get("format") == FORMAT["format"] and report.get("source") == self.name
        return report if ours else None


def expect_apart(out: Path, sources: Sequence[Source]) -> None:
    """Raise UsageError where what is written would be read as a source by the next run, or would come to lie among a source's files."""
    out = out.resolve()
    corpora = [out / f"{source.name}{suffix}" for source in sources for suffix in ("", HOLDOUT)]
    for source in sources:
        path = source.path.resolve()
        if path.is_dir() and out.is_relative_to(path):
            raise UsageError(
                f"expected --out outside the folders that are read, found {out} in source {source.name}, {path}; choose another"
            )
        for corpus in corpora:
            if path.is_relative_to(corpus):
                raise UsageError(
                    f"expected sources outside the corpora that are written, found source {source.name}, {path}, in {corpus}; choose "
                    "another --out"
                )


@contextmanager
def folder_for(out: Path) -> Iterator[None]:
    """Make the folder `out` for the block; where the block fails, each folder that was made for it and is empty goes again."""
    missing = [folder for folder in (out, *out.parents) if not folder.exists()]
    with written(out):
        out.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # one that is not empty stays
            for folder in missing:
                folder.rmdir()
        raise
