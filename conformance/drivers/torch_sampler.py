"""Drives `torch.utils.data.DataLoader` with `DistributedSampler` over a map-style dataset, the plain loop of PyTorch 2.13.

The loop is the one in the docstring of DistributedSampler (https://docs.pytorch.org/docs/2.13/data.html): a sampler for each rank, `set_epoch`
before each epoch, batches from a DataLoader. `drop_last` of both is True, which that page offers against repeating samples ("the sampler
will add extra indices") and against a smaller last batch. `num_replicas` and `rank` are given, which is what a process group would say.

Not promised: a resume, for neither class has a state; several sources, for there is nothing that weighs them; `layout`, for what `drop_last`
leaves of an epoch depends, as documented, on the number of replicas and on the size of a batch.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import torch
from torch.utils.data import DataLoader, DistributedSampler

from ..driver import Layout, Refusal, Settings
from .torch_windows import TorchDriver, union


class TorchSampler(TorchDriver):
    """A DataLoader of one rank, with its share of each epoch from a DistributedSampler."""

    promises = frozenset({"shuffle", "epochs", "whole_steps", "workers"})
    version = torch.__version__

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Make the dataset, the sampler and the loader."""
        if len(settings.sources) > 1:
            raise Refusal("a DataLoader serves one dataset")
        (names,) = settings.sources.values()
        dataset = union(corpus, names, settings.seq_len)
        sampler: DistributedSampler[torch.Tensor] = DistributedSampler(dataset, layout.dp_size, layout.dp_rank, seed=settings.seed, drop_last=True)
        loader = DataLoader(dataset, layout.micro_batch, sampler=sampler, num_workers=layout.workers, drop_last=True)
        if not len(loader):
            raise Refusal("an epoch has no whole batch for each rank")
        self.begin(settings, layout, epochs(loader, sampler))


def epochs(loader: DataLoader[torch.Tensor], sampler: DistributedSampler[torch.Tensor], first: int = 0) -> Iterator[torch.Tensor]:
    """Yield the batches of all epochs from `first` on, as training loops take them."""
    for epoch in count(first):
        sampler.set_epoch(epoch)
        yield from loader
