"""A stand-in for torchvision, which mosaicml-streaming imports and these scripts do not use."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType


def stand_in():
    """Put it in the place of torchvision, from here on."""
    for name, attribute in {
        "torchvision": "",
        "torchvision.datasets": "VisionDataset",
        "torchvision.transforms": "",
        "torchvision.transforms.functional": "to_tensor",
    }.items():
        module = sys.modules[name] = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        if attribute:
            setattr(module, attribute, object)
