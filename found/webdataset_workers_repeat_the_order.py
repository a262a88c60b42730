"""With worker processes, every pass of `with_epoch` comes in the same order.

`detshuffle` counts its passes in the worker, and each pass of a `WebLoader` has new workers. Workers that persist
(`persistent_workers=True`) keep the count, as is said in https://github.com/webdataset/webdataset/pull/299.

Clause: C3.4
Promised: "This class provides a reproducible shuffling mechanism based on a seed and epoch."
(https://github.com/webdataset/webdataset/blob/main/src/webdataset/filters.py)
Upstream: https://github.com/webdataset/webdataset/issues/172
"""

import tempfile
from itertools import islice

import numpy as np
import webdataset as wds

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        with wds.ShardWriter(f"{folder}/%06d.tar", maxcount=4, verbose=0) as writer:
            for number in range(40):
                writer.write({"__key__": f"{number:06d}", "npy": np.array([number])})
        shards = [f"{folder}/{number:06d}.tar" for number in range(10)]
        dataset = wds.WebDataset(shards, shardshuffle=100, detshuffle=True, seed=1).compose(wds.detshuffle(1000, seed=1))
        for workers in (0, 1):
            batches = wds.WebLoader(dataset.decode().to_tuple("npy").batched(1), batch_size=None, num_workers=workers).with_epoch(80)
            served = [int(batch) for (batch,) in islice(batches, 80)]
            repeated = served[:40] == served[40:]
            print(f"webdataset {wds.__version__}, {workers} workers: expected two passes in two orders, got", "one" if repeated else "two")
    raise SystemExit(0 if repeated else 1)
