"""Text of tokens, where somebody gives the tokenizer that made them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ..corpus.tokenizer import TokenizerFile
from ..errors import InputError
from ..reference.corpus import CorpusReader

Decode = Callable[[list[int]], str]


class Decoders:
    """The tokenizers at hand, each for the corpora whose manifest holds its SHA-256."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Open the tokenizer files; raises InputError where one is none."""
        self._files = {file.identity.sha256: file for file in map(TokenizerFile.read, paths)}
        self._decode: dict[str, Decode] = {}
        for sha256, file in self._files.items():
            self._decode[sha256] = file.open().decode
        self._asked: dict[str, str] = {}

    def __call__(self, corpus: CorpusReader) -> Decode | None:
        """Return what decodes the tokens of `corpus`, None where no tokenizer at hand made them."""
        tokenizer = corpus.manifest.tokenizer
        self._asked[tokenizer.sha256] = tokenizer.name
        return self._decode.get(tokenizer.sha256)

    def expect_used(self) -> None:
        """Raise InputError for a tokenizer that made none of the corpora asked for so far."""
        for sha256, file in self._files.items():
            if sha256 not in self._asked:
                wanted = ", ".join(f"{name} with sha256 {other}" for other, name in self._asked.items())
                raise InputError(f"expected a tokenizer that made a corpus of the step, {wanted}, found {file.name} with sha256 {sha256}")
