"""Drives `torchdata.stateful_dataloader.StatefulDataLoader` of torchdata 0.11.0 with torchdata's StatefulDistributedSampler.

The loop is that of PyTorch's DistributedSampler, `set_epoch` before each epoch, with `state_dict` and `load_state_dict` around it as
https://pytorch.org/data/0.11/stateful_dataloader_tutorial.html shows: every rank keeps the state of its own loader, and the number of its
epoch, as training loops do. That page has the sampler keep a state "for efficient resuming"; the one that torchdata brings for several
ranks does. All else is left as it is, `snapshot_every_n_steps=1` included; `drop_last` as in torch_sampler.py.

Promised is a resume on the same ranks ("mid-epoch checkpointing"), with workers and without ("handles aggregation and distribution of
state across multiprocess workers (but not across ranks)", https://pytorch.org/data/0.11/torchdata.stateful_dataloader.html). With that,
other ranks and one state for all are disclaimed; other batch sizes, several sources, and a state inside a step are nowhere promised.
"""

from pathlib import Path

from torch.utils.data import DistributedSampler
from torchdata import __version__
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

from ..driver import Layout, Refusal, Settings
from .torch_windows import TorchDriver, epochs, only_source


class TorchdataStateful(TorchDriver):
    """A StatefulDataLoader of one rank, with its share of each epoch from a sampler that keeps its place."""

    promises = frozenset({"shuffle", "epochs", "whole_epochs", "whole_steps", "workers", "any_workers", "resume"})
    version = __version__
    sampler_class = StatefulDistributedSampler

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Make the dataset, the sampler and the loader, and load the state that this rank saved."""
        if states and len(states) != layout.dp_size:
            raise Refusal(f"found states of {len(states)} ranks for {layout.dp_size}, and none is handed on across ranks")
        dataset = only_source(corpus, settings)
        self.sampler = self.sampler_class(dataset, layout.dp_size, layout.dp_rank, seed=settings.seed, drop_last=True)
        self.loader = StatefulDataLoader(dataset, layout.micro_batch, sampler=self.sampler, num_workers=layout.workers, drop_last=True)
        state = self.loaded(states[layout.dp_rank]) if states else {"epoch": 0, "step": 0}
        self.sampler.set_epoch(state["epoch"])
        if states:
            self.loader.load_state_dict(state["loader"])
        self.begin(settings, layout, epochs(self.loader, self.sampler), state["step"])

    def save(self) -> bytes:
        """Return the epoch and the state of the loader."""
        return self.saved(epoch=self.sampler.epoch, loader=self.loader.state_dict())

    def close(self) -> None:
        """Drop the loader, which keeps its last iterator, too."""
        super().close()
        self.loader = None


class TorchdataNaive(TorchdataStateful):
    """The same with PyTorch's DistributedSampler, which has no state: a resume passes over "the number of batches yielded"."""

    sampler_class = DistributedSampler
