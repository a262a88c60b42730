"""A Trainer that is resumed from the last checkpoint of a finished run trains one step more.

It compares its steps with `max_steps` after a step alone, so a run that ended inside an epoch goes on with the next step of that epoch, and
saves a checkpoint of it. A job that is started again by its scheduler trains one step more each time. Comparing the `global_step` of the
checkpoint with `max_steps`, before `train` is called, avoids it.

Clause: C4.5
Promised: "If set to a positive number, the total number of training steps to perform."
(https://huggingface.co/docs/transformers/v5.24.0/main_classes/trainer)
Upstream: not found (searched 2026-12-01: "transformers Trainer resume_from_checkpoint finished run trains one extra step beyond max_steps")
"""

import tempfile

import torch
import transformers

STEPS = 3


class Model(torch.nn.Module):
    """A model of one weight."""

    def __init__(self) -> None:
        """Make the weight."""
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, number: torch.Tensor) -> dict[str, torch.Tensor]:
        """Note the batch, and return a loss."""
        batches.append(number.tolist())
        return {"loss": self.weight.sum()}


batches: list[list[int]] = []
with tempfile.TemporaryDirectory() as folder:
    arguments = transformers.TrainingArguments(
        folder, max_steps=STEPS, per_device_train_batch_size=2, use_cpu=True, disable_tqdm=True, report_to="none"
    )
    for checkpoint in (None, f"{folder}/checkpoint-{STEPS}"):
        trainer = transformers.Trainer(Model(), arguments, train_dataset=[{"number": number} for number in range(10)])
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train(resume_from_checkpoint=checkpoint)
print(f"transformers {transformers.__version__}, {STEPS} steps of two samples, resumed from checkpoint-{STEPS}")
print(f"expected {STEPS} steps in all, got {trainer.state.global_step}: {batches[:STEPS]}, and then {batches[STEPS:]}")
raise SystemExit(len(batches) == STEPS)
