"""The parts of a plan as plain records, to and from the JSON of formats.md, F3."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Corpus:
    """One tokenized collection as a plan pins it: hashes of its manifest and of its content, and its number of tokens."""

    name: str
    manifest: str
    content: str
    tokens: int

    def windows(self, grid: int) -> int:
        """Return the number of windows of `grid` + 1 tokens that start every `grid` tokens (D0.1)."""
        return (self.tokens - 1) // grid


@dataclass(frozen=True)
class Source:
    """What the mixture weighs: one corpus, or a union of several in the order listed."""

    name: str
    corpora: tuple[Corpus, ...]
    documents: str = "stored"
    windows: str = "permuted"

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Source":
        """Return the source that an entry of `sources` describes."""
        return cls(**{**value, "corpora": tuple(Corpus(**corpus) for corpus in value["corpora"])})

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `sources`."""
        return {**vars(self), "corpora": [dict(vars(corpus)) for corpus in self.corpora]}

    def window_count(self, grid: int) -> int:
        """Return n, the number of windows in one epoch."""
        return sum(corpus.windows(grid) for corpus in self.corpora)

    def locate(self, window: int, grid: int) -> tuple[Corpus, int]:
        """Return the corpus that holds `window` of the source, and the window's number within it."""
        for corpus in self.corpora:
            if window < corpus.windows(grid):
                return corpus, window
            window -= corpus.windows(grid)
        raise AssertionError(f"window {window} past the end of source {self.name!r}")


@dataclass(frozen=True)
class Phase:
    """A range of positions with one mixture: `length` samples of `seq_len` tokens, from windows on a grid of `grid` tokens."""

    length: int
    grid: int
    seq_len: int
    rule: str
    weights: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `phases`."""
        return {**vars(self), "weights": dict(self.weights)}


@dataclass(frozen=True)
class Budget:
    """How often a source may be repeated, and who signed off on what exceeds the rules of C1.5, C1.11 and D0.12."""

    max_epochs: int | None = None
    repeats_signed_off: str | None = None
    repeats_in_step_signed_off: str | None = None
    tokenizer_signed_off: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the entry of `budgets`, without what is not set."""
        return {key: value for key, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Span:
    """A run of tokens of one corpus: number of the first, and how many."""

    corpus: str
    first: int
    length: int


@dataclass(frozen=True)
class Sample:
    """What stands at a position: draw number `draw` of `source`, which is `offset` of its `epoch`, the window it maps to, and its
    tokens.
    """

    position: int
    phase: int
    source: str
    draw: int
    epoch: int
    offset: int
    window: int
    part: int
    spans: tuple[Span, ...]
