"""What loaders are measured on: one source whose tokens are serial numbers, so that what they serve can be told from anything else.

A token takes four bytes: two have no room for a serial number a token.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..corpora import CorpusSpec, Identity, windows
from ..driver import MicroBatch, Phase, Settings

DOCUMENT = 2048
"""Tokens of a document, about."""
WIDTH = 4
"""Bytes of a token."""


@dataclass(frozen=True)
class Data:
    """A corpus "data" below `corpus`, in one shard, and the settings of a run over it."""

    corpus: Path
    tokens: int
    settings: Settings
    never_cold: str = ""
    """Why nothing is said of cold files, "" where they can be cold."""

    @property
    def shard(self) -> Path:
        """The file with the tokens."""
        (shard,) = (self.corpus / "data").glob("*.bin")
        return shard

    @property
    def window_bytes(self) -> int:
        """Bytes of a sample in the corpus: its tokens and the target of its last one."""
        return WIDTH * (self.settings.seq_len + 1)

    def windows(self, stride: str) -> int:
        """Return the samples of an epoch, for windows that share a token ("L") or none ("L+1")."""
        step, shared = (self.settings.seq_len, 1) if stride == "L" else (self.settings.seq_len + 1, 0)
        return (self.tokens - shared) // step

    def of_length(self, samples: int) -> "Data":
        """Return the same data for a run of so many samples."""
        return replace(self, settings=replace(self.settings, phases=[Phase(samples, {"data": "1"})]))

    def unlike(self, step: list[MicroBatch]) -> str:
        """Return in a sentence how a row differs from every window of the corpus, "" where none does."""
        for batch in step:
            inputs = np.asarray(batch["inputs"]).astype(np.int64)
            if inputs.ndim != 2 or inputs.shape[1] != self.settings.seq_len:
                return f"served rows of shape {inputs.shape}, expected {self.settings.seq_len} tokens each"
            if not (np.diff(inputs) == 1).all():
                return "served a row that is no stretch of the corpus"
            if inputs.min() < 0 or inputs.max() >= self.tokens:
                return f"served tokens {inputs.min()} to {inputs.max()} of a corpus of {self.tokens}"
            if "targets" in batch and not np.array_equal(np.asarray(batch["targets"]), inputs + 1):
                return "served targets that do not follow the inputs"
        return ""


def write(folder: Path, tokens: int, seq_len: int) -> Data:
    """Write a corpus of about so many tokens, whole windows and a tail, into `folder`."""
    count = max(1, tokens // seq_len)
    lengths = windows(count, seq_len, max(1, count * seq_len // DOCUMENT))
    spec = CorpusSpec("data", lengths, "uint32", shard_tokens=sum(lengths))
    Identity([spec]).write(folder)
    return Data(folder, spec.tokens, Settings(1, seq_len, {"data": ["data"]}, [Phase(count, {"data": "1"})]))
