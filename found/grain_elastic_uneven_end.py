"""Grain 0.2.18: at the end of a finite dataset the shards of an ElasticIterator disagree on the number of batches.

Clause C2.4. The ElasticIterator lets "each shard produce the same exact checkpoint as long as they are advanced the same number of steps"
(https://google-grain.readthedocs.io/en/latest/grain.experimental.html), and `drop_remainder` of a batch is always on; but the remainder is
dropped on each shard by itself, of its own share. A shard that ends early leaves the collectives of the others waiting. Not found upstream.
"""

import sys
from importlib.metadata import version

import grain

SHARDS, BATCH = 4, 8

samples = grain.MapDataset.range(14)
found = [len(list(grain.experimental.ElasticIterator(samples, BATCH, grain.sharding.ShardOptions(i, SHARDS)))) for i in range(SHARDS)]
print(f"grain {version('grain')}: 14 samples in global batches of {BATCH}: expected 1 batch on each of {SHARDS} shards, got {found}")
sys.exit(len(set(found)) == 1)
