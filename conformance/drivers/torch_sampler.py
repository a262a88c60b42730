"""Drives `torch.utils.data.DataLoader` with `DistributedSampler` over a map-style dataset, the plain loop of PyTorch 2.13.

The loop is the one in the docstring of DistributedSampler (https://docs.pytorch.org/docs/2.13/data.html): a sampler for each rank,
`set_epoch` before each epoch, batches from a DataLoader. `drop_last` of both is True, which that page offers against repeated samples
("the sampler will add extra indices") and a smaller last batch. `num_replicas` and `rank` are what a process group would say.

Not promised: a resume, for neither class has a state; several sources, for nothing weighs them; `layout`, for what `drop_last` leaves of
an epoch depends, as documented, on the number of replicas and on the size of a batch.
"""

from pathlib import Path

import torch
from torch.utils.data import DataLoader, DistributedSampler

from ..driver import Layout, Settings
from .torch_windows import TorchDriver, epochs, only_source


class TorchSampler(TorchDriver):
    """A DataLoader of one rank, with its share of each epoch from a DistributedSampler."""

    promises = frozenset({"shuffle", "epochs", "whole_epochs", "whole_steps", "workers", "any_workers"})
    version = torch.__version__

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Make the dataset, the sampler and the loader."""
        dataset = only_source(corpus, settings)
        sampler: DistributedSampler[torch.Tensor] = DistributedSampler(
            dataset, layout.dp_size, layout.dp_rank, seed=settings.seed, drop_last=True
        )
        loader = DataLoader(dataset, layout.micro_batch, sampler=sampler, num_workers=layout.workers, drop_last=True)
        self.begin(settings, layout, epochs(loader, sampler))
