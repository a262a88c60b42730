"""Drives mosaicml-streaming 0.13.0: `StreamingDataset` over shards in MDS, and `StreamingDataLoader`.

Pages are those of https://docs.mosaicml.com/projects/streaming/en/stable/. A sample is a window of L + 1 tokens, a record of MDS
(preparing_datasets/dataset_format.html). `num_canonical_nodes` is 1 in every run, the number of nodes of the first one, and `batch_size` is
that of a device, which a trainer splits into micro-batches: so "samples are in the same order regardless of the number of GPUs, nodes, or
CPU workers" as long as the global batch stays (distributed_training/elastic_determinism.html). `replication` gives tensor and pipeline
peers the samples of their dp rank, and streams are mixed by `proportion` (dataset_configuration/replication_and_sampling.html and
mixing_data_sources.html). States are those of the loader, asked for and loaded as in distributed_training/fast_resumption.html. Shared
memory that a killed run left is removed by `clean_stale_shared_memory`, as the error about it asks; that is also the memory of any other
run on the machine, so two must not be judged at once.

Not promised: `any_batch` and `rebatch`, for the global batch has to stay; `prefix`, for mixing holds "in expectation"; `mixed_epochs`, for
"Streams may be resampled" in each epoch (docstring of `Stream`); `phases` and `amend`, for a mixture is that of the dataset; `whole_steps`,
for nothing is said of what is left of an epoch. A state counts the batch that was handed out last, and so is refused between `next` and
`commit`.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, distributed

from ..driver import Driver, Layout, MicroBatch, Refusal, Settings
from .tokens import weights, windows


def stand_in(name: str, attribute: str = "") -> None:
    """Let an import of a module that nothing here uses succeed: torchvision would bring another build of torch."""
    module = sys.modules[name] = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    if attribute:
        setattr(module, attribute, object)


os.environ["HF_HUB_OFFLINE"] = "1"
stand_in("torchvision")
stand_in("torchvision.datasets", "VisionDataset")
stand_in("torchvision.transforms")
stand_in("torchvision.transforms.functional", "to_tensor")

import streaming  # noqa: E402
from streaming.base.util import clean_stale_shared_memory  # noqa: E402


class Mosaic(Driver):
    """A StreamingDataLoader of one rank."""

    promises = frozenset(
        {"shuffle", "epochs", "whole_epochs", "mixture", "layout", "resume", "elastic", "one_state", "peers", "workers", "any_workers"},
    )
    version = streaming.__version__

    def prepare(self, corpus: Path, workdir: Path, settings: Settings) -> None:
        """Write the windows of each source as a stream."""
        for source, names in settings.sources.items():
            held = [windows(corpus / name, settings.seq_len, settings.seq_len) for name in names]
            # Two tokenizers of a union may have two dtypes.
            dtype = max((rows.dtype for rows in held), key=lambda dtype: dtype.itemsize)
            columns = {"tokens": f"ndarray:{dtype.name}:{settings.seq_len + 1}"}
            with streaming.MDSWriter(columns=columns, out=str(workdir / "mds" / source), exist_ok=True) as stream:
                for rows in held:
                    for row in rows:
                        stream.write({"tokens": row.astype(dtype)})

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Make the dataset together with the other ranks, and its loader."""
        self.settings, self.layout, self.begun = settings, layout, False
        # The library keeps its locks with the temporary files.
        tempfile.tempdir = str(workdir)
        if layout.peers * layout.dp_size > 1 and not distributed.is_initialized():
            distributed.init_process_group("gloo")
        clean_stale_shared_memory()
        shares = weights(settings)
        self.dataset = streaming.StreamingDataset(
            streams=[
                streaming.Stream(local=str(workdir / "mds" / source), proportion=share if len(shares) > 1 else None)
                for source, share in shares.items()
            ],
            num_canonical_nodes=1,
            batch_size=layout.micro_batch * layout.accumulation,
            shuffle=True,
            shuffle_seed=settings.seed,
            replication=layout.peers if layout.peers > 1 else None,
        )
        self.loader = streaming.StreamingDataLoader(
            self.dataset, batch_size=layout.micro_batch * layout.accumulation, num_workers=layout.workers
        )
        state = json.loads(states[0]) if states else {"consumed": 0}
        self.consumed = state["consumed"]
        if states:
            self.loader.load_state_dict(state["loader"])
        self.batches = self.epochs()

    def epochs(self) -> Iterator[dict[str, Tensor]]:
        """Yield the batches of one epoch after the other."""
        while True:
            yield from self.loader

    def next(self) -> list[MicroBatch] | None:
        """Take the next batch, and split it as a trainer does that accumulates."""
        if self.consumed + self.layout.batch_size > self.settings.length:
            return None
        rows = next(self.batches)["tokens"].to(torch.int64)
        self.begun = True
        return [{"inputs": batch[:, :-1].numpy(), "targets": batch[:, 1:].numpy()} for batch in torch.split(rows, self.layout.micro_batch)]

    def commit(self, applied: bool = True) -> None:
        """Count the step."""
        self.consumed += self.layout.batch_size
        self.begun = False

    def save(self) -> bytes:
        """Return the state of the loader, with the count of samples that a trainer keeps."""
        if self.begun:
            raise Refusal("counts a batch as soon as it is handed out")
        state: dict[str, Any] = {"consumed": self.consumed, "loader": self.loader.state_dict()}
        return json.dumps(state).encode()

    def close(self) -> None:
        """Let go of the loader, and so of its workers."""
        self.__dict__.pop("batches", None)
        self.__dict__.pop("loader", None)
        self.__dict__.pop("dataset", None)
