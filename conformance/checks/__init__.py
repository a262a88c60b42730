"""The checks, a module for each chapter of the contract. They see a loader only through the bench, and import nothing of one."""

from importlib import import_module
from pkgutil import iter_modules


def load() -> None:
    """Import every module of checks, which registers them."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
