"""Every file of golden vectors, by name."""

from . import blend, boundaries, canonical, partition, permutation, plan_hash, prefix_hash, resolve, skips, weights, where
from .case import VectorFile

_MODULES = (permutation, weights, blend, resolve, skips, where, partition, boundaries, canonical, plan_hash, prefix_hash)

FILES: dict[str, VectorFile] = {
    of: VectorFile(of, module.CLAUSES, module.CASES, module.results) for module in _MODULES for of in [module.__name__.rpartition(".")[2]]
}
