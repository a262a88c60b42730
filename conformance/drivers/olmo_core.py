"""ai2-olmo-core 3.0.0: `NumpyFSLDataLoader` over token arrays, or over the mixture of a `SourceMixtureDatasetConfig`.

The data guide (https://olmo-core.readthedocs.io/en/latest/guides/data_loading.html), docstrings of `olmo_core.data` and what the
`Trainer` does with them decide the rest:

- The trainer learns from `get_labels` of a sequence, which shifts it and ignores the last place. A sequence of S tokens holds S - 1
  targets, so sequences of seq_len + 1 tokens are asked for, which share none.
- Each corpus is one array: "If the length of an array is not a multiple of `sequence_length` [...] the remainder of the tokens will be
  ignored" (docstring of `NumpyFSLDataset`).
- `reshuffle` comes before an epoch, `reset` after it (docstring of `DataLoaderBase`). The loader is asked for the step of a rank, which
  `split_batch` cuts into micro-batches, as the train module does.
- A checkpoint holds the loader's `state_dict` and how much the run has seen (`Trainer.state_dict`); any rank's will do.
- Every rank has a work directory of its own, like a rank on a node of its own, because ranks that share one wait for each other in a
  process group before they read the order that the first has written.
- A mixture asks for the tokens of the run, and lets its sources repeat as often as that takes (`max_repetition_ratio`):
  https://olmo-core.readthedocs.io/en/latest/guides/data_mixing.html. It finds documents by the "authoritative boundaries from the metadata
  file" (docstring of `iter_document_indices`).

The docstrings promise distributed, deterministic, stateful loading, and that a state goes on under another batch size. Not promised:
`any_batch`, for nothing says that batches of another size come in the same order; `amend`, for a state belongs to a dataset; phases, skips,
budgets, document boundaries other than by the end-of-sentence id, and a mixture that keeps its shares as it goes. A state counts the batch
that was handed out last, the trainer saves after the step, and so it is refused between `next` and `commit`.
"""

import gzip
import json
import os
from importlib.metadata import version
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from olmo_core.data import NumpyDataLoaderBase, NumpyDatasetDType, NumpyFSLDatasetConfig, TokenizerConfig
from olmo_core.data.collator import DataCollator
from olmo_core.data.source_mixture import SourceMixtureConfig, SourceMixtureDatasetConfig, SourceMixtureList
from olmo_core.data.utils import get_labels, split_batch

from ..driver import Driver, Layout, MicroBatch, Refusal, Settings
from .tokens import documents, tokens, weights

VOCABULARY = TokenizerConfig(vocab_size=1 << 32, eos_token_id=(1 << 32) - 1, pad_token_id=(1 << 32) - 1)

os.environ |= {"OLMO_DATA_PREP_WORKERS": "1", "OLMO_DATA_PREP_USE_ARRAY_IF_LOCAL": "false"}


