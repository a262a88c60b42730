"""The folders that `prepare` writes for one source, and the report that says what they were made from.

A source NAME becomes the corpus NAME, and with a holdout NAME-holdout as well. The manifest of NAME comes last of all:
where it is, both are finished. What lies there without it is redone, where it is prepare's own.
"""

import json
from pathlib import Path
from typing import Any

from ..errors import ConfigError, CorpusError
from ..reference.files import sync_folder, write_whole
from ..reference.manifest import MANIFEST, Manifest
from .settings import HOLDOUT
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
