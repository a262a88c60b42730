"""Drives `torchdata.nodes` of torchdata 0.11.0: a sampler for each source, mixed by MultiNodeWeightedSampler.

A source is the pipeline of https://pytorch.org/data/0.11/migrate_to_nodes_from_utils.html, a sampler in a SamplerWrapper, which calls its
`set_epoch`, and a map over the dataset, in `num_workers` threads as is the default: what MapStyleWrapper's docstring says for parallelism.
Each rank has its share of the source from PyTorch's DistributedSampler: torchdata's own loses its epoch on a resume of these nodes
(https://github.com/meta-pytorch/data/issues/1513). Its seed is the run's for every source, as it takes no name. MultiNodeWeightedSampler
draws from the sources by weight, with CYCLE_FOREVER, for trainers that "want control over certain number of steps instead of epochs";
then come Batcher, the collation and Loader, whose `state_dict` every rank keeps for itself.

Promised are mixtures by weight, epochs ("reinitializing each exhausted source nodes"), and a resume ("first-class support for mid-epoch
checkpointing", https://pytorch.org/data/0.11/what_is_torchdata_nodes.html). Not promised: `prefix`, for sources are drawn at random;
`layout` and `elastic`, for every rank draws by a seed of its own; a change of weights; other batch sizes; a state inside a step.
"""

from pathlib import Path

import torch
from torch.utils.data import DistributedSampler, default_collate
from torchdata import __version__
from torchdata import nodes as tn

from ..driver import Layout, Refusal, Settings
from .tokens import weights
from .torch_windows import TorchDriver, union


class TorchdataNodes(TorchDriver):
    """A Loader of one rank over a weighted mixture of samplers."""

    promises = frozenset(
        {"shuffle", "epochs", "whole_epochs", "mixture", "mixed_epochs", "whole_steps", "workers", "any_workers", "resume"}
    )
    version = __version__

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Make the nodes, and load the state that this rank saved."""
        if states and len(states) != layout.dp_size:
            raise Refusal(f"found states of {len(states)} ranks for {layout.dp_size}, and every rank has one of its own")
        shares = weights(settings)
        sources = {name: source(corpus, settings, layout, name) for name in shares}
        node = tn.MultiNodeWeightedSampler(
            sources, shares, tn.StopCriteria.CYCLE_FOREVER, rank=layout.dp_rank, world_size=layout.dp_size, seed=settings.seed
        )
        self.loader = tn.Loader(tn.Mapper(tn.Batcher(node, layout.micro_batch), default_collate))
        state = self.loaded(states[layout.dp_rank]) if states else {"step": 0}
        if states:
            self.loader.load_state_dict(state["loader"])
        self.begin(settings, layout, iter(self.loader), state["step"])

    def save(self) -> bytes:
        """Return the state of the loader."""
        return self.saved(loader=self.loader.state_dict())

    def close(self) -> None:
        """Drop the loader, which keeps its last iterator, too."""
        super().close()
        self.loader = None


def source(corpus: Path, settings: Settings, layout: Layout, name: str) -> "tn.BaseNode[torch.Tensor]":
    """Return the samples of a source for one rank, in another order in each epoch."""
    dataset = union(corpus, settings.sources[name], settings.seq_len)
    sampler: DistributedSampler[torch.Tensor] = DistributedSampler(
        dataset, layout.dp_size, layout.dp_rank, seed=settings.seed, drop_last=True
    )
    if not len(sampler):
        raise Refusal(f"source {name!r} has no sample for each rank")
    return tn.ParallelMapper(tn.SamplerWrapper(sampler), dataset.__getitem__, num_workers=layout.workers)
