"""A resume at the end of the run ends in an assertion, where it should say that the run is complete.

The sampler `single` asserts that some samples are left, so a job that is started again after its last step fails. Comparing the consumed
samples with all of them, before the loader is built, avoids it. It is known of the same sampler in NeMo, which the Bridge follows.

Clause: C4.5
Promised: nothing; the docstring of `consumed_samples` is "Number of samples already consumed (for resuming)", and names no greatest number
Upstream: https://github.com/NVIDIA-NeMo/Speech/issues/7221
"""

import sys
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import megatron

TOTAL = 100


def samplers() -> ModuleType:
    """Return megatron.bridge.data.samplers without its packages, which import all of its models."""
    path = Path(next(iter(megatron.__path__))) / "bridge" / "data" / "samplers.py"
    spec = spec_from_file_location("samplers", path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(module := module_from_spec(spec))
    return module


try:
    got = str(list(samplers().MegatronPretrainingSampler(TOTAL, TOTAL, 4, 0, 1)))
except AssertionError as reason:
    got = repr(reason)
print(f"megatron-bridge {version('megatron-bridge')}: {TOTAL} of {TOTAL} samples consumed: expected no batch, got {got}")
sys.exit(got == "[]")
