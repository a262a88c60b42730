"""Helpers of the tests of `fivepoint prepare` and `verify`: the commands as subprocesses, small tokenizers, reading back."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from fivepoint.corpus.documents import Reading, read_parts
from fivepoint.corpus.sources import parse_sources
from fivepoint.reference.schema import validate

EOD = "<|endoftext|>"


def fivepoint(
    *arguments: str | Path, before: Callable[[], object] | None = None, timeout: float = 300, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command; `before` runs in the process just before it starts."""
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
        preexec_fn=before,
    )


def command(*arguments: str | Path) -> list[str]:
    """Return the command line of `fivepoint` with these arguments."""
    return [sys.executable, "-m", "fivepoint.cli", *map(str, arguments)]


def prepared(out: Path, *arguments: str | Path, **environment: str) -> list[dict[str, Any]]:
    """Run `prepare --json`, which must succeed, and return the reports of its sources."""
    done = fivepoint("prepare", "--out", out, "--json", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    validate(summary, "command_prepare", "the output of prepare", AssertionError)
    reports: list[dict[str, Any]] = summary["sources"]
    return reports


def refused(code: int, *arguments: str | Path, **options: Any) -> str:
    """Run the command, which must be refused with exit code `code`, and return its one sentence."""
    done = fivepoint(*arguments, **options)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.startswith("fivepoint: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def byte_tokenizer(path: Path) -> Path:
    """Write a tokenizer of the 256 bytes and an end of document (id 256): the token of a byte is its rank by hand."""
    alphabet = {sign: byte for byte, sign in enumerate(byte_signs())}
    tokenizer = Tokenizer(models.BPE(vocab=alphabet, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(EOD, special=True)])
    tokenizer.save(str(path))
    return path


def word_tokenizer(path: Path) -> Path:
    """Write a tokenizer that is fast: every word of text is the one unknown token."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([AddedToken(EOD, special=True)])
    tokenizer.save(str(path))
    return path


def byte_signs() -> list[str]:
    """Return the sign that stands for each byte in byte-level vocabularies, as GPT-2 defined them."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def write_jsonl(path: Path, texts: Iterable[str], field: str = "text") -> Path:
    """Write one text a line."""
    path.write_text("".join(json.dumps({"id": number, field: text}) + "\n" for number, text in enumerate(texts)))
    return path


def documents(folder: Path) -> list[list[int]]:
    """Return the tokens of every document of a corpus, by numpy and the manifest alone."""
    manifest = json.loads((folder / "manifest.json").read_text())
    found: list[list[int]] = []
    for shard in manifest["shards"]:
        tokens = np.fromfile(folder / shard["file"], dtype={"uint16": "<u2", "uint32": "<u4"}[manifest["dtype"]])
        starts = np.load(folder / shard["file"].replace(".bin", ".idx.npy"), allow_pickle=False)
        found += [part.tolist() for part in np.split(tokens, starts[1:])]
    return found


def texts(folder: Path) -> list[str]:
    """Return the text of every document of a corpus made by `byte_tokenizer`, which must end in one end of document."""
    found = []
    for tokens in documents(folder):
        assert tokens[-1] == 256 and 256 not in tokens[:-1], tokens
        found.append(bytes(tokens[:-1]).decode())
    return found


def tree(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below `folder`, hidden ones included."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def many(count, prefix=""):
    """Return texts that are all different."""
    return [f"{prefix}document {number}\nhas its own text, {number * number}\n" for number in range(count)]


def read_documents(path, globs=(), **reading):
    """Return (document, text) for every document of a source at `path`, the parts joined."""
    (source,) = parse_sources([f"web={path}"], list(globs))
    found, text = [], ""
    for file in source.files:
        for part in read_parts(file, Reading(**reading)):
            text += part.text
            if part.last:
                found.append((part.document, part.problem or text))
                text = ""
    return found