class OlmoCore(Driver):
    """One data parallel rank of a `NumpyFSLDataLoader`."""

    promises = frozenset(
        {"shuffle", "epochs", "whole_epochs", "mixture", "mixed_epochs", "layout", "whole_steps", "resume", "rebatch", "elastic"}
        | {"one_state", "identity", "peers", "workers", "any_workers"}
    )
    stride = "L+1"
    version = version("ai2-olmo-core")

    def prepare(self, corpus: Path, workdir: Path, settings: Settings) -> None:
        """Write each corpus as one array without a header, and where its documents lie, as the dolma toolkit does."""
        for name in {name for names in settings.sources.values() for name in names}:
            held = tokens(corpus / name)
            folder = workdir / "arrays" / held.dtype.name
            folder.mkdir(parents=True, exist_ok=True)
            held.tofile(folder / f"{name}.npy")
            ends = accumulate(len(document) for document in documents(corpus / name))
            bounds = (f"{start},{end}\n" for start, end in pairwise([0, *ends]) if start < end)
            (folder / f"{name}.csv.gz").write_bytes(gzip.compress("".join(bounds).encode()))

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build dataset and loader, restore the state, and shuffle the epoch that it is in."""
        if len(settings.phases) > 1 or settings.skips:
            raise Refusal("serves one phase, and skips nothing")
        self.settings, self.layout = settings, layout
        self.sequence = settings.seq_len + 1
        work = workdir / f"rank{layout.rank}"
        dataset = self._config(workdir / "arrays").build()
        dataset.work_dir = work
        dataset.fs_local_rank = 0
        dataset.prepare()
        self.loader = NumpyDataLoaderBase.wrap_numpy_dataset(
            dataset,
            global_batch_size=layout.batch_size * self.sequence,
            collator=DataCollator(pad_token_id=dataset.pad_token_id, vocab_size=dataset.vocab_size),
            work_dir=work,
            seed=settings.seed,
            dp_world_size=layout.dp_size,
            dp_rank=layout.dp_rank,
            fs_local_rank=0,
            num_workers=layout.workers,
        )
        self.seen, self.begun = 0, False
        epoch = 1
        if states:
            state = json.loads(states[0])
            self.seen, epoch = state["seen"], state["epoch"]
            try:
                self.loader.load_state_dict(state["data_loader"])
            except RuntimeError as reason:
                raise Refusal(str(reason)) from reason
        self.loader.reshuffle(epoch)
        self.batches = iter(self.loader)

    def _config(self, arrays: Path) -> NumpyFSLDatasetConfig:
        """Return the dataset of the run: the arrays of a source, or a mixture of several sources."""
        settings, shares = self.settings, weights(self.settings)
        paths = {source: [str(path) for name in settings.sources[source] for path in arrays.glob(f"*/{name}.npy")] for source in shares}
        dtypes = {Path(path).parent.name for names in paths.values() for path in names}
        if len(dtypes) != 1:
            raise Refusal("reads arrays of one dtype")
        options = {"tokenizer": VOCABULARY, "dtype": NumpyDatasetDType(dtypes.pop()), "sequence_length": self.sequence}
        if len(shares) == 1:
            return NumpyFSLDatasetConfig(paths=next(iter(paths.values())), **options)
        length = settings.length * self.sequence
        sources = [SourceMixtureConfig(name, share, paths[name], max_repetition_ratio=length) for name, share in shares.items()]
        return NumpyFSLDatasetConfig.from_src_mix(
            SourceMixtureDatasetConfig(
                SourceMixtureList(sources),
                requested_tokens=length,
                global_batch_size=self.layout.batch_size * self.sequence,
                seed=settings.seed,
                render_tables=False,
                quiet=True,
            ),
            **options,
        )

    def next(self) -> list[MicroBatch] | None:
        """Take the rank's part of the next step, of the next epoch where this one has no further one."""
        if self.seen + self.layout.batch_size > self.settings.length:
            return None
        batch = next(self.batches, None)
        if batch is None:
            self.loader.reset()
            self.loader.reshuffle()
            self.batches = iter(self.loader)
            if (batch := next(self.batches, None)) is None:
                raise Refusal("drops what makes no whole batch at the end of an epoch, and would serve none")
        self.seen += self.layout.batch_size
        self.begun = True
        return [self._micro_batch(each) for each in split_batch(batch, self.layout.micro_batch)]

    @staticmethod
    def _micro_batch(batch: dict[str, object]) -> MicroBatch:
        # The last place has no target.
        return {"inputs": np.asarray(batch["input_ids"])[:, :-1], "targets": np.asarray(get_labels(batch))[:, :-1]}

    def commit(self, applied: bool = True) -> None:
        """Say that the state counts no more than what was trained."""
        self.begun = False

    def save(self) -> bytes:
        """Return what a checkpoint of the trainer would hold."""
        if self.begun:
            raise Refusal("counts a batch as soon as it is handed out")
        return json.dumps({"seen": self.seen, "epoch": self.loader.epoch, "data_loader": self.loader.state_dict()}).encode()

    def close(self) -> None:
        """Drop the iterator, and with it the threads and workers."""
        self.batches = iter(())
