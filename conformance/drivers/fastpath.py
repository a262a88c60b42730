"""Drives the native loader: the reference's driver, with the other loader behind it, on the CPU or on a CUDA device."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...reference.loader import Loader
from ..driver import MicroBatch
from .reference import ReferenceDriver


class FastpathDriver(ReferenceDriver):
    """`fivepoint.fastpath.Loader` with the plan that the settings describe."""

    device = "cpu"

    def kind(self) -> Callable[..., Loader]:
        """Return the native loader; torch is imported now, by whoever asks for it."""
        from ...fastpath import Loader as Native

        return partial(Native, device=self.device)

    @staticmethod
    def arrays(batch: Any) -> MicroBatch:
        """Return the tensors of a batch as arrays, once a device is done with them."""
        tensors: dict[str, Any] = dict(ReferenceDriver.arrays(batch))
        return {name: np.asarray(tensor.cpu()) for name, tensor in tensors.items()}


class CudaDriver(FastpathDriver):
    """The same with batches on the first CUDA device."""

    device = "cuda"
