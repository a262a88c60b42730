"""What the drivers of Hugging Face's loaders share: blocks of tokens as examples, steps of batches, and states."""

import pickle
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..driver import Array, Driver, Layout, MicroBatch, Refusal, Settings
from .tokens import windows

Batch = dict[str, torch.Tensor]


class Blocks(torch.utils.data.Dataset[dict[str, Array]]):
    """A map-style dataset of the one source of a run: its corpora, block by block."""

    def __init__(self, corpus: Path, settings: Settings) -> None:
        """Read the corpora; raises Refusal for several sources, and for one without a block."""
        if len(settings.sources) > 1:
            raise Refusal("serves one dataset, and weighs none")
        (names,) = settings.sources.values()
        self.rows = np.concatenate([blocks(corpus / name, settings.seq_len) for name in names])
        if not len(self.rows):
            raise Refusal("a sampler of PyTorch needs a sample to draw")

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.rows)

    def __getitem__(self, number: int) -> dict[str, Array]:
        """Return a block, which is its own labels."""
        return {"input_ids": self.rows[number], "labels": self.rows[number]}


class CausalDriver(Driver):
    """A driver whose loader serves blocks that share no token, as `group_texts` of run_clm.py makes them for causal language models."""

    stride = "L+1"
    layout: Layout

    def saved(self, **state: Any) -> bytes:
        """Return a state, and the layout that it belongs to."""
        return pickle.dumps({**state, "shape": _shape(self.layout)})

    def loaded(self, states: list[bytes]) -> dict[str, Any]:
        """Return this rank's state; raises Refusal for one of other batches: batches are what these loaders count."""
        state: dict[str, Any] = pickle.loads(states[self.layout.dp_rank if len(states) == self.layout.dp_size else 0])
        if state.pop("shape") != _shape(self.layout):
            raise Refusal("resumes with the number of ranks and the sizes of batches that it had")
        return state


def _shape(layout: Layout) -> tuple[int, int, int]:
    return layout.dp_size, layout.micro_batch, layout.accumulation


def blocks(folder: Path, seq_len: int) -> Array:
    """Return the blocks of a corpus, int64 [blocks, seq_len + 1]; a remainder is dropped, as `group_texts` does."""
    return windows(folder, seq_len, seq_len + 1).astype(np.int64)


def shifted(batch: Batch) -> MicroBatch:
    """Return what a causal language model makes of a batch: it predicts each label from the tokens before it."""
    tokens = batch["input_ids"].numpy()
    return {"inputs": tokens[:, :-1], "targets": tokens[:, 1:]}


def grouped(batches: Iterator[Batch], accumulation: int) -> Iterator[list[Batch]]:
    """Yield the micro-batches of each optimizer step; the last step of an epoch may have fewer."""
    while group := list(islice(batches, accumulation)):
        yield group


def files(checkpoint: Path) -> dict[str, bytes]:
    """Return the files of a checkpoint by name."""
    return {path.name: path.read_bytes() for path in checkpoint.iterdir()}


def restored(checkpoint: Path, held: dict[str, bytes]) -> Path:
    """Write the files of a checkpoint, and return it."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    for name, content in held.items():
        (checkpoint / name).write_bytes(content)
    return checkpoint
