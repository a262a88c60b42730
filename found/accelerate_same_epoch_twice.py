"""After the rest of an epoch from `skip_first_batches`, the prepared loader serves the same epoch again, in the same order.

The loader that skips counts the epoch, the prepared one, to which a training loop goes back, does not. Setting the epoch by `set_epoch`,
which the page on checkpoints does not, avoids it.

Clause: C4.1
Promised: "After the first iteration, go back to `train_dataloader`"
(https://huggingface.co/docs/accelerate/v1.15.0/usage_guides/checkpoint)
Upstream: https://github.com/huggingface/accelerate/pull/4233
"""

import accelerate
import torch
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch.utils.data import DataLoader, TensorDataset


def started() -> tuple[accelerate.Accelerator, DataLoader[tuple[torch.Tensor, ...]]]:
    """Return what a training script has at its start."""
    set_seed(1)
    accelerator = accelerate.Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True))
    return accelerator, accelerator.prepare(DataLoader(TensorDataset(torch.arange(10)), 2, shuffle=True))


_, loader = started()
first, second = ([batch.tolist() for (batch,) in loader] for _ in range(2))
accelerator, loader = started()
rest = [batch.tolist() for (batch,) in accelerator.skip_first_batches(loader, 2)]
got = [batch.tolist() for (batch,) in loader]
print(f"accelerate {accelerate.__version__}, resumed after two batches of the first epoch, {first[:2]}, with {rest}")
print(f"expected as the second epoch {second}, got {got}{', the first one' * (got == first)}")
raise SystemExit(rest != first[2:] or got == second)
