"""The manifest of a corpus: what its files must be, and its identity (formats.md, F1; clauses C3.5 and D0.10)."""

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CorpusError
from .canonical import digest, read_json
from .schema import validate

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Shard:
    """One token file of a corpus, and its document index."""

    file: str
    tokens: int
    documents: int
    bytes: int
    sha256: str
    index_sha256: str

    @property
    def index_file(self) -> str:
        """Name of the document index beside the token file: `NAME.bin` has `NAME.idx.npy`."""
        return self.file.removesuffix(".bin") + ".idx.npy"


@dataclass(frozen=True)
class Tokenizer:
    """Name of the tokenizer, and SHA-256 of the bytes of its file."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a corpus holds. Token and document counts are sums over the shards; `eod_id` is None where there is none."""

    name: str
    dtype: str
    vocab_size: int
    tokenizer: Tokenizer
    tokens: int
    documents: int
    shards: tuple[Shard, ...]
    eod_id: int | None = None

    @classmethod
    def load(cls, folder: Path) -> "Manifest":
        """Read `folder/manifest.json`; raises CorpusError where it is missing, malformed or contradicts itself."""
        path = Path(folder) / MANIFEST
        value = read_json(path, CorpusError, "manifest")
        validate(value, "manifest", str(path), CorpusError)
        manifest = cls.from_json(value)
        manifest._check(path)
        return manifest

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Manifest":
        """Return the manifest that the JSON object `value`, valid by the schema, describes."""
        fields = {key: item for key, item in value.items() if key not in {"format", "version"}}
        fields["tokenizer"] = Tokenizer(**value["tokenizer"])
        fields["shards"] = tuple(Shard(**shard) for shard in value["shards"])
        return cls(**fields)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of formats.md, F1."""
        fields = asdict(self)
        fields["shards"] = [asdict(shard) for shard in self.shards]
        if self.eod_id is None:
            del fields["eod_id"]
        return {"format": "fivepoint-corpus", "version": 1, **fields}

    @cached_property
    def manifest_hash(self) -> str:
        """SHA-256 of the canonical JSON: moves with the content, tokenizer, dtype, order of shards and name."""
        return digest(self.to_json())

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 over the list of shard hashes: equal for two corpora of the same tokens cut the same way."""
        return digest([shard.sha256 for shard in self.shards])

    @property
    def token_dtype(self) -> "np.dtype[Any]":
        """The tokens' dtype on disk: little-endian uint16 or uint32."""
        return np.dtype("<u2" if self.dtype == "uint16" else "<u4")

    def _check(self, path: Path) -> None:
        width = self.token_dtype.itemsize
        if self.vocab_size > 1 << (8 * width):
            raise CorpusError(f"{path}: expected at most {1 << (8 * width)} ids for {self.dtype}, found vocab_size {self.vocab_size}")
        if self.eod_id is not None and self.eod_id >= self.vocab_size:
            raise CorpusError(f"{path}: expected eod_id below vocab_size {self.vocab_size}, found {self.eod_id}")
        names = [shard.file for shard in self.shards]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise CorpusError(f"{path}: expected each shard once, found {twice!r} twice")
        for shard in self.shards:
            if shard.bytes != shard.tokens * width:
                raise CorpusError(
                    f"{path}: expected {shard.tokens * width} bytes for {shard.tokens} tokens of {shard.file}, found {shard.bytes}"
                )
            if shard.file.startswith("."):
                raise CorpusError(f"{path}: expected a shard's name that does not begin with a dot, found {shard.file!r}")
        for field in ("tokens", "documents"):
            total = sum(getattr(shard, field) for shard in self.shards)
            if total != getattr(self, field):
                raise CorpusError(f"{path}: expected {field} to be the sum over the shards, {total}, found {getattr(self, field)}")
