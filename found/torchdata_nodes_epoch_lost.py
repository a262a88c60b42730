"""A SamplerWrapper over torchdata's StatefulDistributedSampler resumes in the order of epoch 0, whatever the epoch.

The wrapper's state holds the epoch, but to a sampler with a state of its own it is not handed on: the rest of the epoch repeats samples
and leaves others out. After 0.11.0 it was mended by https://github.com/meta-pytorch/data/pull/1515 and
https://github.com/meta-pytorch/data/pull/1516.

Clause: C4.1
Promised: "This is nearly identical to IterableWrapper except it includes a hook to call set_epoch on the sampler, if it supports it."
(https://pytorch.org/data/0.11/torchdata.nodes.html)
Upstream: https://github.com/meta-pytorch/data/issues/1513
"""

import sys
from itertools import islice

from torchdata import __version__
from torchdata.nodes import Loader, SamplerWrapper
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler


def loader() -> Loader:
    """Return a loader of the shuffled numbers below ten."""
    return Loader(SamplerWrapper(StatefulDistributedSampler(range(10), num_replicas=1, rank=0)))


first, second = loader(), loader()
list(first)
epoch = iter(first)
begun = list(islice(epoch, 4))
second.load_state_dict(first.state_dict())
expected, got = list(epoch), list(second)
print(f"torchdata {__version__}: second epoch begins with {begun}, expected {expected} after a resume, got {got}")
sys.exit(got == expected)
