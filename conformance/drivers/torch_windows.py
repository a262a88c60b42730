"""What the drivers of PyTorch's loaders share: a map-style dataset of windows, and a training loop's steps."""

import io
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, DistributedSampler

from ..driver import Driver, Layout, MicroBatch, Refusal, Settings
from .tokens import windows


class Windows(Dataset[torch.Tensor]):
    """A map-style dataset of the windows of one corpus, int64 [seq_len + 1] each, neighbours sharing a token."""

    def __init__(self, folder: Path, seq_len: int) -> None:
        self.windows = windows(folder, seq_len, stride=seq_len)

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.from_numpy(self.windows[index].astype(np.int64))


def union(corpus: Path, names: Sequence[str], seq_len: int) -> Dataset[torch.Tensor]:
    """Return the windows of all corpora of a source; raises Refusal where there is none."""
    parts = [Windows(corpus / name, seq_len) for name in names]
    if not sum(map(len, parts)):
        raise Refusal("a sampler of PyTorch needs a sample to draw")
    return parts[0] if len(parts) == 1 else ConcatDataset(parts)


def only_source(corpus: Path, settings: Settings) -> Dataset[torch.Tensor]:
    """Return the windows of the one source that there is; raises Refusal where there are several, for nothing weighs them."""
    if len(settings.sources) > 1:
        raise Refusal("a DataLoader serves one dataset")
    (names,) = settings.sources.values()
    return union(corpus, names, settings.seq_len)


def epochs(loader: DataLoader[torch.Tensor], sampler: DistributedSampler[torch.Tensor]) -> Iterator[torch.Tensor]:
    """Yield the batches of all epochs from the sampler's on, as training loops take them; raises Refusal where an epoch has none."""
    if not len(loader):
        raise Refusal("an epoch has no whole batch for each rank")
    return _epochs(loader, sampler)


def _epochs(loader: DataLoader[torch.Tensor], sampler: DistributedSampler[torch.Tensor]) -> Iterator[torch.Tensor]:
    for epoch in count(sampler.epoch):
        sampler.set_epoch(epoch)
        yield from loader


class TorchDriver(Driver):
    """Takes its steps from `batches`, an iterator over int64 [micro_batch, seq_len + 1], and counts them as training loops do."""

    def begin(self, settings: Settings, layout: Layout, batches: Iterator[torch.Tensor], step: int = 0) -> None:
        """Serve `batches` from now on; `step` steps of the run were taken before."""
        self.settings, self.layout, self.batches, self.step = settings, layout, batches, step
        self.begun = False

    def next(self) -> list[MicroBatch] | None:
        """Take `accumulation` batches, while a whole step is left of the run."""
        if (self.step + 1) * self.layout.batch_size > self.settings.length:
            return None
        self.begun = True
        batches = [next(self.batches).numpy() for _ in range(self.layout.accumulation)]
        return [{"inputs": batch[:, :-1], "targets": batch[:, 1:]} for batch in batches]

    def commit(self, applied: bool = True) -> None:
        """Count the step."""
        self.step += 1
        self.begun = False

    def saved(self, **state: Any) -> bytes:
        """Return a checkpoint of the step and of `state`; raises Refusal between a batch and its step."""
        if self.begun:
            raise Refusal("the state counts a batch as soon as it was yielded")
        file = io.BytesIO()
        torch.save({"step": self.step, **state}, file)
        return file.getvalue()

    @staticmethod
    def loaded(state: bytes) -> dict[str, Any]:
        """Return what `saved` was given, and `step`."""
        found: dict[str, Any] = torch.load(io.BytesIO(state), weights_only=False)
        return found

    def close(self) -> None:
        """Drop the iterator: the workers of a loader of PyTorch end with it."""
        self.batches = iter(())
