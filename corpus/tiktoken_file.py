"""A tokenizer of the library `tiktoken`: ranks of a known encoding, a description with ranks, or Mistral's tekken.

A file of ranks (`.tiktoken`) holds neither the pattern that splits text nor the special tokens. Those come from
tiktoken itself where it knows the file by its SHA-256; else from a description, a JSON object with `pat_str`,
`special_tokens` (token -> id), `ranks` (a file beside it) and `ranks_sha256`, which makes the description's own hash
cover the ranks.
"""

import base64
import hashlib
from collections.abc import Iterable
from typing import Any
from unittest.mock import patch

import numpy as np
from tiktoken import Encoding
from tiktoken_ext import openai_public

from ..errors import InputError

Ranks = dict[bytes, int]
# tekken files of before their version 7 leave these out
TEKKEN_SPECIAL = {"<unk>": 0, "<s>": 1, "</s>": 2}


class Tiktoken:
    """Encodes text with special tokens as ordinary text; `first_id` is added to the id of every ordinary token."""

    def __init__(self, pattern: str, ranks: Ranks, special: dict[str, int], first_id: int = 0) -> None:
        """Build the encoding; raises InputError where a byte has no rank, ValueError where the pattern is malformed."""
        missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
        if missing:
            raise InputError(f"expected a rank for every single byte, found none for {len(missing)} of 256")
        self._encoding = Encoding("fivepoint", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        self._ranks, self._special, self._first_id = ranks, special, first_id
        self.vocab_size = max(max(ranks.values()) + first_id, *special.values(), 0) + 1

    @classmethod
    def from_ranks(cls, data: bytes, encoding: str | None) -> "Tiktoken":
        """Open the ranks in `data` as tiktoken's own `encoding`, or as the first of its encodings with these ranks."""
        known = openai_public.ENCODING_CONSTRUCTORS
        if encoding is not None and encoding not in known:
            raise InputError(f"expected an encoding of tiktoken ({', '.join(known)}), found {encoding}")
        for name in [encoding] if encoding is not None else known:
            found = _known(name, data)
            if found is not None:
                return cls(found["pat_str"], found["mergeable_ranks"], found["special_tokens"])
        raise InputError(
            f"expected ranks that tiktoken knows{f' as {encoding}' if encoding else ''}, found others; "
            "describe the encoding in a JSON file with pat_str, special_tokens, ranks and ranks_sha256, and give that"
        )

    @classmethod
    def from_description(cls, value: dict[str, Any], ranks: bytes) -> "Tiktoken":
        """Build the encoding that the JSON object `value` describes, with the bytes of its file of ranks."""
        found = hashlib.sha256(ranks).hexdigest()
        if value.get("ranks_sha256") != found:
            raise InputError(f"expected ranks_sha256 {found}, that of {value['ranks']}, found {value.get('ranks_sha256')}")
        return cls(str(value["pat_str"]), parse_ranks(ranks), dict(value.get("special_tokens", {})))

    @classmethod
    def from_tekken(cls, value: dict[str, Any]) -> "Tiktoken":
        """Build the encoding of a tekken file, whose special tokens come before the others."""
        config = value["config"]
        first_id = int(config["default_num_special_tokens"])
        vocabulary = value["vocab"][: int(config["default_vocab_size"]) - first_id]
        ranks = {base64.b64decode(token["token_bytes"]): int(token["rank"]) for token in vocabulary}
        special = {token["token_str"]: int(token["rank"]) for token in value.get("special_tokens") or ()}
        return cls(config["pattern"], ranks, special or TEKKEN_SPECIAL, first_id)

    def encode(self, texts: list[str]) -> list[np.ndarray[Any, Any]]:
        """Return the token ids of each text, uint32."""
        first = np.uint32(self._first_id)
        return [self._encoding.encode_to_numpy(text, disallowed_special=()) + first for text in texts]

    def decode(self, ids: list[int]) -> str:
        """Return the text of token ids, special ones by their names; bytes that are no UTF-8 are replaced."""
        texts = {rank + self._first_id: text for text, rank in self._ranks.items()}
        texts |= {token: text.encode() for text, token in self._special.items()}
        return b"".join(texts.get(token, b"") for token in ids).decode("utf-8", "replace")

    def token_id(self, token: str) -> int | None:
        """Return the id of a special token, or of an ordinary one, None where there is no such token."""
        rank = self._ranks.get(token.encode())
        return self._special.get(token, None if rank is None else rank + self._first_id)

    def tokens(self) -> Iterable[str]:
        """Return every ordinary token, its bytes as latin-1 characters."""
        return (token.decode("latin-1") for token in self._ranks)


def parse_ranks(data: bytes) -> Ranks:
    """Return the ranks in `data`: a line each, base64 of the token, a space, its rank; raises ValueError."""
    ranks = {}
    for line in data.splitlines():
        if line:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
    return ranks


class _OtherRanksError(Exception):
    """The encoding at hand has other ranks."""


def _known(name: str, data: bytes) -> dict[str, Any] | None:
    """Return tiktoken's encoding `name` with `data` in place of the file it would fetch, None where its hash differs."""
    digest = hashlib.sha256(data).hexdigest()

    def ranks(url: str, expected_hash: str | None = None) -> Ranks:
        if expected_hash != digest:
            raise _OtherRanksError
        return parse_ranks(data)

    def no_ranks(*_: Any, **__: Any) -> Ranks:
        raise _OtherRanksError

    with (
        patch.object(openai_public, "load_tiktoken_bpe", ranks),
        patch.object(openai_public, "data_gym_to_mergeable_bpe_ranks", no_ranks),
    ):
        try:
            found: dict[str, Any] = openai_public.ENCODING_CONSTRUCTORS[name]()
        except _OtherRanksError:
            return None
    return found
