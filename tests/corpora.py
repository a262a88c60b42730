"""Corpora for the tests: documents to files, and serial numbers as tokens, so that every token names its place."""

from collections.abc import Iterable
from itertools import count, islice
from pathlib import Path

from fivepoint.corpus.write import CorpusWriter
from fivepoint.reference.manifest import Tokenizer

TOKENIZER = Tokenizer("serial numbers", "0" * 64)


def write_corpus(
    folder: Path,
    documents: Iterable[Iterable[int]],
    *,
    name: str = "",
    dtype: str = "uint16",
    vocab_size: int | None = None,
    eod_id: int | None = None,
    tokenizer: Tokenizer = TOKENIZER,
    shard_bytes: int = 1 << 20,
) -> Path:
    """Write the documents as a corpus, named as its folder where no name is given, and return the folder."""
    size = vocab_size or {"uint16": 1 << 16, "uint32": 1 << 32}[dtype]
    options = {"eod_id": eod_id, "dtype": dtype, "shard_bytes": shard_bytes}
    with CorpusWriter(folder, name or folder.name, size, tokenizer, **options) as writer:
        for document in documents:
            writer.add(list(document) or ())
        writer.finish()
    return folder


class Serial:
    """Hands out documents whose tokens are serial numbers, each once over all corpora."""

    def __init__(self, first: int = 0) -> None:
        self._numbers = count(first)

    def documents(self, lengths: Iterable[int]) -> list[list[int]]:
        """Return documents of these lengths."""
        return [list(islice(self._numbers, length)) for length in lengths]
