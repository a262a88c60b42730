"""A run that is resumed in a later epoch by `skip_first_batches` takes the order of the first epoch.

The number of the epoch is in no checkpoint, and the order comes from the seed and that number: the rest of the epoch repeats samples and
leaves others out. Setting the epoch by `set_epoch`, which the page on checkpoints does not, avoids it.

Clause: C4.1
Promised: "After resuming from a checkpoint, it may also be desirable to resume from a particular point in the active `DataLoader` if the
state was saved during the middle of an epoch." (https://huggingface.co/docs/accelerate/v1.15.0/usage_guides/checkpoint)
Upstream: https://github.com/huggingface/accelerate/issues/2016
"""

import tempfile

import accelerate
import torch
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch.utils.data import DataLoader, TensorDataset


def started() -> tuple[accelerate.Accelerator, DataLoader[tuple[torch.Tensor, ...]]]:
    """Return what a training script has at its start."""
    set_seed(1)
    accelerator = accelerate.Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True))
    return accelerator, accelerator.prepare(DataLoader(TensorDataset(torch.arange(10)), 2, shuffle=True))


accelerator, loader = started()
epochs: list[list[list[int]]] = [[], []]
with tempfile.TemporaryDirectory() as folder:
    for epoch in epochs:
        for (batch,) in loader:
            epoch.append(batch.tolist())
            if len(epochs[1]) == 2:
                accelerator.save_state(folder)
    accelerator, loader = started()
    accelerator.load_state(folder)
got = [batch.tolist() for (batch,) in accelerator.skip_first_batches(loader, 2)]
print(f"accelerate {accelerate.__version__}, stopped after two batches of the second epoch, {epochs[1][:2]}")
print(f"expected {epochs[1][2:]}, got {got}{', the rest of the first epoch' * (got == epochs[0][2:])}")
raise SystemExit(got == epochs[1][2:])
