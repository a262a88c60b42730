"""Epochs are cut as one stream, so a window in each begins in the corpus's end and goes on at its beginning.

From the second epoch on windows lie elsewhere in the corpus than in the first. That the order of documents is drawn for all epochs at once
is on the page of the datasets; how windows are cut is not. Building the dataset anew for each epoch, for the samples of one and with a seed
of its own, avoids it.

Clause: D0.1
Promised: nothing; the page of the datasets says how the order is drawn, and not where the windows lie
Upstream: https://github.com/NVIDIA/Megatron-LM/issues/697
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

WINDOWS, SEQ_LEN, EPOCHS = 1000, 16, 4

with tempfile.TemporaryDirectory() as folder:
    corpus = torch.arange(WINDOWS * SEQ_LEN + 1)
    builder = IndexedDatasetBuilder(f"{folder}/data.bin", np.int32)
    builder.add_document(corpus, [len(corpus)])
    builder.finalize(f"{folder}/data.idx")
    blend = [([f"{folder}/data"], [1.0]), None, None]
    masks = {"reset_position_ids": False, "reset_attention_mask": False, "eod_mask_loss": False, "create_attention_mask": False}
    config = GPTDatasetConfig(1, SEQ_LEN, blend_per_split=blend, tokenizer=NullTokenizer(1 << 20), **masks)
    samples, _, _ = BlendedMegatronDatasetBuilder(GPTDataset, [EPOCHS * WINDOWS, 0, 0], lambda: True, config).build()
    crossing = sum(bool((np.diff(samples[i]["tokens"].numpy()) != 1).any()) for i in range(EPOCHS * WINDOWS))
    print(f"megatron-core {version('megatron-core')}: {EPOCHS} epochs of {WINDOWS} windows of consecutive tokens expected")
    print(f"got {crossing} that go on from the corpus's end at its beginning")
sys.exit(not crossing)
