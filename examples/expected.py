"""What every rank should have trained on, from the plan and the shards alone: no loader, no run log, no checkpoint is asked.

Positions become windows by `Plan.resolve`; their tokens are cut out of the `.bin` files here. Steps and ranks follow
spec/algorithms.md, A7.
"""

import hashlib
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from rank_log import digest

from fivepoint.reference.canonical import digest as canonical_digest
from fivepoint.reference.plan import Plan

Tokens = np.ndarray[Any, Any]


class Expected:
    """The run as it was planned."""

    def __init__(self, path: Path) -> None:
        """Read the plan and every byte of its shards; raises ValueError where a corpus is not the one that the plan names."""
        self.plan = Plan.load(path)
        self._corpora = {
            (source.name, corpus.name): _read_corpus(Path(self.plan.folder, folder), corpus.manifest)
            for source in self.plan.sources
            for corpus, folder in zip(source.corpora, self.plan.paths[source.name], strict=True)
        }
        self.bytes = sum(tokens.nbytes for tokens in self._corpora.values())
        self.shards = sum(len(json.loads(Path(folder, "manifest.json").read_bytes())["shards"]) for folder in self._folders())
        self.steps = list(_steps(self.plan))
        """(first position, B) of every step of the run"""

    @cached_property
    def rows(self) -> Tokens:
        """The windows of all positions, int64 [positions, L + 1]."""
        return np.stack([self._window(position) for position in range(self.plan.length)])

    def digest(self, positions: range) -> str:
        """Return the SHA-256 of the micro-batch that holds these positions, as `rank_log` defines it."""
        rows = self.rows[positions.start : positions.stop]
        return digest(rows[:, :-1], rows[:, 1:])

    def positions(self, step: int, dp_size: int, rank: int, micro_batch: int, rows: int) -> range:
        """Return the positions of a rank's micro-batch in a step (from 1); raises ValueError where the step has no such micro-batch."""
        if not 1 <= step <= len(self.steps):
            raise ValueError(f"expected a step from 1 to {len(self.steps)}, found {step}")
        begin, size = self.steps[step - 1]
        share = size // dp_size
        if size % dp_size or rows < 1 or share % rows or not 0 <= rank < dp_size or not 0 <= micro_batch < share // rows:
            raise ValueError(f"no micro-batch {micro_batch} of {rows} rows on rank {rank} of {dp_size} in a step of {size} samples")
        first = begin + rank * share + micro_batch * rows
        return range(first, first + rows)

    def find(self, sha256: str, rows: int) -> range | None:
        """Return the positions, one after the other, whose micro-batch has this SHA-256; None where there are none."""
        return self._places(rows).get(sha256)

    def _places(self, rows: int) -> dict[str, range]:
        if rows not in self._tables:
            runs = (range(first, first + rows) for first in range(self.plan.length - rows + 1))
            self._tables[rows] = {self.digest(run): run for run in runs}
        return self._tables[rows]

    @cached_property
    def _tables(self) -> dict[int, dict[str, range]]:
        return {}

    def _window(self, position: int) -> Tokens:
        sample = self.plan.resolve(position)
        parts = [self._corpora[sample.source, span.corpus][span.first : span.first + span.length] for span in sample.spans]
        return np.concatenate(parts).astype(np.int64)

    def _folders(self) -> Iterator[Path]:
        for folders in self.plan.paths.values():
            yield from (Path(self.plan.folder, folder) for folder in folders)


def _steps(plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield (first position, B) of every whole step."""
    begin = 0
    while True:
        size = next(size for start, size in reversed(plan.batch_sizes) if start <= begin)
        if begin + size > plan.length:
            return
        yield begin, size
        begin += size


def _read_corpus(folder: Path, manifest_hash: str) -> Tokens:
    """Return the tokens of a corpus, uint16 or uint32, once manifest and shards have the hashes that the plan pins."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    if canonical_digest(manifest) != manifest_hash:
        raise ValueError(f"{folder}: expected the manifest with hash {manifest_hash}, found {canonical_digest(manifest)}")
    shards = []
    for shard in manifest["shards"]:
        data = (folder / shard["file"]).read_bytes()
        if hashlib.sha256(data).hexdigest() != shard["sha256"]:
            raise ValueError(f"{folder / shard['file']}: expected SHA-256 {shard['sha256']}, found {hashlib.sha256(data).hexdigest()}")
        shards.append(np.frombuffer(data, {"uint16": "<u2", "uint32": "<u4"}[manifest["dtype"]]))
    return np.concatenate(shards)
