"""`shardshuffle` without a seed gives every pass the same order of shards.

The constructor of WebDataset draws one seed, and each pass begins with it. `detshuffle=True` counts the passes, in one process.

Clause: C3.4
Promised: nothing; the docstring of `shardshuffle` is "The number of shards to shuffle, or None", of two passes none speaks
Upstream: https://github.com/webdataset/webdataset/pull/502
"""

import tempfile

import numpy as np
import webdataset as wds

with tempfile.TemporaryDirectory() as folder:
    with wds.ShardWriter(f"{folder}/%06d.tar", maxcount=1, verbose=0) as writer:
        for number in range(40):
            writer.write({"__key__": f"{number:06d}", "npy": np.array([number])})
    dataset = wds.WebDataset([f"{folder}/{number:06d}.tar" for number in range(40)], shardshuffle=100)
    first, second = ([sample["__key__"] for sample in dataset] for _ in range(2))
print(f"webdataset {wds.__version__}: expected two passes through 40 shards in two orders, got {'one' if first == second else 'two'}")
raise SystemExit(0 if first == second else 1)
