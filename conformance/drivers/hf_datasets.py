"""Drives streams of Hugging Face's datasets 5.2.0, Parquet on disk, through StatefulDataLoader of torchdata 0.11.0.

The calls are those of the pages on streaming (https://huggingface.co/docs/datasets/v5.2.0/stream: `load_dataset` with `streaming=True`,
`interleave_datasets` with probabilities, `shuffle`, `set_epoch` in the training loop, `load_state_dict`) and on PyTorch
(https://huggingface.co/docs/datasets/v5.2.0/use_with_pytorch: StatefulDataLoader, `split_dataset_by_node`). A source has four files, which
ranks share where their number divides it; in a mixture it goes on for ever (`repeat`), for a strategy to stop at cuts sources off. All else
is as the library has it, a buffer of 1,000 examples too.

Not promised: `resume` of a shuffled stream ("examples from shuffle buffers are lost when resuming"), nor `mixed_epochs`, for its buffer
holds several epochs of a source at once ("we can observe duplicates in the same iteration"); `one_state` and `elastic` of any stream;
`layout` and `workers`, for every rank and worker reads files, or examples, of its own; `whole_steps`, for ranks may have more examples than
others; `prefix`, for sources are drawn at random. `save` before `commit` is refused: the state is that "at the latest example it yielded".

Where files are interleaved the library waits for five seconds at the end of each pass, until threads of Arrow have ended. That decides no
token, and is left out.
"""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

# Read while the library is imported.
os.environ["HF_HUB_OFFLINE"] = "1"

import datasets
from datasets.distributed import split_dataset_by_node
from torchdata.stateful_dataloader import StatefulDataLoader

from ..driver import Layout, MicroBatch, Refusal, Settings
from .hf_blocks import Batch, CausalDriver, blocks, shifted
from .tokens import weights

datasets.disable_progress_bars()
datasets.config.SLEEP_TIME_ON_THREADS_SHUTDOWN = 0

FILES = 4


class InOrder(CausalDriver):
    """A stream that is not shuffled, of which the documentation says that it goes on exactly where its state was saved."""

    promises = frozenset({"epochs", "whole_epochs", "mixture", "mixed_epochs", "resume"})
    version = datasets.__version__

    def prepare(self, corpus: Path, workdir: Path, settings: Settings) -> None:
        """Write each corpus as Parquet, in as many files as it has blocks for."""
        for name in {name for names in settings.sources.values() for name in names}:
            rows = blocks(corpus / name, settings.seq_len)
            dataset = datasets.Dataset.from_dict({"input_ids": list(rows)})
            (workdir / name).mkdir(exist_ok=True)
            for path in (workdir / name).iterdir():
                path.unlink()
            files = min(FILES, len(rows))
            for number in range(files):
                dataset.shard(files, number).to_parquet(workdir / name / f"{number:05}.parquet")

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Open the stream, and restore this rank's own state."""
        if len(settings.phases) > 1:
            raise Refusal("interleave_datasets has one set of probabilities")
        self.settings, self.layout, self.consumed, self.epoch, self.begun = settings, layout, 0, 0, False
        dataset = split_dataset_by_node(self.arranged(self.mixed(workdir)), layout.dp_rank, layout.dp_size)
        self.dataset = dataset.with_format("torch")
        self.loader = StatefulDataLoader(self.dataset, layout.micro_batch)
        if states:
            state = self.loaded(states)
            self.consumed, self.epoch = state["consumed"], state["epoch"]
            self.loader.load_state_dict(state["loader"])
        self.batches = self.epochs()

    def mixed(self, workdir: Path) -> datasets.IterableDataset:
        """Return the sources that are drawn from, by weight."""
        shares = weights(self.settings)
        sources = [self.source(workdir, self.settings.sources[name]) for name in shares]
        if len(sources) == 1:
            return sources[0]
        endless = [source.repeat(None) for source in sources]
        return datasets.interleave_datasets(endless, list(shares.values()), self.settings.seed)

    def source(self, workdir: Path, corpora: list[str]) -> datasets.IterableDataset:
        """Return the stream of a source."""
        files = [str(path) for name in corpora for path in sorted((workdir / name).glob("*.parquet"))]
        if not files:
            raise Refusal("load_dataset needs a file")
        return datasets.load_dataset("parquet", data_files=files, split="train", streaming=True, cache_dir=str(workdir / "cache"))

    def arranged(self, dataset: datasets.IterableDataset) -> datasets.IterableDataset:
        """Return the stream in the order in which it is served."""
        return dataset

    def epochs(self) -> Iterator[Batch]:
        """Yield the batches of all epochs, from this one on."""
        while True:
            self.dataset.set_epoch(self.epoch)
            yield from self.loader
            self.epoch += 1

    def next(self) -> list[MicroBatch] | None:
        """Take a step's batches."""
        if self.consumed + self.layout.batch_size > self.settings.length:
            return None
        self.begun = True
        return [shifted(batch) for batch in islice(self.batches, self.layout.accumulation)]

    def commit(self, applied: bool = True) -> None:
        """Count the step, which the library does not."""
        self.consumed += self.layout.batch_size
        self.begun = False

    def save(self) -> bytes:
        """Ask the loader, which asks the dataset."""
        if self.begun:
            raise Refusal("has the state at the latest example that it yielded")
        return self.saved(consumed=self.consumed, epoch=self.epoch, loader=self.loader.state_dict())

    def close(self) -> None:
        """Let go of the readers."""
        self.batches = iter(())


class Shuffled(InOrder):
    """A stream that is shuffled in a buffer, which a resume loses."""

    promises = frozenset({"shuffle", "epochs", "whole_epochs", "mixture"})

    def arranged(self, dataset: datasets.IterableDataset) -> datasets.IterableDataset:
        """Return the stream through a buffer, as a training loop has it."""
        return dataset.shuffle(self.settings.seed)
