"""At the end of a finite dataset the shards of an ElasticIterator disagree on the number of batches.

The iterator takes every n-th sample for its shard and drops the remainder of that share by itself; it never looks at the `drop_remainder`
of the ShardOptions that it is given. A shard that ends early leaves the collectives of the others waiting. Cutting the dataset to a
multiple of the global batch, or repeating it without end, avoids it.

Clause: C2.4
Promised: "If True shard() will create even splits and drop the remainder examples (all shards will have the same number of examples)."
(https://google-grain.readthedocs.io/en/latest/grain.sharding.html)
Upstream: not found (searched 2026-12-01: "grain ElasticIterator shards different number of batches end of dataset uneven drop_remainder",
"google/grain sharding uneven number of batches per process hang last batch")
"""

import sys
from importlib.metadata import version

import grain

SHARDS, BATCH = 4, 8

samples = grain.MapDataset.range(14)
shards = [grain.sharding.ShardOptions(i, SHARDS, drop_remainder=True) for i in range(SHARDS)]
found = [len(list(grain.experimental.ElasticIterator(samples, BATCH, shard))) for shard in shards]
print(f"grain {version('grain')}: 14 samples in global batches of {BATCH}: expected 1 batch on each of {SHARDS} shards, got {found}")
sys.exit(len(set(found)) == 1)
