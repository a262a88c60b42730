"""A StatefulDataLoader that is saved after a resume and before its first batch starts the epoch anew (torchdata 0.11.0).

Clause: C4.4, again and again. Promised: `state_dict` and `load_state_dict` "for handling mid-epoch checkpointing"
(https://pytorch.org/data/0.11/torchdata.stateful_dataloader.html). With torchdata's StatefulDistributedSampler and `num_workers=0` a state
that was loaded and saved again, as by a job that is stopped while it starts, names position 0: `yielded` is set by the first sample only.
Upstream: not found as a report. https://github.com/meta-pytorch/data/pull/1515 saves NEXT_YIELDED, which no `load_state_dict` reads.
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
