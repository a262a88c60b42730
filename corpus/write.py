"""Write a corpus from token arrays: shards cut at document ends, their indexes, the manifest last (formats.md, F1)."""

import hashlib
import io
import json
import re
from array import array
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ConfigError, CorpusError, InputError, OptionError
from ..reference.files import NewFile, sync_folder, write_whole, written
from ..reference.manifest import MANIFEST, Manifest, Shard, Tokenizer
from ..reference.schema import validate

SHARD_BYTES = 256 << 20
UINT16_IDS = 1 << 16
REPORT = "report.json"
DROPPED = "dropped.jsonl"
DOCUMENTS = "documents.jsonl"
TEMPORARY = re.compile(r"\.(.+)\.[^.]+\.tmp")
NAME = re.compile(r"[^./\\\x00-\x1f][^/\\\x00-\x1f]*")
NAME_BYTES = 200


def smallest_dtype(vocab_size: int) -> str:
    """Return `"uint16"` where all `vocab_size` ids fit in 2 bytes (65,536 do, 65,537 do not), else `"uint32"`."""
    return "uint16" if vocab_size <= UINT16_IDS else "uint32"


class CorpusWriter:
    """Writes one corpus, document by document, into `folder`, which may not hold a finished one.

    A document that would take a shard past `shard_bytes` begins the next one, so only a single longer document makes a
    longer shard. Documents are written as they come: whoever wants an end-of-document id appends it. What an
    interrupted writer left (shards without manifest, temporaries) is removed first. Used as a context, it removes what
    it wrote unless `finish()` was reached.
    """

    def __init__(
        self,
        folder: Path | str,
        name: str,
        vocab_size: int,
        tokenizer: Tokenizer,
        *,
        eod_id: int | None = None,
        dtype: str | None = None,
        shard_bytes: int = SHARD_BYTES,
    ) -> None:
        """Begin the corpus `name`; `dtype` is the smallest that holds the vocabulary where none is given.

        Raises ConfigError (OptionError) for a bad name or too small a dtype, CorpusError where the folder holds other files.
        """
        check_name(name)
        self.folder, self.name, self.vocab_size, self.tokenizer, self.eod_id = (
            Path(folder),
            name,
            vocab_size,
            tokenizer,
            eod_id,
        )
        self.dtype = dtype or smallest_dtype(vocab_size)
        self.shard_bytes = shard_bytes
        if self.dtype not in {"uint16", "uint32"} or smallest_dtype(vocab_size) > self.dtype:
            raise ConfigError(f"expected a dtype of uint16 or uint32 that holds {vocab_size} ids for {name}, found {self.dtype}")
        if shard_bytes < 1:
            raise ConfigError(f"expected shard_bytes of at least 1 for {name}, found {shard_bytes}")
        self._token_dtype = np.dtype("<u2" if self.dtype == "uint16" else "<u4")
        self._shards: list[Shard] = []
        self._open: _OpenShard | None = None
        self._made_folder = not self.folder.exists()
        with written(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        clear_unfinished(self.folder, name)

    def add(self, tokens: ArrayLike) -> None:
        """Append one document of `tokens`, integers below `vocab_size`; it may be empty.

        Raises InputError for a token outside the vocabulary, OutputError where the disk takes no more.
        """
        array = np.asarray(tokens)
        self.add_parts([array], array.size)

    def add_parts(self, parts: Iterable[np.ndarray[Any, Any]], length: int) -> None:
        """Append one document of `length` tokens that comes in `parts`, for documents too long to hold at once."""
        # An empty document never begins a shard, which holds at least one token.
        if length and self._open is not None and self._open.tokens and self._overflows(self._open, length):
            self._close_shard()
        if self._open is None:
            self._open = _OpenShard(self.folder / f"{self.name}-{len(self._shards):05d}.bin")
        self._open.starts.append(self._open.tokens)
        before = self._open.tokens
        for part in parts:
            self._open.write(self._checked(part))
        if self._open.tokens - before != length:
            raise ValueError(f"expected {length} tokens for a document of {self.name}, found {self._open.tokens - before}")

    def manifest(self) -> Manifest:
        """Close the open shard and return the manifest so far; raises InputError where no token was added."""
        if self._open is not None and self._open.tokens:
            self._close_shard()
        if not self._shards:
            raise InputError(f"expected at least one token for corpus {self.name}, found none")
        return Manifest(
            name=self.name,
            dtype=self.dtype,
            vocab_size=self.vocab_size,
            tokenizer=self.tokenizer,
            tokens=sum(shard.tokens for shard in self._shards),
            documents=sum(shard.documents for shard in self._shards),
            shards=tuple(self._shards),
            eod_id=self.eod_id,
        )

    def finish(self) -> Manifest:
        """Write the last shard and then the manifest, and return it; raises InputError where no token was added."""
        manifest = self.manifest()
        value = manifest.to_json()
        validate(value, "manifest", str(self.folder / MANIFEST), ConfigError)
        write_whole(self.folder / MANIFEST, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())
        return manifest

    def discard(self) -> None:
        """Remove everything written so far; the folder too, where it was made for this and is empty."""
        if self._open is not None:
            self._open.discard()
            self._open = None
        (self.folder / MANIFEST).unlink(missing_ok=True)
        clear_unfinished(self.folder, self.name)
        if self._made_folder and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def __enter__(self) -> "CorpusWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not (self.folder / MANIFEST).exists():
            self.discard()

    def _checked(self, tokens: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if tokens.ndim != 1 or (tokens.size and tokens.dtype.kind not in "iu"):
            raise InputError(f"expected one row of integer tokens for {self.name}, found {tokens.ndim} axes of {tokens.dtype}")
        if tokens.size and not (int(tokens.min()) >= 0 and int(tokens.max()) < self.vocab_size):
            wrong = int(tokens.min()) if int(tokens.min()) < 0 else int(tokens.max())
            raise InputError(
                f"expected tokens of {self.name} from 0 to {self.vocab_size - 1}, found {wrong}; use the tokenizer that made them"
            )
        return np.ascontiguousarray(tokens, dtype=self._token_dtype)

    def _overflows(self, shard: "_OpenShard", length: int) -> bool:
        return (shard.tokens + length) * self._token_dtype.itemsize > self.shard_bytes

    def _close_shard(self) -> None:
        if self._open is not None:
            self._shards.append(self._open.finish())
            self._open = None


class _OpenShard:
    """The shard being written: its token file, and the starts of its documents."""

    def __init__(self, path: Path) -> None:
        self.tokens = 0
        self.starts = array("q")  # 8 bytes a document: a shard may hold many millions
        self._bytes = 0
        self._sha256 = hashlib.sha256()
        self._file = NewFile(path)

    def write(self, tokens: np.ndarray[Any, Any]) -> None:
        data = tokens.data.cast("B") if tokens.size else memoryview(b"")
        self._file.write(data)
        self._sha256.update(data)
        self._bytes += len(data)
        self.tokens += tokens.size

    def finish(self) -> Shard:
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.frombuffer(self.starts, dtype=np.int64).astype("<i8"), version=(1, 0))
        index = buffer.getvalue()
        self._file.finish()
        shard = Shard(
            file=self._file.path.name,
            tokens=self.tokens,
            documents=len(self.starts),
            bytes=self._bytes,
            sha256=self._sha256.hexdigest(),
            index_sha256=hashlib.sha256(index).hexdigest(),
        )
        write_whole(self._file.path.with_name(shard.index_file), index)
        return shard

    def discard(self) -> None:
        self._file.discard()


def check_name(name: str, spare: int = 0) -> None:
    """Raise OptionError unless `name` can name a corpus, and so its folder and its shards, with `spare` bytes for what is added to it."""
    if not NAME.fullmatch(name) or len(name.encode("utf-8", "replace")) > NAME_BYTES - spare:
        raise OptionError(
            f"expected a corpus name of at most {NAME_BYTES - spare} bytes that does not begin with a dot and has no slash, "
            f"backslash or control character, found {name!r}; choose another"
        )


def clear_unfinished(folder: Path, name: str) -> None:
    """Remove what an interrupted writer of corpus `name` left in `folder`.

    Raises CorpusError, and removes nothing, where a manifest or any other file is there.
    """
    ours = re.compile(rf"{re.escape(name)}-\d{{5}}\.(bin|idx\.npy)|{'|'.join(map(re.escape, (REPORT, DROPPED, DOCUMENTS)))}")
    found = sorted(folder.iterdir())
    for path in found:
        if path.name == MANIFEST:
            raise CorpusError(f"{folder} holds a finished corpus already; choose another folder or remove it")
        stem = temporary[1] if (temporary := TEMPORARY.fullmatch(path.name)) else path.name
        if not (ours.fullmatch(stem) or stem == MANIFEST) or not path.is_file():
            raise CorpusError(f"expected {folder} to be empty or an unfinished corpus {name}, found {path.name}; choose another folder")
    for path in found:
        path.unlink()
    if found:
        sync_folder(folder)
