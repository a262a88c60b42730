"""Drives the prepared DataLoader of Hugging Face's Accelerate 1.15.0, which a resumed training loop enters by `skip_first_batches`.

The loop is that of https://huggingface.co/docs/accelerate/v1.15.0/usage_guides/checkpoint and of the scripts that it
comes with (examples/complete_nlp_example.py): `prepare`, `load_state`, `skip_first_batches` for what is left of the epoch, and then the
prepared loader again. As there, the batches taken so far name a checkpoint and say where to go on, and nobody calls `set_epoch`: the loader
counts its epochs. `use_seedable_sampler`, with `set_seed`, is what DataLoaderConfiguration has for results that are "fully reproducible".
Ranks share a process, and with it Accelerate's state: each is told its number and theirs, as launched processes are.

Not promised: `layout` and `whole_steps`, for with `even_batches` "samples at the start of the dataset will be duplicated" at the end of an
epoch, and one rank ends it in a smaller step; `rebatch` and `elastic`, for batches are counted; several sources, which nothing weighs.
"""

import gc
import os
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

import accelerate
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch.utils.data import DataLoader

from ..driver import Layout, MicroBatch, Settings
from .hf_blocks import Batch, Blocks, CausalDriver, files, grouped, restored, shifted

# Ranks are told their number, and share a process: no process group is to be looked for.
for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
    os.environ.pop(name, None)

# Accelerate collects garbage again and again, which what was imported is not.
gc.freeze()


class Accelerator(accelerate.Accelerator):  # type: ignore[misc]  # it has no types
    """An Accelerator that is told which process it is."""

    def __init__(self, layout: Layout) -> None:
        """Prepare DataLoaders for the rank of `layout`."""
        self.layout = layout
        super().__init__(cpu=True, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True))

    @property
    def num_processes(self) -> int:
        """The number of ranks."""
        return self.layout.dp_size

    @property
    def process_index(self) -> int:
        """The number of this rank."""
        return self.layout.dp_rank


class SkipFirstBatches(CausalDriver):
    """A prepared DataLoader that shuffles, epoch by epoch."""

    promises = frozenset({"shuffle", "epochs", "whole_epochs", "resume", "one_state", "workers", "any_workers"})
    version = accelerate.__version__

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Prepare the loader, and skip what the epoch of the state has served."""
        self.settings, self.layout, self.workdir = settings, layout, workdir
        self.accelerator = Accelerator(layout)
        set_seed(settings.seed)
        loader = DataLoader(Blocks(corpus, settings), layout.micro_batch, shuffle=True, num_workers=layout.workers)
        self.loader = self.accelerator.prepare(loader)
        self.overall_step = 0
        first = self.loader
        if states:
            state = self.loaded(states)
            self.overall_step = state["overall_step"]
            self.accelerator.load_state(restored(self.checkpoint(), state["files"]))
            first = self.accelerator.skip_first_batches(self.loader, self.overall_step % len(self.loader))
        self.steps = self.epochs(first)

    def epochs(self, first: DataLoader[Batch]) -> Iterator[list[Batch]]:
        """Yield the micro-batches of each step: of what the first loader has, then of the prepared one, again and again."""
        for loader in chain([first], (self.loader for _ in count())):
            yield from grouped(iter(loader), self.layout.accumulation)

    def next(self) -> list[MicroBatch] | None:
        """Take a step's batches."""
        served = self.overall_step * self.layout.micro_batch * self.layout.dp_size
        if served + self.layout.batch_size > self.settings.length:
            return None
        self.step = next(self.steps)
        return [shifted(batch) for batch in self.step]

    def commit(self, applied: bool = True) -> None:
        """Count the batches."""
        self.overall_step += len(self.step)

    def save(self) -> bytes:
        """Save a checkpoint, and the number of batches taken."""
        self.accelerator.save_state(self.checkpoint())
        return self.saved(overall_step=self.overall_step, files=files(self.checkpoint()))

    def checkpoint(self) -> Path:
        """Return the folder of a checkpoint, which is named after the batches taken."""
        return self.workdir / f"rank_{self.layout.rank}" / f"step_{self.overall_step}"

    def close(self) -> None:
        """Let go of the workers and of what the loader has left in Accelerate's state."""
        self.steps = iter(())
        self.accelerator.free_memory()
