"""Drives the native loader: the reference's driver, with the other loader behind it."""

from typing import Any

import numpy as np

from ...reference.loader import Loader
from ..driver import MicroBatch
from .reference import ReferenceDriver


class FastpathDriver(ReferenceDriver):
    """`fivepoint.fastpath.Loader` with the plan that the settings describe."""

    def kind(self) -> type[Loader]:
        """Return the native loader; torch is imported now, by whoever asks for it."""
        from ...fastpath import Loader as Native

        return Native

    @staticmethod
    def arrays(batch: Any) -> MicroBatch:
        """Return the tensors of a batch as arrays."""
        return {name: np.asarray(tensor) for name, tensor in ReferenceDriver.arrays(batch).items()}
