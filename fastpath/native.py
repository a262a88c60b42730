"""A plan and its corpora as native objects. What a plan means was decided in fivepoint.reference; here it is only handed over."""

import resource
from collections.abc import Iterable

from ..errors import PlanError
from ..reference.batch import open_corpora
from ..reference.corpus import CorpusReader
from ..reference.mixing import word
from ..reference.plan import Plan
from . import _C

FILES_HELD = 4096
"""Shards that are kept open, where the process may have as many files."""


def resolver(plan: Plan) -> _C.Resolver:
    """Return the arithmetic of the run, with its tables."""
    return _C.Resolver(
        plan.seed,
        [(word(source.name), [corpus.tokens for corpus in source.corpora]) for source in plan.sources],
        [(phase.length, phase.grid, phase.rule, [phase.weights.get(source.name, 0) for source in plan.sources]) for phase in plan.phases],
        list(plan.skips),
    )


def reader(plan: Plan, kinds: Iterable[str]) -> _C.Reader:
    """Return a reader of the plan's rows; raises CorpusError for data that is missing or not the plan's (C3.6)."""
    lengths = sorted({phase.seq_len for phase in plan.phases})
    if len(lengths) != 1:
        raise PlanError(f"expected phases of one sequence length, found {', '.join(map(str, lengths)) or 'no phase'}")
    opened = open_corpora(plan)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _C.Files(FILES_HELD if soft == resource.RLIM_INFINITY else max(16, min(FILES_HELD, soft // 4)))
    corpora = [[corpus(opened[source.name, each.name], files) for each in source.corpora] for source in plan.sources]
    return _C.Reader(resolver(plan), corpora, lengths[0], bool(kinds))


def corpus(opened: CorpusReader, files: _C.Files) -> _C.Corpus:
    """Return an open corpus as a native one, which shares `files` with others; raises CorpusError for files of another size."""
    manifest = opened.manifest
    shards = []
    for shard, header in zip(manifest.shards, opened.index_headers, strict=True):
        shards.append((str(opened.folder / shard.file), shard.tokens, str(opened.folder / shard.index_file), shard.documents, header))
    return _C.Corpus(files, manifest.token_dtype.itemsize, manifest.vocab_size, shards)
