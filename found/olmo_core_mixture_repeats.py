"""A mixture serves sequences of a source again before it has served all of them.

With a `max_repetition_ratio` above 1 the repetitions become sequences of one epoch, which is shuffled as a whole. A ratio of 1, and more
epochs in the place of repetitions, avoids it.

Clause: C1.3
Promised: nothing; the docstring says that the ratio "can be used to upsample the source data", not in what order repetitions come
Upstream: not found (searched 2026-12-01: "allenai/OLMo-core source mixture max_repetition_ratio upsample repeated instances before all seen
shuffle")
"""

import gzip
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from olmo_core.data import NumpyDataLoaderConfig, NumpyFSLDatasetConfig, TokenizerConfig
from olmo_core.data.source_mixture import SourceMixtureConfig, SourceMixtureDatasetConfig, SourceMixtureList

os.environ |= {"OLMO_DATA_PREP_WORKERS": "1", "OLMO_DATA_PREP_USE_ARRAY_IF_LOCAL": "false"}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for name, first, tokens in (("small", 0, 32), ("large", 100, 400)):
            np.arange(first, first + tokens, dtype=np.uint16).tofile(f"{folder}/{name}.npy")
            Path(f"{folder}/{name}.csv.gz").write_bytes(gzip.compress(f"0,{tokens}\n".encode()))
            sources.append(SourceMixtureConfig(name, 0.5, [f"{folder}/{name}.npy"], max_repetition_ratio=10))
        mixture = SourceMixtureDatasetConfig(SourceMixtureList(sources), 320, 4, render_tables=False, quiet=True)
        tokenizer = TokenizerConfig(vocab_size=1000, eos_token_id=999, pad_token_id=999)
        dataset = NumpyFSLDatasetConfig.from_src_mix(mixture, tokenizer=tokenizer, sequence_length=4, work_dir=folder).build()
        loader = NumpyDataLoaderConfig(global_batch_size=4, seed=1, work_dir=folder).build(dataset)
        loader.reshuffle(1)
        served = [int(batch["input_ids"][0, 0]) // 4 for batch in loader]
    small = [window for window in served if window < 8]
    print(f"ai2-olmo-core {version('ai2-olmo-core')}: expected the first 8 sequences of a source of 8 to be all of them, of {len(small)}")
    print(f"got {small[:8]}")
    raise SystemExit(0 if len(set(small[:8])) < 8 else 1)
