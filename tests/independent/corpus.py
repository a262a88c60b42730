"""A corpus read from its raw files (formats.md, F1): every token, and how long each document is."""

import json
import struct
from pathlib import Path


class Corpus:
    """The tokens of a corpus as a list of integers, its document lengths and its manifest."""

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        self.manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        self.name = self.manifest["name"]
        self.tokens: list[int] = []
        self.document_lengths: list[int] = []
        for shard in self.manifest["shards"]:
            tokens = read_tokens(folder / shard["file"], self.manifest["dtype"])
            starts = read_index(folder / shard["file"].replace(".bin", ".idx.npy"))
            ends = [*starts[1:], len(tokens)]
            self.tokens += tokens
            self.document_lengths += [end - start for start, end in zip(starts, ends, strict=True)]

    def windows(self, seq_len: int) -> list[list[int]]:
        """Return the L + 1 tokens of each window, taken while a whole one is left."""
        found = []
        first = 0
        while first + seq_len < len(self.tokens):
            found.append(self.tokens[first : first + seq_len + 1])
            first += seq_len
        return found

    def documents(self) -> list[int]:
        """Return the number of the document of each token."""
        return [number for number, length in enumerate(self.document_lengths) for _ in range(length)]


def read_tokens(path: Path, dtype: str) -> list[int]:
    """Return the tokens of a shard: unsigned, little-endian, 2 or 4 bytes each."""
    letter = {"uint16": "H", "uint32": "I"}[dtype]
    return [token for (token,) in struct.iter_unpack(f"<{letter}", path.read_bytes())]


def read_index(path: Path) -> list[int]:
    """Return the document starts of a shard from NPY 1.0: magic, header length, header, little-endian int64."""
    content = path.read_bytes()
    assert content[:8] == b"\x93NUMPY\x01\x00", f"{path} is not NPY 1.0"
    (header,) = struct.unpack("<H", content[8:10])
    assert b"'descr': '<i8'" in content[10 : 10 + header], f"{path} does not hold <i8"
    return [start for (start,) in struct.iter_unpack("<q", content[10 + header :])]
