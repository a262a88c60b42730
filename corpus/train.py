"""Train a byte-level BPE tokenizer on the sources themselves, the same on every machine."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from ..errors import ConfigError, InputError, OptionError
from ..reference.files import write_whole
from ..reference.manifest import MANIFEST
from .documents import Reading, read_parts
from .settings import HOLDOUT, chosen
from .sources import Source
from .tokenizer import EOD_NAMES, TokenizerFile

FILE = "tokenizer.json"
RECORD = "tokenizer.report.json"
TRAIN_CHARACTERS = 100_000_000
LEAST = 257  # every byte, and the end of a document
MOST = 1 << 22  # the trainer sets memory aside for all of them, and aborts where there is none


def trained_tokenizer(
    folder: Path, vocab_size: int, characters: int, sources: list[Source], reading: Reading, inputs: list[Any], force: bool
) -> TokenizerFile:
    """Return the tokenizer in `folder`, trained now where it is not there yet.

    Of about `characters` characters of the sources together, whole parts spread over all of them are learnt from.
    Raises ConfigError where `folder` holds another tokenizer, and `force` is not set or corpora of other sources need it, InputError
    where there is no text.
    """
    if vocab_size < LEAST:
        raise OptionError(f"expected --train-bpe of at least {LEAST} (256 bytes and an end of document), found {vocab_size}; ask for more")
    if vocab_size > MOST:
        raise OptionError(f"expected --train-bpe of at most {MOST}, found {vocab_size}; ask for fewer")
    if characters < 1:
        raise OptionError(f"expected --train-characters of at least 1, found {characters}; ask for more")
    record = {"format": "fivepoint-trained-bpe", "version": 2, "asked": vocab_size, "characters": characters}
    record |= {"text_field": reading.text_field, "invalid_utf8": reading.invalid_utf8, "inputs": inputs}
    path = folder / FILE
    if path.exists():
        found = TokenizerFile.read(path)
        if _record(folder) == _finished(record, found):
            return found
        _expect_replaceable(path, found, [name for name, _ in inputs], force)
    tokenizer = train(vocab_size, _sample(sources, characters, reading))
    found = TokenizerFile(FILE, tokenizer.to_str(pretty=False).encode())
    record = _finished(record, found)
    write_whole(folder / RECORD, (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())
    write_whole(path, found.data)
    return found


def _finished(record: dict[str, Any], found: TokenizerFile) -> dict[str, Any]:
    """Return the record with what the training gave: a small text has fewer ids in it than were asked for."""
    return {**record, "vocab_size": found.open().vocab_size, "sha256": found.identity.sha256}


def _expect_replaceable(path: Path, found: TokenizerFile, sources: list[str], force: bool) -> None:
    """Raise ConfigError where the tokenizer at `path`, trained on other inputs, made corpora that would then be without it."""
    made = [name for name in _made_by(path.parent, found.identity.sha256) if name.removesuffix(HOLDOUT) not in sources]
    if made and force:
        raise ConfigError(
            f"expected no corpus but those of the sources ({', '.join(sources)}) to be made with {path}, found {', '.join(made)}; give "
            f"--tokenizer {path}, name their sources too, or choose another folder"
        )
    if not force:
        raise ConfigError(
            f"{path} was trained on other inputs; to add a source to these corpora give --tokenizer {path} in place of --train-bpe, else "
            "choose another folder, or write all anew with --force"
        )


def _made_by(folder: Path, sha256: str) -> Iterator[str]:
    """Yield the names of the folders below `folder` with a corpus that the tokenizer with this hash made."""
    for manifest in sorted(folder.glob(f"*/{MANIFEST}")):
        try:
            if json.loads(manifest.read_bytes())["tokenizer"]["sha256"] == sha256:
                yield manifest.parent.name
        except (OSError, ValueError, KeyError, TypeError):  # no corpus of ours: nothing is lost with it
            continue


def train(vocab_size: int, texts: Iterator[str]) -> Tokenizer:
    """Return a byte-level BPE of `vocab_size` ids, learnt from `texts`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[EOD_NAMES[0]],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _sample(sources: list[Source], characters: int, reading: Reading) -> Iterator[str]:
    """Yield parts of documents: all where there is little text, else a share chosen by number, until there is enough."""
    share = Fraction(characters, max(characters, sum(source.bytes for source in sources)))
    left, any_text = characters, False
    for source in sources:
        number = 0
        for file in source.files:
            for part in read_parts(file, reading):
                number += 1
                if left <= 0:
                    return
                if part.text and chosen(f"{source.name}\0{number}".encode(), share):
                    left -= len(part.text)
                    any_text = True
                    yield part.text
    if not any_text:
        raise InputError("expected text to train a tokenizer on, found none")


def _record(folder: Path) -> Any:
    try:
        return json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError):
        return None
