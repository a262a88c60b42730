"""webdataset 1.0.2: windows as samples of tar shards, read in the stream of its README (https://github.com/webdataset/webdataset).

Settings, and where they are recommended:

- shards are shuffled, then samples in a buffer of 1,000; `split_by_node` and `split_by_worker` deal the shards out: README, "The
  webdataset Pipeline API", and the docstring of `WebDataset`. Both shuffles are `detshuffle`, which alone takes a seed and another order
  in every pass: `shuffle` with a seed repeats itself (https://github.com/webdataset/webdataset/pull/502).
- batches are made in the workers and whole (`partial=False`), `with_epoch` on the loader goes through the shards again until every rank
  has as many batches as the run asks of it: examples/train-resnet50-wds.ipynb. That notebook draws shards with replacement
  (`resampled=True`), which leaves windows unread by design; shards are passed through one after the other here.
- several sources are drawn by `RandomMix`, from the generator of Python's `random`, which is seeded as a training script seeds it.

Not promised: exact resumption, for a pipeline has neither state nor positions; the same sequence on other ranks and steps without padding,
for ranks share out shards, and one that has fewer goes through them again sooner ("achieving an exactly balanced number of training samples
across many compute nodes for a fixed epoch size is tricky", README).
"""

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import webdataset as wds

from ..driver import Driver, Layout, MicroBatch, Refusal, Settings
from .tokens import weights, windows

SHARD, SHARDS_SHUFFLED, BUFFER = 4, 100, 1000
"""Samples of a shard, shards that are shuffled together, samples that are: the last two as the README has them."""


class WebDataset(Driver):
    """`WebDataset` with shuffled shards and a shuffle buffer, in a `WebLoader`."""

    promises = frozenset({"shuffle", "epochs", "whole_epochs", "mixture", "mixed_epochs", "workers"})
    version = wds.__version__

    def prepare(self, corpus: Path, workdir: Path, settings: Settings) -> None:
        """Write the windows of each corpus as int64 samples, four a shard."""
        shutil.rmtree(workdir / "shards", ignore_errors=True)
        for name in {name for names in settings.sources.values() for name in names}:
            folder = workdir / "shards" / name
            folder.mkdir(parents=True)
            with wds.ShardWriter(str(folder / "%06d.tar"), maxcount=SHARD, verbose=0) as writer:
                for number, window in enumerate(windows(corpus / name, settings.seq_len, settings.seq_len)):
                    writer.write({"__key__": f"{number:09d}", "npy": window.astype(np.int64)})

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Lay the pipeline out; it reads nothing before the first step."""
        if len(settings.phases) > 1:
            raise Refusal("a pipeline has one mixture")
        shares = weights(settings)
        sizes = [sum(len(windows(corpus / name, settings.seq_len, settings.seq_len)) for name in settings.sources[each]) for each in shares]
        if layout.micro_batch > min(sizes):
            raise Refusal("drops what makes no whole batch at the end of a pass, and would serve none")
        random.seed(settings.seed)
        streams = [self._stream(workdir, settings, layout, name) for name in shares]
        mixed = len(streams) > 1
        samples = wds.FluidWrapper(wds.RandomMix([each.repeat() for each in streams], list(shares.values()))) if mixed else streams[0]
        batches = wds.WebLoader(samples.batched(layout.micro_batch, partial=False), batch_size=None, num_workers=layout.workers)
        self.layout = layout
        self.batches = iter(batches.with_epoch(settings.length // layout.batch_size * layout.accumulation))

    @staticmethod
    def _stream(workdir: Path, settings: Settings, layout: Layout, source: str) -> wds.WebDataset:
        shards = [str(shard) for name in settings.sources[source] for shard in sorted((workdir / "shards" / name).glob("*.tar"))]
        if len(shards) < layout.dp_size * max(1, layout.workers):
            raise Refusal(f"deals out whole shards, and has {len(shards)} of them for more readers")
        stream = wds.WebDataset(shards, nodesplitter=wds.split_by_node, shardshuffle=SHARDS_SHUFFLED, detshuffle=True, seed=settings.seed)
        return stream.compose(wds.detshuffle(BUFFER, seed=settings.seed)).decode().to_tuple("npy")

    def next(self) -> list[MicroBatch] | None:
        """Take the next batches."""
        with self._rank():
            step = [np.asarray(batch) for (batch,) in islice(self.batches, self.layout.accumulation)]
        return [{"inputs": batch[:, :-1], "targets": batch[:, 1:]} for batch in step] or None

    @contextmanager
    def _rank(self) -> Iterator[None]:
        """Set what splits shards by node, which looks into the environment when it is asked for the first shard of a pass."""
        before = dict(os.environ)
        os.environ |= {"RANK": str(self.layout.dp_rank), "WORLD_SIZE": str(self.layout.dp_size)}
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def close(self) -> None:
        """Drop the iterator, and with it the workers."""
        self.batches = iter(())
