"""A tokenizer from a `tokenizer.json` of Hugging Face's library `tokenizers`."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from tokenizers import Tokenizer


class HuggingFace:
    """Encodes text without adding tokens of its own; special tokens written in a text are ordinary text."""

    def __init__(self, data: bytes) -> None:
        """Open the tokenizer in `data`, the bytes of its file; raises whatever the library raises for malformed ones."""
        self._tokenizer = Tokenizer.from_str(data.decode("utf-8"))
        self._tokenizer.encode_special_tokens = True
        # a file may ask to cut or fill every text to a model's length
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._vocabulary = self._tokenizer.get_vocab(with_added_tokens=True)
        self.vocab_size = max(self._vocabulary.values(), default=-1) + 1  # ids may have gaps

    def encode(self, texts: list[str]) -> list[np.ndarray[Any, Any]]:
        """Return the token ids of each text, uint32."""
        encoded = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [np.array(one.ids, dtype=np.uint32) for one in encoded]

    def decode(self, ids: list[int]) -> str:
        """Return the text of token ids, special ones by their names; bytes that are no UTF-8 are replaced."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=False))

    def token_id(self, token: str) -> int | None:
        """Return the id of a token, None where the vocabulary has no such token."""
        return self._vocabulary.get(token)

    def tokens(self) -> Iterable[str]:
        """Return every token that text can give, as the library writes it."""
        special = {str(token) for token in self._tokenizer.get_added_tokens_decoder().values() if token.special}
        return (token for token in self._vocabulary if token not in special)
