"""All data-parallel ranks of a job as loaders in one process, held step by step to the expected run."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from independent.run import Sample, walk
from independent.steps import deal, size_at
from plans import corpora_of, length_of

from fivepoint.reference.loader import Loader
from fivepoint.reference.plan import Plan


@dataclass(frozen=True)
class Layout:
    """How a step is dealt out; `accumulation` is None where the plan has batch sizes."""

    dp_size: int
    micro_batch: int
    accumulation: int | None = None


class Expected:
    """The run of a plan by the second implementation."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.length = length_of(plan)
        self.run: list[Sample] = walk(plan, corpora_of(plan))
        self.sources = [source["name"] for source in plan["sources"]]

    def batch_size(self, consumed: int, layout: Layout) -> int:
        """Return B of the step that begins at `consumed`."""
        if "batch_sizes" in self.plan:
            return size_at(consumed, self.plan["batch_sizes"])
        return layout.dp_size * layout.micro_batch * (layout.accumulation or 1)

    def micro_batches(self, consumed: int, layout: Layout, dp_rank: int) -> list[dict[str, Any]]:
        """Return what one rank gets in the step that begins at `consumed`."""
        step = deal(consumed, self.batch_size(consumed, layout), layout.dp_size, layout.micro_batch)
        return [self.batch(positions) for positions in step[dp_rank]]

    def batch(self, positions: list[int]) -> dict[str, Any]:
        """Return the rows at these positions."""
        samples = [self.run[position] for position in positions]
        return {
            "positions": positions,
            "sources": [self.sources.index(sample.source) for sample in samples],
            "windows": [sample.window for sample in samples],
            "inputs": [list(sample.tokens[:-1]) for sample in samples],
            "targets": [list(sample.tokens[1:]) for sample in samples],
        }


class Ranks:
    """The loaders of one job, opened with one plan and, after a restart, one state."""

    def __init__(self, plan: dict[str, Any], layout: Layout, state: dict[str, Any] | None = None) -> None:
        opened = Plan.from_json(plan)
        self.layout = layout
        self.loaders = [
            Loader(opened, rank, layout.dp_size, layout.micro_batch, layout.accumulation, checkpoint=state)
            for rank in range(layout.dp_size)
        ]

    def serve(self) -> list[Iterator[Any]] | None:
        """Begin a step on every rank and return its micro-batches, or None where all ranks say that the run is over."""
        steps = [next(loader, None) for loader in self.loaders]
        ended = {step is None for step in steps}
        assert len(ended) == 1, "some ranks have a step more than others"
        return None if ended == {True} else [iter(step) for step in steps]

    def commit(self, ranks: int | None = None) -> None:
        """Commit the step on the first `ranks` ranks, on all where none is given."""
        for loader in self.loaders[:ranks]:
            loader.commit()


def check_step(expected: Expected, ranks: Ranks, consumed: int, taken: list[int] | None = None) -> None:
    """Serve one step and hold it to the expected one; of each rank only `taken` micro-batches, where that is given."""
    served = ranks.serve()
    assert served is not None, f"the run ends at {consumed}, before a step that fits"
    for rank, batches in enumerate(served):
        wanted = expected.micro_batches(consumed, ranks.layout, rank)
        count = len(wanted) if taken is None else min(taken[rank], len(wanted))
        for number in range(count):
            actual = as_lists(next(batches))
            assert actual == wanted[number], f"rank {rank}, micro-batch {number} of the step at {consumed}"
        if taken is None:
            assert next(batches, None) is None, f"rank {rank} has a micro-batch too many in the step at {consumed}"


def as_lists(batch: Any) -> dict[str, Any]:
    """Return a batch as plain lists; tokens must be signed 64-bit integers."""
    assert str(batch.inputs.dtype) == str(batch.targets.dtype) == "int64"
    return {name: getattr(batch, name).tolist() for name in ("positions", "sources", "windows", "inputs", "targets")}


def check_to_end(expected: Expected, ranks: Ranks, consumed: int) -> int:
    """Hold every remaining step to the expected run, then its end, and return where it ended."""
    while consumed + (size := expected.batch_size(consumed, ranks.layout)) <= expected.length:
        check_step(expected, ranks, consumed)
        ranks.commit()
        consumed += size
        assert [loader.consumed for loader in ranks.loaders] == [consumed] * ranks.layout.dp_size
    assert ranks.serve() is None, f"a step at {consumed} that does not fit the run of {expected.length}"
    assert all(loader.complete for loader in ranks.loaders)
    return consumed


def state_at(plan: dict[str, Any], consumed: int) -> dict[str, Any]:
    """Return the state of a run that stands at `consumed`, as JSON that went through a file."""
    ranks = Ranks(plan, Layout(1, 1))
    for _ in range(consumed):
        list(ranks.serve()[0])
        ranks.commit()
    return json.loads(json.dumps(ranks.loaders[0].state_dict()))


def served(loader: Loader, steps: int | None = None) -> list[list[int]]:
    """Return the positions of each of the next steps."""
    found = []
    for step in loader:
        found.append([position for batch in step for position in batch.positions.tolist()])
        loader.commit()
        if len(found) == steps:
            break
    return found
