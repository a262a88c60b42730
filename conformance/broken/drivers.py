"""Drivers that do not do what DRIVERS.md asks of them (V1 to V3), whatever their loader does."""

import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..driver import PROMISES, Layout, MicroBatch, Refusal, Settings
from .c4 import RESUMED
from .honest import Honest

HOUR = 3600.0


class Hangs(Honest):
    """Waits for ever for its second step."""

    clause = "V2"

    def next(self) -> list[MicroBatch] | None:
        """Return the first step, and no other."""
        if self.consumed:
            time.sleep(HOUR)
        return super().next()


class HangsOnClose(Honest):
    """Waits for ever for a worker when it is closed."""

    clause = "V2"

    def close(self) -> None:
        """Wait."""
        time.sleep(HOUR)


class Dies(Honest):
    """Ends its process at the second step."""

    clause = "V2"

    def next(self) -> list[MicroBatch] | None:
        """Return the first step, and no other."""
        if self.consumed:
            sys.exit(3)
        return super().next()


class Raises(Honest):
    """Raises an error at the second step."""

    clause = "V2"

    def next(self) -> list[MicroBatch] | None:
        """Return the first step, and no other."""
        if self.consumed:
            raise KeyError("step")
        return super().next()


class CannotBeMade(Honest):
    """Raises an error before anything is asked of it."""

    clause = "V2"

    def __init__(self) -> None:
        raise ValueError("no device")


class WritesBesideTheCorpora(Honest):
    """Keeps its cache in the folder of the corpora, which belongs to others."""

    clause = "V2"

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and write."""
        super().build(corpus, workdir, settings, layout, states)
        (corpus / "cache").write_text("kept")


class WritesAboveItsFolder(Honest):
    """Keeps its cache beside the folder that it was given."""

    clause = "V2"

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, and write."""
        super().build(corpus, workdir, settings, layout, states)
        (workdir.parent / f"cache-of-{workdir.name}").write_text("kept")


class Changes(Honest):
    """Hands over something else than the loader's batches: `change` says what."""

    change: ClassVar[Any]

    def next(self) -> list[MicroBatch] | None:
        """Return the step, changed."""
        step = super().next()
        return None if step is None else self.change(step)


class GivesWholeWindows(Changes):
    """Gives the window of seq_len + 1 tokens as inputs, and leaves the shift to the trainer."""

    clause = "V1"
    change = staticmethod(lambda step: [{"inputs": np.concatenate([b["inputs"], b["targets"][:, -1:]], 1)} for b in step])


class GivesFloats(Changes):
    """Gives tokens as floating-point numbers."""

    clause = "V1"
    change = staticmethod(lambda step: [{name: array.astype(np.float32) for name, array in batch.items()} for batch in step])


class GivesObjects(Changes):
    """Gives rows of unequal length, as objects."""

    clause = "V1"
    change = staticmethod(lambda step: [{"inputs": np.array([[1, 2, 3], [4]], dtype=object)} for _ in step])


class GivesText(Changes):
    """Gives the step as text."""

    clause = "V1"
    change = staticmethod(str)


class GivesOneBatch(Changes):
    """Gives the first micro-batch itself, not a list."""

    clause = "V1"
    change = staticmethod(lambda step: step[0])


class GivesTooFew(Changes):
    """Leaves the last micro-batch of a step out where there are several."""

    clause = "V1"
    change = staticmethod(lambda step: step[:-1] or step)


class GivesNoInputs(Changes):
    """Names its arrays as it likes."""

    clause = "V1"
    change = staticmethod(lambda step: [{"tokens": batch["inputs"]} for batch in step])


class ServesTheFirstRankOnly(Honest):
    """Has nothing for any rank but the first."""

    clause = "C2.4"
    also = (
        "C1.3",
        "C1.10",
        "C2.2",
        "C2.3",
        "C2.5",
        "C2.6",
        "C3.1",
        "C3.2",
        "C4.1",
        "C4.2",
        "C4.3",
        "C4.4",
        "C4.5",
        "C4.6",
        "C4.9",
        "D0.1",
        "V1",
        "V3",
    )

    def over(self) -> bool:
        """Return whether this rank is told that the run is over."""
        return super().over() or self.layout.dp_rank > 0


class ClaimsToResume(Honest):
    """Declares that it resumes, and starts again from the beginning."""

    clause = "C4.1"
    also = (*RESUMED, "C3.6", "C4.7")

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Do nothing."""


class RefusesWorkers(Honest):
    """Declares workers, and refuses them."""

    clause = "V3"
    also = ("C3.2", "C4.1", "C4.2", "C4.3", "C4.5", "C5.3")

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Refuse more than none."""
        if layout.workers:
            raise Refusal("has no workers")
        super().build(corpus, workdir, settings, layout, states)


class PromisesWhatNobodyKnows(Honest):
    """Declares a promise that is none."""

    clause = "V3"
    promises = frozenset(PROMISES) | {"fast"}


class PromisesANumber(Honest):
    """Declares how many promises it makes, not which."""

    clause = "V3"
    promises = 5  # type: ignore[assignment] # which is the fault


class PromisesWithoutNames(Honest):
    """Declares promises that are not even text."""

    clause = "V3"
    promises = frozenset({1, ("resume",)})  # type: ignore[arg-type] # which is the fault


class HasNoStride(Honest):
    """Declares a stride that no window has."""

    clause = "V3"
    stride = "2L"


class DeclaresAnotherStride(Honest):
    """Declares windows that share no token, and serves windows that share one."""

    clause = "V3"
    stride = "L+1"
