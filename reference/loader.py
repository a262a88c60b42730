"""The loader: steps of micro-batches for one dp rank, and a state that is one number, `consumed` (A7; C2, C4)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

from ..errors import CheckpointError, UsageError
from . import checkpoint as state
from . import partition
from .batch import BatchReader, Step
from .plan import Plan


class Loader:
    """Serves the plan's positions to one dp rank, step by step. All tensor, pipeline and context parallel peers open it with the same
    `dp_rank`.

    `for step in loader: for batch in step: ...; loader.commit()`. It ends when no whole step is left; `complete` is then true.
    """

    def __init__(
        self,
        plan: Plan,
        dp_rank: int,
        dp_size: int,
        micro_batch: int,
        accumulation: int | None = None,
        checkpoint: Mapping[str, Any] | None = None,
        device: str = "cpu",
        boundaries: str | Iterable[str] | None = None,
        log: Callable[[dict[str, Any]], None] | None = None,
        override: str | None = None,
    ) -> None:
        """Open the corpora of the plan and, with `checkpoint` (a `state_dict`), go on where it stands.

        `accumulation` is derived where the plan has batch sizes, and 1 where neither says otherwise. `boundaries` names what a batch
        holds beside its tokens:
        any of "document_ids", "position_ids", "loss_mask", "cu_seqlens". `log` is called with each line of the run log (F5); give it on
        one rank only.
        `override` is the reason for going on from a checkpoint of another past, which is refused otherwise.

        Raises PlanError (BudgetError) for a plan that may not be run, CorpusError for data that is not the plan's, CheckpointError for
        a state that is not,
        UsageError for sizes that do not fit.
        """
        if not isinstance(plan, Plan):
            raise UsageError(f"expected a plan, as Plan.load(path) returns it, found {type(plan).__name__}")
        if str(device) != "cpu":
            raise UsageError(f'expected device="cpu", the only one that this loader serves, found {str(device)!r}')
        if log is not None and not callable(log):
            raise UsageError(f"expected a log that is called with each record, such as RunLog(path).write, found {type(log).__name__}")
        if not isinstance(override, str | None):
            raise UsageError(f"expected an override that says why, as text, found {override!r}")
        self.plan = plan
        layout = partition.expect_layout(plan.batch_sizes, dp_rank, dp_size, micro_batch, accumulation)
        self.dp_rank, self.dp_size, self.micro_batch, self._accumulation = layout
        plan.admit(self.dp_size * self.micro_batch * (self._accumulation or 1))
        self._log = log
        self._closed = False
        self._reader: Any = None
        self._step: Step | None = None
        self.consumed = self.steps = 0
        self._reader = self._open_reader(boundaries)
        if checkpoint is not None:
            self.load_state_dict(checkpoint, override)
        else:
            self._log_opening(None, ())

    def __iter__(self) -> Iterator[Step]:
        """Return the loader itself: iterating again goes on after the last committed step."""
        return self

    def __next__(self) -> Step:
        """Return the next step; raises UsageError while the last one is neither committed nor rolled back (C4.12), and once closed."""
        if self._closed:
            raise UsageError("expected an open loader, found one that was closed; open another from its state_dict()")
        if self._step is not None:
            raise UsageError(f"expected commit() or rollback() of step {self._step.number} before the next is asked for, found neither")
        batch_size = self.batch_size
        if self.consumed + batch_size > self.plan.length:
            raise StopIteration
        positions = partition.micro_batches(self.consumed, batch_size, self.dp_size, self.micro_batch, self.dp_rank)
        self._step = Step(self.steps + 1, self.consumed, batch_size, positions, self._reader.read)
        return self._step

    @property
    def batch_size(self) -> int:
        """B of the step that begins at `consumed`, in samples over all ranks."""
        planned = self.plan.batch_size(self.consumed)
        return self.dp_size * self.micro_batch * (self._accumulation or 1) if planned is None else planned

    @property
    def complete(self) -> bool:
        """Whether every whole step of the run was committed (C4.5)."""
        return self.consumed + self.batch_size > self.plan.length

    @property
    def unserved(self) -> int:
        """Positions after `consumed`: once `complete`, those at the run's end that do not fill a step."""
        return self.plan.length - self.consumed

    def commit(self, applied: bool = True) -> None:
        """Count the step as consumed. `applied=False` says that the optimizer skipped the update: it counts, and the log says so.

        Raises UsageError without a step, and where an applied step has micro-batches that nobody took. Where `log` raises, the step is
        counted and not in the log; a restart from the last checkpoint serves and logs it again.
        """
        step = self._step
        if step is None:
            raise UsageError("expected a step to commit, found none; ask for the next one first")
        if applied and step.remaining:
            raise UsageError(
                f"expected all {step.accumulation} micro-batches of step {step.number} to be taken before commit(), found "
                f"{step.remaining} left"
            )
        self.consumed += step.batch_size
        self.steps += 1
        self._step = None
        if self._log is not None:
            self._log(self._record(step, applied))

    def rollback(self) -> None:
        """Forget the step that was begun: the next one is the same again."""
        self._step = None

    def state_dict(self) -> dict[str, Any]:
        """Return the state after the last committed step (formats.md, F4): JSON values, the same on every rank."""
        return state.make(self.plan, self.consumed, self.steps)

    def load_state_dict(self, checkpoint: Mapping[str, Any], override: str | None = None) -> None:
        """Go on from a state; raises CheckpointError and leaves the loader as it was where the state is not of this plan's past."""
        if not isinstance(checkpoint, Mapping):
            raise CheckpointError(f"expected the dict that state_dict() returned, found {type(checkpoint).__name__}")
        self.consumed, self.steps, differs = state.accept(self.plan, dict(checkpoint), override)
        self._step = None
        self._log_opening(override if differs else None, differs)

    def close(self) -> None:
        """End the loader: it serves no more, and still says where it stands. The reference holds no threads and no files; the fast path
        does.
        """
        self._closed, self._step = True, None

    def __enter__(self) -> "Loader":
        """Return the loader, closed at the end of the `with` block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the loader."""
        self.close()

    def _open_reader(self, boundaries: str | Iterable[str] | None) -> Any:
        """Return what reads the batch of a range of positions: all that the fast path does otherwise."""
        return BatchReader(self.plan, boundaries)

    def _record(self, step: Step, applied: bool) -> dict[str, Any]:
        positions = range(step.first, step.first + step.batch_size)
        resolver = self.plan.resolver
        counts = Counter(resolver.draw(position)[0] for position in positions)
        phase = resolver.phase_of(step.first)
        return {
            "step": step.number,
            "consumed": self.consumed,
            "batch_size": step.batch_size,
            "dp_size": self.dp_size,
            "micro_batch": self.micro_batch,
            "plan_hash": self.plan.plan_hash,
            "prefix_hash": self.plan.prefix_hash(self.consumed),
            "phase": phase,
            "weights": self.plan.phases[phase].weights,
            "seq_len": self.plan.phases[phase].seq_len,
            "samples": {self.plan.sources[number].name: counts[number] for number in sorted(counts)},
            "applied": applied,
        }

    def _log_opening(self, override: str | None, differs: tuple[str, ...]) -> None:
        if self._log is None:
            return
        record = {
            "event": "opened",
            "step": self.steps,
            "consumed": self.consumed,
            "dp_size": self.dp_size,
            "micro_batch": self.micro_batch,
            "plan_hash": self.plan.plan_hash,
            "prefix_hash": self.plan.prefix_hash(self.consumed),
        }
        self._log(record if override is None else {**record, "override": override, "differs": list(differs)})
