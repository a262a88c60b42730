"""Megatron Core 0.16.1: sources of equal size in a blend are shuffled alike.

Clause C3.4. Every GPTDataset of a blend shuffles with the one `random_seed`, "the seed for all RNG during dataset creation"
(https://docs.nvidia.com/megatron-core/developer-guide/latest/api-guide/datasets.html, GPTDatasetConfig), and with nothing else, so sample k
of one source always comes with sample k of the other. Parallel corpora are aligned in every epoch. Not found upstream.
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
    half = WINDOWS // 2
    print(f"megatron-core {version('megatron-core')}: {half} samples of each of two sources: expected two orders, got {equal} equal places")
sys.exit(equal < WINDOWS // 4)
