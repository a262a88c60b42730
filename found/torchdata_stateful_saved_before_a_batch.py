"""A StatefulDataLoader that is saved after a resume and before its first batch starts the epoch anew.

With torchdata's StatefulDistributedSampler and `num_workers=0` a state that was loaded and saved again, as by a job that is stopped while
it starts, names position 0: `yielded` is set by the first sample only. Saving the state that was loaded, until the first batch has come,
avoids it. https://github.com/meta-pytorch/data/pull/1515 saves NEXT_YIELDED, which no `load_state_dict` reads.

Clause: C4.4
Promised: "that implements state_dict and load_state_dict methods, enabling mid-epoch checkpointing."
(https://pytorch.org/data/0.11/torchdata.stateful_dataloader.html)
Upstream: not found (searched 2026-12-01: "torchdata SamplerWrapper StatefulDistributedSampler set_epoch lost on resume; StatefulDataLoader
state saved before first batch after load_state_dict")
"""

import sys

from torchdata import __version__
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler


def loader() -> StatefulDataLoader:
    """Return a loader of ten samples, one a batch."""
    sampler = StatefulDistributedSampler(range(10), num_replicas=1, rank=0, shuffle=False)
    return StatefulDataLoader(range(10), batch_size=1, sampler=sampler)


first = loader()
batches = iter(first)
for _ in range(4):
    next(batches)
second, third = loader(), loader()
second.load_state_dict(first.state_dict())
third.load_state_dict(second.state_dict())
got = [int(batch) for batch in third]
print(f"torchdata {__version__}: expected [4, 5, 6, 7, 8, 9] after two resumes at sample 4, got {got}")
sys.exit(got == [4, 5, 6, 7, 8, 9])
