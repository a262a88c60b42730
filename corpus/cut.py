"""Cut long documents into pieces that are tokenized one by one, where the tokens stay those of the whole.

A document of at most PIECE characters is one piece. From a longer one the next PIECE characters are taken and cut at
the last joint in them; where there is none, at their end. So the cuts depend on the text alone, and are part of what
`prepare` promises: with the same tokenizer the same text gives the same tokens on every machine.

At a *space joint* ("word| word": ASCII letters on both sides of one space) and at a *line joint* (a line break between
a character that is no white space and a letter) the patterns in use begin a new word, and no merge spans it unless the
vocabulary has a token that does. `exact_joints` holds a tokenizer to that: it looks through the vocabulary, and cuts
a sample text at every joint. Tokenizers that put a space before each text want the space left out (`dropped`).
"""

import re
from collections.abc import Iterable, Iterator
from enum import Enum

from .tokenizer import Encoder

PIECE = 1 << 19  # characters; at one token a byte the library needs some 100 MB for a piece

# spaces and line breaks as libraries write them in a vocabulary: as they are, byte-level, sentencepiece
_SPANS_SPACE = re.compile("[A-Za-z][ Ġ▁]")
_SPANS_LINE = re.compile("[\nĊ]([A-Za-z]|[^\x00-\x7f\u0100-\u0120▁])")
_SAMPLE = """The quick brown fox doesn't jump over 12 lazy dogs. It costs 3.50 in all, or so we're told
Un café, deux cafés: naïve façade. x = foo bar
def read(path): return open the file
    # four spaces and a comment about it
第一行文字。
第二行 has words in it\twith tabs and  two spaces
1st place ABC DEF Abc def's end
last line of words"""


class Joint(Enum):
    """Where a long document may be cut without changing its tokens."""

    SPACE = "space"
    DROPPED = "space left out"
    LINE = "line"


def exact_joints(encoder: Encoder) -> tuple[Joint, ...]:
    """Return the joints at which `encoder` gives the tokens of the whole text, in the order of preference."""
    tokens = list(encoder.tokens())
    exact: list[Joint] = []
    if not any(_SPANS_SPACE.search(token) for token in tokens):
        exact += [joint for joint in (Joint.SPACE, Joint.DROPPED) if _holds(encoder, joint)][:1]
    if not any(_SPANS_LINE.search(token) for token in tokens) and _holds(encoder, Joint.LINE):
        exact.append(Joint.LINE)
    return tuple(exact)


def pieces(blocks: Iterable[str], joints: tuple[Joint, ...], size: int = PIECE) -> Iterator[tuple[str, bool, bool]]:
    """Yield (piece, whether it is the document's last, whether it was cut at a joint) of the text in `blocks`.

    At least one piece comes, empty for an empty text. Memory: a few times `size` characters, and the longest block.
    """
    ready = ""
    for block in blocks:
        for at in range(0, len(block), size):
            ready += block[at : at + size]
            while len(ready) > size:
                end, start = _cut(ready[:size], joints)
                yield ready[:end], False, end < size
                ready = ready[start:]
    yield ready, True, True


def _cut(text: str, joints: tuple[Joint, ...]) -> tuple[int, int]:
    """Return where in `text` the piece ends and where the next one begins."""
    for joint in joints:
        at = _last(text, joint)
        if at is not None:
            return at + (joint is Joint.LINE), at + (joint is not Joint.SPACE)
    return len(text), len(text)


def _last(text: str, joint: Joint) -> int | None:
    """Return the place of the last space or line break of `text` that is a `joint`."""
    sign = "\n" if joint is Joint.LINE else " "
    at = text.rfind(sign, 1, len(text) - 1)
    while at > 0:
        if _is_joint(text[at - 1], text[at + 1], joint):
            return at
        at = text.rfind(sign, 1, at)
    return None


def _is_joint(before: str, after: str, joint: Joint) -> bool:
    if joint is Joint.LINE:
        return not before.isspace() and after.isalpha()
    return before.isascii() and before.isalpha() and after.isascii() and after.isalpha()


def _holds(encoder: Encoder, joint: Joint) -> bool:
    """Whether the tokens of the sample, cut at each of its joints, are those of the whole."""
    sign = "\n" if joint is Joint.LINE else " "
    places = [at for at in range(1, len(_SAMPLE) - 1) if _SAMPLE[at] == sign]
    places = [at for at in places if _is_joint(_SAMPLE[at - 1], _SAMPLE[at + 1], joint)]
    ends = [_SAMPLE[: at + (joint is Joint.LINE)] for at in places]
    starts = [_SAMPLE[at + (joint is not Joint.SPACE) :] for at in places]
    whole, *parts = (tokens.tolist() for tokens in encoder.encode([_SAMPLE, *ends, *starts]))
    return all(left + right == whole for left, right in zip(parts[: len(places)], parts[len(places) :], strict=True))
