"""The second pass of one seed comes in the order of the first pass of the next seed.

`detshuffle` adds seed and epoch. Runs with neighbouring seeds share all orders but one. Seeds that lie further apart than a run has passes
avoid it.

Clause: C3.4
Promised: nothing; the docstring has detshuffle "based on a seed and epoch", and says neither how nor that two seeds differ
Upstream: not found (searched 2026-12-01: "webdataset detshuffle seed + epoch neighbouring seeds give the same shuffle order")
"""

import webdataset as wds


def passes(seed: int) -> list[list[str]]:
    """Return the order of the first two passes through 50 shards."""
    shards = wds.DataPipeline(wds.SimpleShardList([f"{number}.tar" for number in range(50)]), wds.detshuffle(1000, seed=seed))
    return [[shard["url"] for shard in shards] for _ in range(2)]


found = passes(7)[1] == passes(8)[0]
print(f"webdataset {wds.__version__}: expected the second pass of seed 7 in another order than the first of seed 8")
print(f"got {'the same order' if found else 'another order'}")
raise SystemExit(0 if found else 1)
