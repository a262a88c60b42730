"""Drives the GPT data of Megatron Core 0.16.1 with the samplers of Megatron Bridge 0.3.1, NVIDIA's training loop for it.

Datasets are built as megatron/core/datasets/readme.md of https://github.com/NVIDIA/Megatron-LM says: IndexedDatasetBuilder writes,
BlendedMegatronDatasetBuilder builds a GPTDataset for each source and a BlendedDataset where there are several, on the first rank before
the others, which find its indices on disk. Bridge's `build_pretraining_data_loader` puts a sampler and a DataLoader on top, which begin at
the samples consumed so far: that count is all that Megatron's checkpoints hold of the data. Bridge's module of samplers is the one of
Megatron-LM, megatron/training, which no package holds.

A corpus is written as one document. GPTDataset shuffles documents, and cuts their tokens, laid end to end, into windows: in one document
alone do they lie on a grid of the corpus. So a source of several corpora is refused. The tokenizer is NullTokenizer, whose ids of eod and
padding are in no corpus: GPTDataset overwrites padding by 0.

Not promised: `whole_epochs` and `mixed_epochs`, for the document index of several epochs is "shuffled according to R" as a whole; `prefix`,
for the blend draws from the dataset with "the greatest sampling error", and no bound is named; `phases` and `amend`, for the order is drawn
for the length and the weights of the whole run; `boundaries`, for documents are told by eod ids, which `reset_position_ids` and its like
look for; `identity`, for nothing is compared.
"""

# ruff: noqa: E402 the packages that are put in place come before what is imported from them

import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import megatron
import numpy as np
import torch

# The first imports all of Megatron's models, seconds for every process; the second packages that only its models need.
for name in ("core", "bridge", "bridge/data"):
    package = ModuleType(f"megatron.{name.replace('/', '.')}")
    package.__path__ = [str(Path(folder) / name) for folder in megatron.__path__]
    sys.modules[package.__name__] = package

import megatron.core.parallel_state  # before megatron.core.utils, which imports it in the middle of itself
from megatron.bridge.data.samplers import build_pretraining_data_loader
from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder
from megatron.core.tokenizers.text.libraries import NullTokenizer

from ..driver import Driver, Layout, MicroBatch, Refusal, Settings
from .tokens import tokens, weights


class Megatron(Driver):
    """The sampler `single`, the default for pretraining: the samples in their order, a micro-batch for each rank in turn."""

    promises = frozenset(
        {"shuffle", "epochs", "mixture", "layout", "any_batch", "whole_steps"}
        | {"resume", "rebatch", "elastic", "one_state", "workers", "any_workers"}
    )
    version = version("megatron-core")
    sampler: ClassVar[str] = "single"

    def prepare(self, corpus: Path, workdir: Path, settings: Settings) -> None:
        """Write an indexed dataset for each source, and build the indices of the run, as the first rank does before the others."""
        for source in weights(settings):
            if len(settings.sources[source]) > 1:
                raise Refusal("windows run on from one document to the next")
            held = tokens(corpus / settings.sources[source][0])
            if not len(held):
                raise Refusal("an indexed dataset holds at least one token")
            wide = held.dtype.itemsize > 2 and held.max() >= 1 << 31
            builder = IndexedDatasetBuilder(f"{workdir / source}.bin", np.int64 if wide else np.int32)
            builder.add_document(torch.from_numpy(held.astype(np.int64)), [len(held)])
            builder.finalize(f"{workdir / source}.idx")
        dataset(workdir, settings)

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Make the dataset, and a loader of this rank from the consumed samples on."""
        self.settings, self.layout, self.consumed, self.begun = settings, layout, int(states[0]) if states else 0, False
        self.batches = self.iterate(
            build_pretraining_data_loader(
                dataset(workdir, settings),
                self.consumed,
                self.sampler,
                layout.micro_batch,
                layout.workers,
                data_sharding=True,
                pin_memory=False,
                data_parallel_rank=layout.dp_rank,
                data_parallel_size=layout.dp_size,
            )
        )

    def iterate(self, loader: torch.utils.data.DataLoader[Any]) -> Iterator[dict[str, torch.Tensor]]:
        """Return the micro-batches of the run, as megatron/bridge/data/loaders.py iterates over the loader."""
        return iter(loader)

    def next(self) -> list[MicroBatch] | None:
        """Take `accumulation` micro-batches, while a whole step is left of the run."""
        if self.consumed + self.layout.batch_size > self.settings.length:
            return None
        self.begun = True
        batches = [next(self.batches) for _ in range(self.layout.accumulation)]
        return [{"inputs": batch["tokens"].numpy(), "targets": batch["labels"].numpy()} for batch in batches]

    def commit(self, applied: bool = True) -> None:
        """Count the samples, as the training loop does after each step."""
        self.consumed += self.layout.batch_size
        self.begun = False

    def save(self) -> bytes:
        """Return the consumed samples."""
        return str(self.consumed).encode()

    def close(self) -> None:
        """Drop the iterator: the workers of a DataLoader end with it."""
        self.batches = iter(())


class MegatronCyclic(Megatron):
    """The sampler `cyclic`, which draws a new order for each pass over the dataset, of a part of its own for each rank (`data_sharding`).

    Its parts and its passes depend on the number of ranks and the size of a micro-batch, so neither `layout` nor `elastic` is promised.
    """

    promises = Megatron.promises - {"layout", "any_batch", "rebatch", "elastic"}
    sampler = "cyclic"

    def iterate(self, loader: torch.utils.data.DataLoader[Any]) -> Iterator[dict[str, torch.Tensor]]:
        """Return the micro-batches of one pass after the other."""
        while True:
            yield from loader


def dataset(workdir: Path, settings: Settings) -> torch.utils.data.Dataset[Any]:
    """Return the dataset of the run; raises Refusal for what a blend cannot be."""
    if len(settings.phases) > 1:
        raise Refusal("a blend has the same weights for all of the run")
    shares = weights(settings)
    prefixes = [str(workdir / source) for source in shares]
    config = GPTDatasetConfig(
        random_seed=settings.seed,
        sequence_length=settings.seq_len,
        blend_per_split=[(prefixes, list(shares.values())), None, None],
        tokenizer=NullTokenizer(vocab_size=1 << 32),
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
        create_attention_mask=False,
    )
    train: torch.utils.data.Dataset[Any]
    train, _, _ = BlendedMegatronDatasetBuilder(GPTDataset, [settings.length, 0, 0], lambda: True, config).build()
    return train
