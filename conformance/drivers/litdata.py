"""Drives litdata 0.2.76: `StreamingDataset` over chunks of tokens, `CombinedStreamingDataset`, and `StreamingDataLoader`.

Sections are those of https://github.com/Lightning-AI/litData/blob/main/README.md. Documents are written by `optimize` with a TokensLoader,
and read in blocks of L + 1 tokens that share none, with `shuffle` and `drop_last`, as in "LLM pre-training". Several sources are combined
with `weights`, for which `iterate_over_all` is False ("Combine datasets"): an epoch ends with the first source that does. States are those
of the loader ("Pause, resume data streaming"), which has one file for all ranks; the same section lets `num_workers` and `world_size`
change for one StreamingDataset, and nothing for several. Rank and number of ranks are read from GLOBAL_RANK and WORLD_SIZE.

Not promised: `layout`, for which rank gets which chunk depends on their number; `rebatch`, for the global batch has to stay; `prefix`, for
sources are drawn at random; `mixed_epochs`, for all sources begin anew when one has ended; `any_workers`, for the same section has their
number changed, and promises no same order; `phases` and `amend`. A state counts the batch that was handed out last, and so is refused
between `next` and `commit`.
"""

import os
import pickle
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import litdata
import torch
from torch import Tensor

from ..driver import Array, Driver, Layout, MicroBatch, Refusal, Settings
from .tokens import documents, weights

CHUNK = 8012
"""Blocks of a chunk, as in the README."""


class LitData(Driver):
    """A StreamingDataLoader of one rank."""

    promises = frozenset({"shuffle", "epochs", "whole_epochs", "mixture", "whole_steps", "resume", "elastic", "one_state", "workers"})
    stride = "L+1"
    version = litdata.__version__

    def prepare(self, corpus: Path, workdir: Path, settings: Settings) -> None:
        """Write the documents of each source into chunks."""
        if any(len(names) > 1 for names in settings.sources.values()):
            raise Refusal("lays all that is written into one dataset end to end, so that blocks run from one corpus into the next")
        os.environ["DATA_OPTIMIZER_CACHE_FOLDER"] = str(workdir / "cache")
        os.environ["DATA_OPTIMIZER_DATA_CACHE_FOLDER"] = str(workdir / "data")
        tempfile.tempdir = str(workdir)
        for source, names in settings.sources.items():
            litdata.optimize(
                partial(tokenized, corpus),
                names,
                str(workdir / "chunks" / source),
                chunk_size=(settings.seq_len + 1) * CHUNK,
                item_loader=litdata.TokensLoader(),
                num_workers=1,
                # A worker that is spawned would import all again.
                start_method="fork",
                mode="overwrite",
                keep_data_ordered=True,
                verbose=False,
            )

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Make the datasets and the loader."""
        self.settings, self.layout, self.begun = settings, layout, False
        self.take_place()
        shares = weights(settings)
        datasets = [
            litdata.StreamingDataset(
                str(workdir / "chunks" / source),
                item_loader=litdata.TokensLoader(block_size=settings.seq_len + 1),
                shuffle=True,
                drop_last=True,
                seed=settings.seed,
            )
            for source in shares
        ]
        dataset = (
            datasets[0]
            if len(datasets) == 1
            else litdata.CombinedStreamingDataset(datasets, settings.seed, list(shares.values()), iterate_over_all=False)
        )
        self.loader = litdata.StreamingDataLoader(dataset, batch_size=layout.micro_batch, num_workers=layout.workers, drop_last=True)
        self.consumed = 0
        if states:
            # JSON would turn the numbers of workers, which are keys of a state, into text.
            self.consumed, state = pickle.loads(states[0])
            self.load(state, len(datasets))
        self.batches = self.epochs()

    def load(self, state: dict[str, object], datasets: int) -> None:
        """Load a state; a combined dataset says that it resumes on the same ranks, workers and batch alone."""
        try:
            self.loader.load_state_dict(state)
        except ValueError as reason:
            if datasets == 1:
                raise
            raise Refusal(str(reason)) from reason

    def take_place(self) -> None:
        """Say to the library which of the ranks in this process it serves."""
        os.environ.update(GLOBAL_RANK=str(self.layout.dp_rank), WORLD_SIZE=str(self.layout.dp_size))

    def epochs(self) -> Iterator[Tensor]:
        """Yield the batches of one epoch after the other."""
        empty = 0
        while empty < 2:  # a state from the end of an epoch may leave none of the first
            empty += 1
            for batch in self.loader:
                empty = 0
                yield batch
        raise Refusal("has no whole batch for each rank in an epoch")

    def next(self) -> list[MicroBatch] | None:
        """Take the next batches, one for each micro-batch."""
        if self.consumed + self.layout.batch_size > self.settings.length:
            return None
        self.take_place()
        self.begun = True
        step = [batch.to(torch.int64) for batch in islice(self.batches, self.layout.accumulation)]
        return [{"inputs": batch[:, :-1].numpy(), "targets": batch[:, 1:].numpy()} for batch in step]

    def commit(self, applied: bool = True) -> None:
        """Count the step."""
        self.consumed += self.layout.batch_size
        self.begun = False

    def save(self) -> bytes:
        """Return the state of the loader, with the count of samples that a trainer keeps."""
        if self.begun:
            raise Refusal("counts a batch as soon as it is handed out")
        self.take_place()
        return pickle.dumps((self.consumed, self.loader.state_dict()))

    def close(self) -> None:
        """Let go of the loader, and so of its workers."""
        self.__dict__.pop("batches", None)
        self.__dict__.pop("loader", None)


def tokenized(corpus: Path, name: str) -> Iterator[Array]:
    """Yield the tokens of each document of a corpus that has any."""
    yield from (document for document in documents(corpus / name) if len(document))
