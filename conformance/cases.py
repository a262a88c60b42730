"""Cases that checks begin from: one source, and a mixture; everything else is a variation of these."""

from collections.abc import Mapping

from .case import Case, Leg
from .corpora import CorpusSpec, windows
from .driver import Phase, Settings


def one_source(
    n: int = 20, samples: int | None = None, seq_len: int = 4, seed: int = 1, documents: int = 3, leg: Leg | None = None
) -> Case:
    """Return a case of one source of `n` windows, served for `samples` (one epoch)."""
    corpora = (CorpusSpec("data", windows(n, seq_len, documents)),)
    settings = Settings(seed, seq_len, {"data": ["data"]}, [Phase(n if samples is None else samples, {"data": "1"})])
    return Case(corpora, settings, (leg or Leg(),))


def mixture(
    sizes: Mapping[str, int], weights: Mapping[str, str], samples: int, seq_len: int = 4, seed: int = 1, leg: Leg | None = None
) -> Case:
    """Return a case of several sources, `sizes` windows each, mixed by `weights` (decimals) over `samples`."""
    corpora = tuple(CorpusSpec(name, windows(n, seq_len, 2)) for name, n in sizes.items())
    settings = Settings(seed, seq_len, {name: [name] for name in sizes}, [Phase(samples, dict(weights))])
    return Case(corpora, settings, (leg or Leg(),))
