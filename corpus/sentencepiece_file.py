"""A tokenizer from a `.model` file of the library `sentencepiece`."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sentencepiece import SentencePieceProcessor


class SentencePiece:
    """Encodes text by the model alone: control symbols such as `</s>` never come from text."""

    def __init__(self, data: bytes) -> None:
        """Open the model in `data`, the bytes of its file; raises RuntimeError for malformed ones."""
        self._model = SentencePieceProcessor(model_proto=data)
        self.vocab_size = int(self._model.get_piece_size())
        self._vocabulary = {self._model.id_to_piece(token): token for token in range(self.vocab_size)}

    def encode(self, texts: list[str]) -> list[np.ndarray[Any, Any]]:
        """Return the token ids of each text, uint32."""
        return [np.array(ids, dtype=np.uint32) for ids in self._model.encode(texts, out_type=int, num_threads=1)]

    def decode(self, ids: list[int]) -> str:
        """Return the text of token ids, control symbols left out; bytes that are no UTF-8 are replaced."""
        return str(self._model.decode(ids))

    def token_id(self, token: str) -> int | None:
        """Return the id of a piece, None where the model has no such piece."""
        return self._vocabulary.get(token)

    def tokens(self) -> Iterable[str]:
        """Return every piece as the library writes it."""
        return self._vocabulary
