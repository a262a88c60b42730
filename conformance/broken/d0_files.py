"""Loaders that take files on trust: vocabularies that do not fit, corpora and states that are not whole (D0.10 to D0.12)."""

import hashlib
import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CorpusError
from ...reference.plan import Plan
from ...reference.records import Sample
from ..driver import Array, Layout, Settings
from .honest import Honest


class Repairs(Honest):
    """Reads a copy of the corpora in which it has made up what it missed."""

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Copy the corpora as they are now, a copy for each rank, repair each, and plan with them."""
        copy = self.workdir / f"repaired-{self.layout.rank}"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(corpus, copy)
        for folder in sorted(copy.iterdir()):
            self.repair(folder)
        return super().make_plan(copy, settings)

    def repair(self, folder: Path) -> None:
        """Make the corpus in `folder` readable."""
        raise NotImplementedError


def edited(path: Path, **changes: Any) -> None:
    """Change fields of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


class VocabularyIgnored(Repairs):
    """Takes every id that the dtype holds, whatever the vocabulary."""

    clause, fault = "D0.10", 51

    def repair(self, folder: Path) -> None:
        """Declare the largest vocabulary there can be."""
        with suppress(OSError, ValueError):
            dtype = json.loads((folder / "manifest.json").read_text())["dtype"]
            edited(folder / "manifest.json", vocab_size=1 << (16 if dtype == "uint16" else 32))


class LastIdRefused(Honest):
    """Takes the vocabulary's size for one more than it is, and refuses the last id."""

    clause, fault, also = "D0.10", 51, ("D0.4",)

    def tokens(self, sample: Sample) -> Array:
        """Raise an error for the last id."""
        tokens = super().tokens(sample)
        if int(tokens.max()) >= self.corpora[sample.source, sample.spans[0].corpus].manifest.vocab_size - 1:
            raise CorpusError("an id is outside the vocabulary")
        return tokens


class TokenizerIgnored(Repairs):
    """Mixes corpora whose ids mean different words."""

    clause, also = "D0.12", ("C4.7",)

    def repair(self, folder: Path) -> None:
        """Let the corpus pass for one of the tokenizer that it knows."""
        with suppress(OSError, ValueError):
            edited(folder / "manifest.json", tokenizer={"name": "known", "sha256": "0" * 64})


class TokenizerByName(Repairs):
    """Compares what tokenizers are called, and takes one under two names for two."""

    clause = "D0.12"

    def repair(self, folder: Path) -> None:
        """Let the name stand for the content."""
        with suppress(OSError, ValueError):
            name = json.loads((folder / "manifest.json").read_text())["tokenizer"]["name"]
            edited(folder / "manifest.json", tokenizer={"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest()})


class UnfinishedManifestRead(Repairs):
    """Looks for anything like a manifest, and takes one that was never finished."""

    clause, fault = "D0.11", 53

    def repair(self, folder: Path) -> None:
        """Give the temporary file its name."""
        if (folder / ".manifest.json.tmp").exists():
            (folder / ".manifest.json.tmp").rename(folder / "manifest.json")


class ManifestMadeUp(Repairs):
    """Describes anew, from the files that it finds, a corpus whose manifest it cannot read."""

    clause, fault = "D0.11", 53

    def repair(self, folder: Path) -> None:
        """Write a manifest of the files that are there."""
        try:
            json.loads((folder / "manifest.json").read_text())
        except ValueError:
            found = self.described(folder)
            (folder / "manifest.json").write_text(json.dumps(found))

    @staticmethod
    def described(folder: Path) -> dict[str, Any]:
        """Return a manifest of the shards in `folder`, read as four-byte ids."""
        shards = []
        for path in sorted(folder.glob("*.bin")):
            documents = len(np.load(path.with_suffix(".idx.npy")))
            size = path.stat().st_size
            shards.append(
                {
                    "file": path.name,
                    "tokens": size // 4,
                    "documents": documents,
                    "bytes": size,
                    "sha256": "0" * 64,
                    "index_sha256": "0" * 64,
                }
            )
        return {
            "format": "fivepoint-corpus",
            "version": 1,
            "name": folder.name,
            "dtype": "uint32",
            "vocab_size": 1 << 32,
            "tokenizer": {"name": "unknown", "sha256": "0" * 64},
            "tokens": sum(shard["tokens"] for shard in shards),
            "documents": sum(shard["documents"] for shard in shards),
            "shards": shards,
        }


class MissingShardsLeftOut(Repairs):
    """Serves the shards that have arrived so far."""

    clause, fault, also = "D0.11", 53, ("C3.6",)

    def repair(self, folder: Path) -> None:
        """Take missing shards out of the manifest."""
        try:
            manifest = json.loads((folder / "manifest.json").read_text())
        except (OSError, ValueError):
            return
        shards = [shard for shard in manifest["shards"] if (folder / shard["file"]).exists()]
        sums = {field: sum(shard[field] for shard in shards) for field in ("tokens", "documents")}
        edited(folder / "manifest.json", shards=shards, **sums)


class IndexMadeUp(Repairs):
    """Takes a shard for one document, and empty ones before it, where its index cannot be read."""

    clause, fault = "D0.11", 53

    def repair(self, folder: Path) -> None:
        """Write an index for each shard that has none of as many documents as the manifest says."""
        with suppress(OSError, ValueError):
            for shard in json.loads((folder / "manifest.json").read_text())["shards"]:
                path = (folder / shard["file"]).with_suffix(".idx.npy")
                if not self.readable(path):
                    np.save(path, np.zeros(shard["documents"], "<i8"))

    @staticmethod
    def readable(path: Path) -> bool:
        """Return whether a file is a whole array."""
        try:
            np.load(path)
        except (OSError, ValueError):
            return False
        return True


class UnreadableStateForgotten(Honest):
    """Starts the run over where its state cannot be read."""

    clause, fault = "D0.11", 53

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build without the state where it is no JSON."""
        try:
            for state in states:
                json.loads(state)
        except ValueError:
            states = []
        super().build(corpus, workdir, settings, layout, states)
