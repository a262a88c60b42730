"""Tokenizer files of every kind: what they are taken for, how many ids they have, and what text may give."""

import base64
import hashlib
import json
import sys

import pytest
import sentencepiece
from preparing import EOD, byte_tokenizer
from tiktoken_ext import openai_public
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from fivepoint.corpus.encode import Job, encode
from fivepoint.corpus.tokenizer import TokenizerFile, find_eod
from fivepoint.errors import InputError

BYTES = b"".join(base64.b64encode(bytes([byte])) + f" {byte}\n".encode() for byte in range(256))
RANKS = BYTES + base64.b64encode(b"th") + b" 256\n"


def opened(path, **options):
    return TokenizerFile.read(path, **options).open()


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def description(folder, **changes):
    written(folder / "some.tiktoken", RANKS)
    fields = {"pat_str": r"\w+|\W", "ranks": "some.tiktoken", "ranks_sha256": hashlib.sha256(RANKS).hexdigest()}
    return written(folder / "some.json", fields | {"special_tokens": {EOD: 300}} | changes)


def tekken(folder):
    vocabulary = [{"rank": byte, "token_bytes": base64.b64encode(bytes([byte])).decode()} for byte in range(256)]
    vocabulary += [{"rank": 256, "token_bytes": base64.b64encode(b"th").decode()}]
    vocabulary += [{"rank": 257, "token_bytes": base64.b64encode(b"beyond the size in use").decode()}]
    config = {"pattern": r"\w+|\W", "default_vocab_size": 267, "default_num_special_tokens": 10}
    return written(folder / "tekken.json", {"config": config, "vocab": vocabulary})


def sentence_piece(folder):
    lines = ["the cat sat on the mat", "a dog and the other cat"] * 50
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=str(folder / "sp"), vocab_size=300, model_type="bpe",
        byte_fallback=True, hard_vocab_limit=False, minloglevel=2, user_defined_symbols=["<tool>"],
    )  # fmt: skip
    return folder / "sp.model"


def test_added_tokens_count_and_so_do_gaps(tmp_path):
    assert opened(byte_tokenizer(tmp_path / "t.json")).vocab_size == 257
    Tokenizer(models.WordLevel({"[UNK]": 0, "a": 70_000}, unk_token="[UNK]")).save(str(tmp_path / "gap.json"))
    assert opened(tmp_path / "gap.json").vocab_size == 70_001


def test_special_tokens_in_a_text_are_ordinary_text(tmp_path):
    encoder = opened(byte_tokenizer(tmp_path / "t.json"))
    assert encoder.encode([f"a{EOD}b"])[0].tolist() == list(f"a{EOD}b".encode())


def test_a_file_s_truncation_padding_and_template_are_left_out(tmp_path):
    path = byte_tokenizer(tmp_path / "t.json")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=8, pad_id=256)
    tokenizer.save(str(path))
    assert [ids.tolist() for ids in opened(path).encode(["abcdef", "a"])] == [list(b"abcdef"), list(b"a")]


def test_a_description_of_a_tiktoken_encoding(tmp_path):
    encoder = opened(description(tmp_path))
    assert encoder.vocab_size == 301
    assert encoder.token_id(EOD) == 300
    assert encoder.encode([f"the{EOD}"])[0].tolist() == [256, ord("e"), *EOD.encode()]


def test_a_description_names_its_ranks_by_hash(tmp_path):
    with pytest.raises(InputError, match="ranks_sha256"):
        opened(description(tmp_path, ranks_sha256="0" * 64))


def test_ranks_without_every_byte_are_refused(tmp_path):
    ranks = RANKS.split(b"\n", 1)[1]
    path = description(tmp_path, ranks_sha256=hashlib.sha256(ranks).hexdigest())
    written(tmp_path / "some.tiktoken", ranks)
    with pytest.raises(InputError, match="every single byte"):
        opened(path)


