"""A run's TOML file beside its corpora, compiled, or refused in one sentence."""

import json
import shutil

import pytest
from corpora import Serial, write_corpus

from fivepoint.errors import ConfigError, FivepointError
from fivepoint.reference.config import compile_run

BASE = """
seed = 7
seq_len = 8
samples = 100
global_batch = 10
[sources.web]
path = "web"
[sources.code]
path = "code"
max_epochs = 3
[[phases]]
until = "50%"
weights = { web = 0.6, code = 0.4 }
[[phases]]
until = "100%"
weights = { web = 1, code = 0.25 }
"""


def write_corpora(folder):
    """Write into `folder` the corpora web (99 windows of 8), code (24), docs (12) and short (none)."""
    serial = Serial()
    for name, lengths in (("web", [100] * 8), ("code", [50] * 4), ("docs", [100]), ("short", [8])):
        write_corpus(folder / name, serial.documents(lengths))
    shutil.copytree(folder / "code", folder / "copy")
    manifest = json.loads((folder / "copy" / "manifest.json").read_text())
    (folder / "copy" / "manifest.json").write_text(json.dumps({**manifest, "name": "renamed"}))
    return folder


def compiled(folder, text):
    (folder / "run.toml").write_text(text)
    return compile_run(folder / "run.toml")


def refusal(folder, text, kind=ConfigError):
    with pytest.raises(kind) as caught:
        compiled(folder, text)
    message = str(caught.value)
    assert isinstance(caught.value, FivepointError)
    assert message.startswith(str(folder / "run.toml")) or kind is not ConfigError, message
    return message
