"""Text of token ids, for previews: every kind of tokenizer gives back what it encoded, and stumbles over nothing."""

import base64
import hashlib
import json
from pathlib import Path

import pytest
import sentencepiece
from preparing import EOD, byte_tokenizer

from fivepoint.corpus.tokenizer import Encoder, TokenizerFile

TEXT = "the cat\nsat über the mat 日本"


def hugging_face(folder: Path) -> Path:
    return byte_tokenizer(folder / "bytes.json")


def tiktoken(folder: Path) -> Path:
    ranks = b"".join(base64.b64encode(bytes([byte])) + f" {byte}\n".encode() for byte in range(256))
    (folder / "some.tiktoken").write_bytes(ranks)
    fields = {"pat_str": r"\w+|\W", "ranks": "some.tiktoken", "ranks_sha256": hashlib.sha256(ranks).hexdigest()}
    (folder / "some.json").write_text(json.dumps(fields | {"special_tokens": {EOD: 300}}))
    return folder / "some.json"


def tekken(folder: Path) -> Path:
    vocabulary = [{"rank": byte, "token_bytes": base64.b64encode(bytes([byte])).decode()} for byte in range(256)]
    config = {"pattern": r"\w+|\W", "default_vocab_size": 266, "default_num_special_tokens": 10}
    (folder / "tekken.json").write_text(json.dumps({"config": config, "vocab": vocabulary}))
    return folder / "tekken.json"


def sentence_piece(folder: Path) -> Path:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sat on the mat", "a dog and the other cat"] * 50),
        model_prefix=str(folder / "sp"),
        vocab_size=300,
        model_type="bpe",
        byte_fallback=True,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return folder / "sp.model"


def opened(make, folder: Path) -> Encoder:
    return TokenizerFile.read(make(folder)).open()


KINDS = [hugging_face, tiktoken, tekken, sentence_piece]


@pytest.mark.parametrize("make", KINDS)
def test_what_was_encoded_is_decoded(tmp_path, make):
    encoder = opened(make, tmp_path)
    text = TEXT.replace("\n", " ") if make is sentence_piece else TEXT
    assert encoder.decode(encoder.encode([text])[0].tolist()) == text


@pytest.mark.parametrize("make", KINDS)
def test_a_character_cut_in_two_is_replaced(tmp_path, make):
    encoder = opened(make, tmp_path)
    assert encoder.decode(encoder.encode(["a日"])[0].tolist()[:-1]).startswith("a\ufffd")


@pytest.mark.parametrize("make", [hugging_face, tiktoken])
def test_special_tokens_are_named(tmp_path, make):
    encoder = opened(make, tmp_path)
    assert encoder.decode([ord("a"), encoder.token_id(EOD)]) == f"a{EOD}"


def test_an_id_in_a_gap_is_left_out(tmp_path):
    assert opened(tiktoken, tmp_path).decode([ord("a"), 280, ord("b")]) == "ab"
