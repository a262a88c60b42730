"""Indices that were cached for other data of the same path are used for the data that lie there now.

They are found by a hash of path, number of samples, split, seed and sequence length, not of the data. Documents that were added are never
read, without a word; of documents that were cut, samples of another length come. Deleting the cache, or a `path_to_cache` of its own for
each version of the data, avoids it.

Clause: C3.6, C4.7
Promised: nothing; the page of the datasets says that "The cached indices are unique to a hash", and not that the data are in it
Upstream: not found (searched 2026-12-01: "Megatron-LM stale cached index document_index shuffle_index data file changed same path cache not
rebuilt", "Megatron dataset cache hash does not include file content modified .bin wrong indices reuse")
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

SEQ_LEN, SAMPLES = 16, 100


def served(folder: str, documents: list[int]) -> list[list[int]]:
    """Write documents of these lengths, numbering their tokens from 0 on, and return the samples of a run over them."""
    builder = IndexedDatasetBuilder(f"{folder}/data.bin", np.int32)
    for end, length in zip(np.cumsum(documents), documents, strict=True):
        builder.add_document(torch.arange(end - length, end), [length])
    builder.finalize(f"{folder}/data.idx")
    blend = [([f"{folder}/data"], [1.0]), None, None]
    masks = {"reset_position_ids": False, "reset_attention_mask": False, "eod_mask_loss": False, "create_attention_mask": False}
    config = GPTDatasetConfig(1, SEQ_LEN, blend_per_split=blend, tokenizer=NullTokenizer(1 << 20), **masks)
    samples, _, _ = BlendedMegatronDatasetBuilder(GPTDataset, [SAMPLES, 0, 0], lambda: True, config).build()
    return [samples[i]["tokens"].tolist() for i in range(SAMPLES)]


def added(samples: list[list[int]]) -> int:
    """Return how many samples hold tokens of the second half."""
    return sum(max(sample) >= 40 * 50 for sample in samples)


with tempfile.TemporaryDirectory() as fresh, tempfile.TemporaryDirectory() as used:
    expected = added(served(fresh, [40] * 100))
    served(used, [40] * 50)
    found = added(served(used, [40] * 100))
print(
    f"megatron-core {version('megatron-core')}: a corpus that grew to twice its size: expected a refusal, or about {expected} of {SAMPLES}"
)
print(f"samples from what was added, as without a cache; got {found}")
sys.exit(found > 0)
