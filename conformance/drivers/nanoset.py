"""datatrove 0.10.1: the dataset below the Nanoset of nanotron, read as nanotron reads a Nanoset.

No release of nanotron holds the Nanoset itself: 0.4, the newest, is older than it. It consists of a `DatatroveFolderDataset` for each
source and of an index over them, which blends and shuffles. What is judged here is the dataset that is released, without the index: one
source, in the order of its files.

Settings, and where they come from:

- `DatatroveFolderDataset(recursive=False, shuffle=True)`: `Nanoset.__init__` (https://github.com/huggingface/nanotron,
  src/nanotron/data/nanoset.py). `shuffle` is that of the files; within one, tokens come as they lie, for "we actually pre-shuffled the
  data" (docstring of `DatatroveFileDataset`). So no other order in every epoch is promised.
- `DistributedSampler(shuffle=False, drop_last=True)`, passed over as far as `consumed_train_samples`, the count in a checkpoint of
  nanotron: src/nanotron/data/samplers.py. Each rank passes over its share of the count, rounded down: on another number of ranks than the
  one that saved, nanotron does not resume yet (https://github.com/huggingface/nanotron/pull/263), and nor is that promised here.
- Samples of seq_len + 1 tokens that share none, of which the collator makes inputs and targets: src/nanotron/data/clm_collator.py.

Epochs are not promised: those of a Nanoset are in its index, which asks for no place past the dataset's end. (What the docstrings say of
one who does, "We loop on the dataset if asking for an index larger than the dataset size", is not so: found/nanoset_does_not_loop.py.)
"""

import json
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from datatrove.utils.dataset import DatatroveFolderDataset
from torch.utils.data import DataLoader, DistributedSampler

from ..driver import Driver, Layout, MicroBatch, Refusal, Settings
from .tokens import tokens, weights


class Nanoset(Driver):
    """`DatatroveFolderDataset` in a `DataLoader`, with the sampler of nanotron."""

    promises = frozenset({"layout", "any_batch", "whole_steps", "resume", "rebatch", "one_state", "peers", "workers", "any_workers"})
    stride = "L+1"
    version = version("datatrove")

    def prepare(self, corpus: Path, workdir: Path, settings: Settings) -> None:
        """Write a folder for each source, with a file of tokens for each corpus."""
        shutil.rmtree(workdir / "datasets", ignore_errors=True)
        for source, names in settings.sources.items():
            for name in names:
                held = tokens(corpus / name)
                folder = workdir / "datasets" / source / str(held.itemsize)
                folder.mkdir(parents=True, exist_ok=True)
                held.tofile(folder / f"{name}.ds")

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Open the dataset of the source, and pass over what was consumed."""
        shares = weights(settings)
        if len(shares) > 1 or len(settings.phases) > 1:
            raise Refusal("blends nothing without the index of a Nanoset")
        folders = sorted((workdir / "datasets" / next(iter(shares))).iterdir())
        if len(folders) > 1:
            raise Refusal("reads files of one token size")
        dataset = DatatroveFolderDataset(
            str(folders[0]), settings.seq_len, recursive=False, token_size=int(folders[0].name), shuffle=True, seed=settings.seed
        )
        self.settings, self.layout = settings, layout
        self.consumed = json.loads(states[0])["consumed_train_samples"] if states else 0
        indices: list[int] = list(DistributedSampler(dataset, layout.dp_size, layout.dp_rank, shuffle=False, drop_last=True))
        left = indices[self.consumed // layout.dp_size :]
        self.batches: Iterator[Any] = iter(
            DataLoader(dataset, layout.micro_batch, sampler=left, num_workers=layout.workers, drop_last=True)
        )

    def next(self) -> list[MicroBatch] | None:
        """Take the next batches, if they make a step."""
        if self.consumed + self.layout.batch_size > self.settings.length:
            return None
        step = [np.asarray(batch["input_ids"]) for batch in islice(self.batches, self.layout.accumulation)]
        if len(step) < self.layout.accumulation:
            return None
        return [{"inputs": batch[:, :-1], "targets": batch[:, 1:]} for batch in step]

    def commit(self, applied: bool = True) -> None:
        """Count the step, as the trainer does after each."""
        self.consumed += self.layout.batch_size

    def save(self) -> bytes:
        """Return the count that a checkpoint holds."""
        return json.dumps({"consumed_train_samples": self.consumed}).encode()

    def close(self) -> None:
        """Drop the iterator, and with it the workers."""
        self.batches = iter(())
