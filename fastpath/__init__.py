"""The Python face of the native loader, twin of fivepoint.reference: the same calls, the same bits, torch tensors."""

from .dataset import PositionDataset, PositionSampler
from .loader import Loader

__all__ = ["Loader", "PositionDataset", "PositionSampler"]
