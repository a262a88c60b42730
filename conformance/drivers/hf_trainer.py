"""Drives the Trainer of Hugging Face's transformers 5.24.0, which skips on resume the batches that it has trained on.

A Trainer trains in a thread, with all that belongs to it: `train()`, its sampler, `gradient_accumulation_steps`, checkpoints of its own and
`train(resume_from_checkpoint=...)` (https://huggingface.co/docs/transformers/v5.24.0/trainer). Only the forward and backward pass is left
out: `training_step`, which that page has subclasses override, notes the batch that it is given. A callback hands over the batches of each
optimizer step, before it is taken, and asks for a checkpoint by `control.should_save`. Arguments are the defaults, `ignore_data_skip=False`
too: "skips seen data (slower resume but exact continuation)". `max_steps` ends the run.

Not promised: `layout`, for ranks of a Trainer need a process group, and the driver has one in a process; `whole_steps`, for an epoch ends
in a smaller step where `dataloader_drop_last` is False; `rebatch`, for a Trainer warns of other arguments on resume; several sources.
`save` before `commit` is refused: a Trainer saves after a step. A run that has taken none has no checkpoint, and begins anew.
"""

import gc
import os
import weakref
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import torch
import transformers
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from ..driver import Layout, MicroBatch, Refusal, Settings
from .hf_blocks import Batch, Blocks, CausalDriver, files, restored, shifted

# A process of its own is no reason to look for a process group.
for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
    os.environ.pop(name, None)

# Accelerate collects garbage again and again, which what was imported is not.
gc.freeze()


class Ended(BaseException):
    """The driver was closed: the Trainer's thread ends where it stands."""


class Model(torch.nn.Module):
    """A model of one weight, with the arguments of a causal language model, by which a Trainer knows what to keep of an example."""

    def __init__(self) -> None:
        """Make the weight."""
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return a loss."""
        return self.weight.sum()


class Trainer(transformers.Trainer):  # type: ignore[misc]  # it has no types
    """A Trainer that notes the micro-batches of a step in place of training on them."""

    noted: list[Batch]

    def training_step(self, model: torch.nn.Module, inputs: Batch, num_items_in_batch: Any = None) -> torch.Tensor:
        """Note a micro-batch, and return a loss."""
        self.noted.append(inputs)
        return torch.zeros(())


class Steps(transformers.TrainerCallback):  # type: ignore[misc]
    """Lets the Trainer go on when the driver asks for something, and gives it that: a step, None at the end, or an error."""

    def __init__(self) -> None:
        """Make the queues between the two threads."""
        self.asked: SimpleQueue[str] = SimpleQueue()
        self.given: SimpleQueue[Any] = SimpleQueue()
        self.wanted = ""
        self.latest: Path | None = None

    def run(self, trainer: Trainer, checkpoint: Path | None) -> None:
        """Train, as soon as a step is asked for."""
        self.trainer = trainer
        trainer.noted = []
        try:
            self.wait()
            trainer.train(resume_from_checkpoint=checkpoint and str(checkpoint))
            self.given.put(None)
        except Ended:
            pass
        except Exception as reason:
            self.given.put(reason)

    def wait(self) -> None:
        """Wait until the driver asks for something."""
        self.wanted = self.asked.get()
        if self.wanted == "end":
            raise Ended

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Give the micro-batches of a step, and wait until it is taken."""
        step, self.trainer.noted = self.trainer.noted, []
        self.given.put([shifted(batch) for batch in step])
        self.wait()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Have the Trainer save after this callback, if that is asked for."""
        control.should_save |= self.wanted == "save"

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Note the checkpoint; one that was not asked for is made at the end of the run."""
        self.latest = Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"
        if self.wanted == "save":
            self.given.put(None)
            self.wait()


class TrainerThread(CausalDriver):
    """A Trainer of one rank."""

    promises = frozenset({"shuffle", "epochs", "whole_epochs", "resume", "workers", "any_workers"})
    version = transformers.__version__

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Make a Trainer, in a thread that waits until a step is asked for."""
        if layout.dp_size > 1:
            raise Refusal("has one rank in a process")
        self.layout, self.begun, self.unsaved = layout, False, False
        self.held: dict[str, Any] = self.loaded(states) if states else {"checkpoint": "", "files": {}}
        arguments = transformers.TrainingArguments(
            output_dir=str(workdir / "trainer"),
            per_device_train_batch_size=layout.micro_batch,
            gradient_accumulation_steps=layout.accumulation,
            max_steps=settings.length // layout.batch_size or 1,
            seed=settings.seed,
            dataloader_num_workers=layout.workers,
            use_cpu=True,
            disable_tqdm=True,
            report_to="none",
        )
        self.steps = Steps()
        trainer = Trainer(Model(), arguments, train_dataset=Blocks(corpus, settings), callbacks=[self.steps])
        name, held = self.held["checkpoint"], self.held["files"]
        checkpoint = restored(workdir / "resumed" / name, held) if name else None
        self.over = settings.length < layout.batch_size
        self.thread = Thread(target=self.steps.run, args=(trainer, checkpoint), daemon=True)
        self.thread.start()
        # A driver that is dropped without a close leaves no thread either.
        weakref.finalize(self, self.steps.asked.put, "end")

    def next(self) -> list[MicroBatch] | None:
        """Let the Trainer come to its next step."""
        if self.over:
            return None
        step: list[MicroBatch] | None = self.ask("next")
        self.over, self.begun, self.unsaved = step is None, step is not None, step is not None
        return step

    def commit(self, applied: bool = True) -> None:
        """Have no say in it: the Trainer counts the step when it is asked for something else."""
        self.begun = False

    def save(self) -> bytes:
        """Have the Trainer save after the step that it stands at; at the beginning, what it resumed from is the latest checkpoint."""
        if self.begun:
            raise Refusal("saves after a step")
        if self.unsaved:
            self.ask("save")
            self.unsaved = False
        if checkpoint := self.steps.latest:
            self.held = {"checkpoint": checkpoint.name, "files": files(checkpoint)}
        return self.saved(**self.held)

    def ask(self, wanted: str) -> Any:
        """Return what the Trainer gives; raises its error."""
        self.steps.asked.put(wanted)
        given = self.steps.given.get()
        if isinstance(given, Exception):
            raise given
        return given

    def close(self) -> None:
        """End the thread."""
        self.steps.asked.put("end")
        self.thread.join()
