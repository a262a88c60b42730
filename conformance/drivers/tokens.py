"""The corpora of a case, for drivers in environments without fivepoint's dependencies: numpy, and formats.md F1."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..driver import Array, Settings


def shards(folder: Path) -> list[Array]:
    """Return the tokens of each shard of a corpus, [tokens] uint16 or uint32, mapped."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    dtype = np.dtype(manifest["dtype"]).newbyteorder("<")
    # A file without a byte cannot be mapped.
    return [np.memmap(folder / shard["file"], dtype, "r") if shard["tokens"] else np.empty(0, dtype) for shard in manifest["shards"]]


def tokens(folder: Path) -> Array:
    """Return the tokens of a corpus, [tokens] uint16 or uint32: mapped, where it has one shard, and else in memory."""
    held = shards(folder)
    return held[0] if len(held) == 1 else np.concatenate(held)


def documents(folder: Path) -> Iterator[Array]:
    """Yield the tokens of each document of a corpus, those without a token too."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for shard, held in zip(manifest["shards"], shards(folder), strict=True):
        starts = np.load(folder / Path(shard["file"]).with_suffix(".idx.npy").name)
        yield from np.split(held, starts[1:])


def windows(folder: Path, seq_len: int, stride: int) -> Array:
    """Return the windows of a corpus, [windows, seq_len + 1], that begin every `stride` tokens: a view of its tokens."""
    held = tokens(folder)
    if len(held) <= seq_len:
        return np.empty((0, seq_len + 1), held.dtype)
    return np.lib.stride_tricks.sliding_window_view(held, seq_len + 1)[::stride]


def weights(settings: Settings) -> dict[str, float]:
    """Return the weights of the first phase that are not 0, as a share of their sum each."""
    found = {name: float(weight) for name, weight in settings.phases[0].weights.items() if float(weight)}
    return {name: weight / sum(found.values()) for name, weight in found.items()}
