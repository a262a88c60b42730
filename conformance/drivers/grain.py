"""Drives the Dataset API of Grain 0.2.18 (https://google-grain.readthedocs.io): a plain iterator, and the ElasticIterator.

A source is a RandomAccessDataSource of windows. It is shuffled and then repeated ("it is recommended to `shuffle` before `repeat` to avoid
mixing elements from different epochs", docstring of MapDataset.shuffle), with a seed set by `seed`, which that docstring prefers to
`shuffle(seed=...)`, right after the source and of its own for every source (docstring of MapDataset.seed, example 5). A union is
`MapDataset.concatenate`, a mixture `MapDataset.mix`, the one of the two ways to mix for sources that nothing is filtered from
(tutorials/dataset_advanced_tutorial.html). Workers are `mp_prefetch`. Windows are read by as many threads, and as far ahead, as the library
has it: none are recommended "if the data are already loaded in memory" (docstring of ReadOptions), and these lie in files.

Saved is `get_state`, from which Grain promises to "produce the same output as if it was never preempted" (the first page). It is the state
after the element that was produced last: saving inside a step is refused.

Not promised: `phases`, for the weights of `MapDataset.mix` are those of the whole dataset; `prefix`, for no page bounds how far a source
may be from its share; `identity`, for the basics assume that "the underlying content of files will not change".
"""

import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import grain
import numpy as np

from ..driver import Array, Driver, Layout, MicroBatch, Refusal, Settings
from .tokens import weights, windows

READING = grain.ReadOptions()


class Windows(grain.sources.RandomAccessDataSource):  # type: ignore[misc]  # mypy sees no types of Grain's
    """The windows of one corpus, int64 [seq_len + 1] each, neighbours sharing a token."""

    def __init__(self, folder: Path, seq_len: int) -> None:
        self.windows = windows(folder, seq_len, stride=seq_len)

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, index: int) -> Array:
        window: Array = self.windows[index].astype(np.int64)
        return window


class Grain(Driver):
    """An iterator over every `dp_size`-th sample, from `dp_rank` on ("the easiest way to shard", tutorials/dataset_basic_tutorial.html).

    Its state is promised to that iterator alone: not to another number of ranks, nor to batches of another size.
    """

    promises = frozenset(
        {"shuffle", "epochs", "whole_epochs", "mixture", "mixed_epochs", "layout", "any_batch", "whole_steps", "resume"}
        | {"workers", "any_workers"}
    )
    version = version("grain")

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Make the dataset and its iterator, and set the iterator's state."""
        self.settings, self.layout, self.begun = settings, layout, False
        self.iterator = self.iterate(dataset(corpus, settings))
        saved = json.loads(states[layout.rank % len(states)]) if states else {"consumed": 0}
        self.consumed = saved["consumed"]
        if states:
            self.iterator.set_state(saved["iterator"])

    def iterate(self, samples: grain.MapDataset) -> grain.DatasetIterator:
        """Return the iterator over this rank's micro-batches."""
        own = samples[self.layout.dp_rank :: self.layout.dp_size]
        batches = own.batch(self.layout.micro_batch, drop_remainder=True).to_iter_dataset(READING)
        return iter(batches.mp_prefetch(grain.multiprocessing.MultiprocessingOptions(num_workers=self.layout.workers)))

    def next(self) -> list[MicroBatch] | None:
        """Take `accumulation` micro-batches, while a whole step is left of the run."""
        if self.consumed + self.layout.batch_size > self.settings.length:
            return None
        self.begun = True
        batches = [next(self.iterator) for _ in range(self.layout.accumulation)]
        return [{"inputs": batch[:, :-1], "targets": batch[:, 1:]} for batch in batches]

    def commit(self, applied: bool = True) -> None:
        """Count the samples, as a training loop does."""
        self.consumed += self.layout.batch_size
        self.begun = False

    def save(self) -> bytes:
        """Return the iterator's state, and the samples of the steps that were taken."""
        if self.begun:
            raise Refusal("the state is the one after the last micro-batch produced")
        return json.dumps({"consumed": self.consumed, "iterator": self.iterator.get_state()}).encode()

    def close(self) -> None:
        """Close the iterator, as the docstring of mp_prefetch recommends."""
        self.iterator.close()


class GrainElastic(Grain):
    """The ElasticIterator, which batches and shards by itself.

    "State of any shard can be used to restore the state of all of the shards after changes in sharding and global batch size", says its
    docstring (grain.experimental.html). One global batch is one micro-batch of every rank.
    """

    promises = Grain.promises | {"rebatch", "elastic", "one_state"}

    def iterate(self, samples: grain.MapDataset) -> grain.DatasetIterator:
        """Return the iterator over this rank's micro-batches."""
        own = self.layout
        workers = grain.multiprocessing.MultiprocessingOptions(num_workers=own.workers) if own.workers else None
        shard = grain.sharding.ShardOptions(own.dp_rank, own.dp_size)
        batch_size = own.dp_size * own.micro_batch
        return iter(grain.experimental.ElasticIterator(samples, batch_size, shard, read_options=READING, multiprocessing_options=workers))


def dataset(corpus: Path, settings: Settings) -> grain.MapDataset:
    """Return the samples of all ranks in order, without end; raises Refusal for what Grain cannot mix."""
    if len(settings.phases) > 1:
        raise Refusal("the weights of a mixture are those of the whole dataset")
    shares = weights(settings)
    # Two sources with one seed would be shuffled alike.
    seeds = np.random.SeedSequence(settings.seed).generate_state(len(shares)).tolist()
    parts = [
        source((corpus / name for name in settings.sources[name_of]), settings.seq_len).seed(seed).shuffle().repeat()
        for name_of, seed in zip(shares, seeds, strict=True)
    ]
    return parts[0] if len(parts) == 1 else grain.MapDataset.mix(parts, list(shares.values()))


def source(folders: Iterable[Path], seq_len: int) -> grain.MapDataset:
    """Return the windows of all corpora of a source; raises Refusal where there is none."""
    parts = [grain.MapDataset.source(Windows(folder, seq_len)) for folder in folders]
    if not sum(map(len, parts)):
        raise Refusal("a dataset without an element cannot be repeated")
    return parts[0] if len(parts) == 1 else grain.MapDataset.concatenate(parts)
