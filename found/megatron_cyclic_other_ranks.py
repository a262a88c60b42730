"""Megatron Bridge 0.3.1: the sampler `cyclic` repeats samples after a resume on another number of ranks.

Clause C4.3. Its docstring promises "randomizing the order of samples within each epoch while supporting resumption"
(https://docs.nvidia.com/nemo/megatron-bridge/latest/apidocs/bridge/bridge.data.samplers.html); a resume on another number of ranks is
neither promised nor disclaimed. Each rank shuffles a part of its own, and other ranks have other parts. Not found upstream.
"""

import sys
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import megatron

TOTAL, BATCH = 6400, 640


def samplers() -> ModuleType:
    """Return megatron.bridge.data.samplers without its packages, which import all of its models."""
    path = Path(next(iter(megatron.__path__))) / "bridge" / "data" / "samplers.py"
    spec = spec_from_file_location("samplers", path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(module := module_from_spec(spec))
    return module


def step(consumed: int, ranks: int) -> list[int]:
    """Return the samples that all ranks take from `consumed` on, in a step of BATCH samples."""
    taken = []
    for rank in range(ranks):
        sampler = samplers().MegatronPretrainingRandomSampler(None, TOTAL, consumed, BATCH // ranks, rank, ranks, data_sharding=True)
        taken += next(iter(sampler))
    return taken


seen = {sample for number in range(5) for sample in step(number * BATCH, 4)}
print(f"megatron-bridge {version('megatron-bridge')}: half an epoch on 4 ranks, and the next {BATCH} samples:")
found = {ranks: sum(sample in seen for sample in step(5 * BATCH, ranks)) for ranks in (4, 2, 8)}
for ranks, again in found.items():
    print(f"on {ranks} ranks: expected 0 of them again, got {again}")
sys.exit(not any(found.values()))
