"""Sources of equal size in a blend are shuffled alike.

Every GPTDataset of a blend shuffles with the one `random_seed`, and with nothing else, so sample k of one source always comes with sample
k of the other. Parallel corpora are aligned in every epoch. Sources whose sizes differ get orders that differ.

Clause: C3.4
Promised: nothing; `random_seed` is "The seed for all RNG during dataset creation", and of orders of two sources no docstring speaks
Upstream: not found (searched 2026-12-01: "Megatron-LM same random seed for every dataset in blend identical shuffle order parallel corpora
aligned", "Megatron GPTDataset random_seed numpy RandomState every dataset same permutation correlated between data sources")
"""

import sys
import tempfile
from importlib.metadata import version

import numpy as np
import torch
from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder
from megatron.core.tokenizers.text.libraries import NullTokenizer

WINDOWS, SEQ_LEN = 1000, 16

with tempfile.TemporaryDirectory() as folder:
    for name in ("one", "two"):
        builder = IndexedDatasetBuilder(f"{folder}/{name}.bin", np.int32)
        builder.add_document(torch.arange(WINDOWS * SEQ_LEN + 1), [WINDOWS * SEQ_LEN + 1])
        builder.finalize(f"{folder}/{name}.idx")
    blend = [([f"{folder}/one", f"{folder}/two"], [0.5, 0.5]), None, None]
    masks = {"reset_position_ids": False, "reset_attention_mask": False, "eod_mask_loss": False, "create_attention_mask": False}
    config = GPTDatasetConfig(1, SEQ_LEN, blend_per_split=blend, tokenizer=NullTokenizer(1 << 20), **masks)
    samples, _, _ = BlendedMegatronDatasetBuilder(GPTDataset, [WINDOWS, 0, 0], lambda: True, config).build()
    orders: dict[int, list[int]] = {0: [], 1: []}
    for i in range(WINDOWS):
        orders[int(samples[i]["dataset_id"])].append(int(samples[i]["tokens"][0]))
    equal = sum(one == two for one, two in zip(*orders.values(), strict=False))
    print(f"megatron-core {version('megatron-core')}, {WINDOWS} windows: expected two orders, got {equal} equal of {WINDOWS // 2}")
sys.exit(equal < WINDOWS // 4)
