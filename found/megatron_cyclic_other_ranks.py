"""The sampler `cyclic` repeats samples after a resume on another number of ranks.

With `data_sharding` each rank shuffles a part of its own, and other ranks have other parts, of which they skip as much. `data_sharding`
off avoids it. The page on checkpoints has been limiting the promise since 0.6.0, to "the model and optimizer checkpoint".

Clause: C4.3
Promised: "You can change tensor parallelism, pipeline parallelism, or data parallelism sizes between checkpoint save and load operations."
(https://docs.nvidia.com/nemo/megatron-bridge/0.4.1/training/checkpointing.html)
Upstream: not found (searched 2026-12-01: "Megatron MegatronPretrainingRandomSampler cyclic resume different data parallel size repeats
samples", "NVIDIA/Megatron-LM dataloader cyclic change number of GPUs restart consumed samples order data_sharding")
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