def test_ranks_that_tiktoken_knows_need_no_description(tmp_path, monkeypatch):
    def known():
        ranks = openai_public.load_tiktoken_bpe("https://nowhere", expected_hash=hashlib.sha256(RANKS).hexdigest())
        return {"pat_str": r"\w+|\W", "mergeable_ranks": ranks, "special_tokens": {EOD: 257}}

    monkeypatch.setitem(openai_public.ENCODING_CONSTRUCTORS, "known", known)
    encoder = opened(written(tmp_path / "known.tiktoken", RANKS))
    assert (encoder.vocab_size, encoder.encode(["the"])[0].tolist()) == (258, [256, ord("e")])
    assert opened(tmp_path / "known.tiktoken", encoding="known").vocab_size == 258
    with pytest.raises(InputError, match="as o200k_base"):
        opened(tmp_path / "known.tiktoken", encoding="o200k_base")
    with pytest.raises(InputError, match="expected an encoding of tiktoken"):
        opened(tmp_path / "known.tiktoken", encoding="nothing")


def test_ranks_that_nobody_knows_are_refused(tmp_path):
    with pytest.raises(InputError, match="describe the encoding"):
        opened(written(tmp_path / "mine.tiktoken", RANKS))


def test_tekken_puts_special_ids_first(tmp_path):
    encoder = opened(tekken(tmp_path))
    assert (encoder.vocab_size, encoder.token_id("</s>")) == (267, 2)
    assert encoder.encode(["the"])[0].tolist() == [10 + 256, 10 + ord("e")]


def test_a_sentencepiece_model(tmp_path):
    path = sentence_piece(tmp_path)
    encoder, library = opened(path), sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert encoder.vocab_size == library.get_piece_size()
    assert find_eod(encoder, None, "") == ("</s>", library.eos_id())
    text = "the cat and an é </s> <tool>"
    assert encoder.encode([text])[0].tolist() == library.encode(text)
    assert library.eos_id() not in encoder.encode([text])[0]


def test_the_end_of_a_document_is_found_or_named(tmp_path):
    encoder = opened(byte_tokenizer(tmp_path / "t.json"))
    assert find_eod(encoder, None, "t") == (EOD, 256)
    assert find_eod(encoder, "a", "t") == ("a", 97)
    with pytest.raises(InputError, match="<nothing>"):
        find_eod(encoder, "<nothing>", "t")


def test_no_text_gives_the_end_of_a_document(tmp_path):
    """A word-level vocabulary, whose end of document is an ordinary word."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "</s>": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "t.json"))
    file = TokenizerFile.read(tmp_path / "t.json")
    found = encode(file.open(), Job(file, ("</s>", 2), False, False), ["a </s> a", "</s></s>", "a"])
    assert [2 in one.tokens for one in found] == [False, False, False]
    assert found[0].tokens.tolist() == [1, 0, 0, 1]


def test_added_tokens_that_are_not_special_stay_tokens(tmp_path):
    tokenizer = Tokenizer.from_file(str(byte_tokenizer(tmp_path / "t.json")))
    tokenizer.add_tokens([AddedToken("<tool>", special=False)])
    tokenizer.save(str(tmp_path / "t.json"))
    assert opened(tmp_path / "t.json").encode(["a<tool>"])[0].tolist() == [97, 257]


@pytest.mark.parametrize("content", [b"", b"\0\1\2 rubbish", b"{", b'{"model": 3}', b'{"config": {}}', b"[1, 2]"])
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path, content):
    with pytest.raises(InputError, match=r"tokenizer.*x\.json"):
        opened(written(tmp_path / "x.json", content))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read the tokenizer"):
        TokenizerFile.read(tmp_path / "none.json")


def test_a_library_that_is_not_installed_is_named(tmp_path, monkeypatch):
    file = TokenizerFile.read(byte_tokenizer(tmp_path / "t.json"))
    monkeypatch.setitem(sys.modules, "fivepoint.corpus.hugging_face", None)
    with pytest.raises(InputError, match=r"needs the package .*pip install 'fivepoint\[prepare\]'"):
        file.open()
