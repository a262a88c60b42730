"""A loader on a CUDA device that is none: the production backend over csrc/tests/fake_cuda.cpp, and torch's part over memory of the host.

Import it in a process that finds the fake driver first: LD_LIBRARY_PATH names the folder of `build_fake_cuda`.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from fivepoint import fastpath
from fivepoint.conformance.drivers.fastpath import FastpathDriver
from fivepoint.fastpath import _C, placement
from fivepoint.fastpath.batch import Batch

driver = ctypes.CDLL("libcuda.so.1")
driver.fake_cuda_stream.restype = ctypes.c_uint64
driver.fake_cuda_calls.restype = ctypes.c_char_p
for name in ("fake_cuda_pinned", "fake_cuda_memory"):
    getattr(driver, name).argtypes = [ctypes.c_uint64, ctypes.c_uint64]


class FakeCuda(placement.Cuda):
    """The placement with torch's part done by the host: kernels run late, so what they touch is kept."""

    streams = 2

    def __init__(self, device: torch.device) -> None:
        """Open the fake driver."""
        self.kept: list[Tensor] = []
        self.taken = 0
        super().__init__(device)

    def _open(self) -> _C.Device:
        return _C.open_cuda(0)

    def _pinned(self, size: int) -> Tensor:
        return self._known(torch.empty(size, dtype=torch.uint8), driver.fake_cuda_pinned)

    def _empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        return self._known(torch.empty(shape, dtype=dtype), driver.fake_cuda_memory)

    def _sent(self, block: Tensor) -> Tensor:
        return self._known(block.clone(), driver.fake_cuda_memory)

    def stream(self) -> int:
        self.taken += 1
        return driver.fake_cuda_stream(self.taken % self.streams)

    def _known(self, tensor: Tensor, tell: Any) -> Tensor:
        tell(tensor.data_ptr(), tensor.nbytes)
        self.kept.append(tensor)
        return tensor


placement.Cuda = FakeCuda


class Loader(fastpath.Loader):
    """The native loader on the fake device; batches are there when they are handed out."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Open it; what a loader takes, but for the device."""
        super().__init__(*arguments, device="cuda", **named)


def seen(batch: Batch) -> dict[str, Any]:
    """Return a batch as a trainer sees it who waits for its stream: by name, as lists."""
    driver.fake_cuda_synchronize()
    return {name: value.tolist() if isinstance(value, Tensor) else value for name, value in vars(batch).items()}


def fail(call: str = "", others: int = 0, times: int = 1000, code: int = 700, second: str | None = None) -> None:
    """Let calls of a name fail from now on, after others that do not; and those of a second name at once."""
    driver.fake_cuda_fail(call.encode(), others, times, code, second and second.encode())


def calls() -> list[str]:
    """Return the calls since this was last asked for."""
    return driver.fake_cuda_calls().decode().split()


class Driver(FastpathDriver):
    """Drives it through the conformance suite."""

    device = "cuda"

    @staticmethod
    def arrays(batch: Any) -> Any:
        """Return the tensors once the device is done with them."""
        driver.fake_cuda_synchronize()
        return FastpathDriver.arrays(batch)
