"""Long documents are cut where their tokens stay those of the whole."""

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from fivepoint.corpus.cut import Joint, exact_joints, pieces
from fivepoint.corpus.hugging_face import HuggingFace
from fivepoint.corpus.sentencepiece_file import SentencePiece
from fivepoint.corpus.tiktoken_file import Tiktoken

TEXT = "The quick brown fox doesn't jump over the lazy dogs, or 12 of them.\nx = foo(bar) # the rest\n\n  and\tmore words here\n" * 20
# the patterns of GPT-2 and of cl100k
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
CL100K = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"


def trained(pre_tokenizer, normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator([TEXT], trainer)
    return HuggingFace(tokenizer.to_str().encode())


def ranks():
    merged = sorted({TEXT[at : at + size] for at in range(60) for size in (2, 3, 4)}, key=lambda part: (len(part), part))
    words = [part.encode() for part in merged if part.isalpha() or (part[1:].isalpha() and part[0] == " ")]
    return {bytes([byte]): byte for byte in range(256)} | {word: 256 + at for at, word in enumerate(words)}


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT.split("\n")), model_prefix=str(folder / "sp"), vocab_size=400, model_type="bpe",
        byte_fallback=True, hard_vocab_limit=False, minloglevel=2, normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    )  # fmt: skip
    return {
        "byte-level": trained(pre_tokenizers.ByteLevel(add_prefix_space=False)),
        "GPT-2": Tiktoken(GPT2, ranks(), {}),
        "cl100k": Tiktoken(CL100K, ranks(), {}),
        "sentencepiece": SentencePiece((folder / "sp.model").read_bytes()),
        "metaspace": trained(pre_tokenizers.Metaspace()),
        "lowercase": trained(pre_tokenizers.BertPreTokenizer(), normalizers.Lowercase()),
        "whole text": trained(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)),
    }


@pytest.mark.parametrize(
    ("name", "joints"),
    [
        ("byte-level", (Joint.SPACE, Joint.LINE)),
        ("GPT-2", (Joint.SPACE, Joint.LINE)),
        ("cl100k", (Joint.SPACE, Joint.LINE)),
        ("sentencepiece", (Joint.DROPPED,)),
        ("whole text", ()),
    ],
)
def test_the_joints_of_each_kind(encoders, name, joints):
    assert exact_joints(encoders[name]) == joints


class Bytes:
    """Encodes bytes one by one; has whatever further tokens it is said to have."""

    vocab_size = 256

    def __init__(self, *tokens):
        self._tokens = tokens

    def encode(self, texts):
        return [np.frombuffer(text.encode(), dtype=np.uint8) for text in texts]

    def tokens(self):
        return self._tokens


@pytest.mark.parametrize(
    ("token", "joints"),
    [
        ("Ġqz", (Joint.SPACE, Joint.LINE)),
        ("qĠz", (Joint.LINE,)),
        ("q▁", (Joint.LINE,)),
        ("q z", (Joint.LINE,)),
        ("ĊĊ", (Joint.SPACE, Joint.LINE)),
        ("Ċz", (Joint.SPACE,)),
        (".\nz", (Joint.SPACE,)),
    ],
)
def test_a_token_that_spans_a_joint_rules_it_out(token, joints):
    assert exact_joints(Bytes("a", token)) == joints


WORDS = st.lists(
    st.sampled_from(["The", "dogs", "don't", "12", "3.5", ".", ",", "  ", "\n", "\n\n", "\t", "é", "文字", "…", "x=", "I'LL", "\r\n"]),
    max_size=40,
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(words=WORDS, between=st.sampled_from(["", " ", "  "]), size=st.integers(4, 60))
@pytest.mark.parametrize("name", ["byte-level", "GPT-2", "cl100k", "sentencepiece", "metaspace", "lowercase"])
def test_pieces_cut_at_joints_give_the_tokens_of_the_whole(encoders, name, words, between, size):
    text, encoder = between.join(words), encoders[name]
    cut = list(pieces([text], exact_joints(encoder), size))
    if all(exact for _, _, exact in cut):
        joined = [token for piece in encoder.encode([piece for piece, _, _ in cut]) for token in piece.tolist()]
        assert joined == encoder.encode([text])[0].tolist(), [piece for piece, _, _ in cut]


@settings(deadline=None)
@given(text=st.text("ab \n", max_size=200), size=st.integers(1, 20), data=st.data())
def test_the_cuts_depend_on_the_text_alone(text, size, data):
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    blocks = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    joints = (Joint.SPACE, Joint.LINE)
    found = list(pieces(blocks, joints, size))
    assert found == list(pieces([text], joints, size))
    assert "".join(piece for piece, _, _ in found) == text
    assert all(len(piece) <= size for piece, _, _ in found)
    assert [last for _, last, _ in found] == [False] * (len(found) - 1) + [True]


def test_text_without_a_joint_is_cut_at_the_size_and_said_so():
    assert list(pieces(["abcdefgh"], (Joint.SPACE,), 3)) == [("abc", False, False), ("def", False, False), ("gh", True, True)]


def test_a_text_is_cut_at_the_last_joint():
    assert [piece for piece, _, _ in pieces(["ab cd ef gh"], (Joint.SPACE,), 9)] == ["ab cd", " ef gh"]
    assert [piece for piece, _, _ in pieces(["ab cd ef gh"], (Joint.DROPPED,), 9)] == ["ab cd", "ef gh"]
    assert [piece for piece, _, _ in pieces(["ab\ncd\nef gh"], (Joint.LINE,), 9)] == ["ab\ncd\n", "ef gh"]
