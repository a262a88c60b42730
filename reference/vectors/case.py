"""One case of a file of golden vectors, and what a file is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import FivepointError

REFUSALS = (FivepointError, ValueError, TypeError)
"""What the reference raises for an input that an implementation must refuse."""


@dataclass(frozen=True)
class Case:
    """Literal inputs under a stable id. `refused` says why they must be refused; `known` holds results from elsewhere.

    Those are printed in the specification, or worked out by hand or with another program: a wrong reference cannot replace them.
    """

    id: str
    comment: str
    inputs: Mapping[str, Any]
    refused: str = ""
    known: Mapping[str, Any] = field(default_factory=dict)

    def outcome(self, results: Callable[..., dict[str, Any]]) -> dict[str, Any]:
        """Return the case as its file holds it; raises AssertionError where the reference contradicts what is known."""
        try:
            found = results(**self.inputs)
        except REFUSALS as reason:
            if not self.refused:
                raise AssertionError(f"{self.id}: expected results, and the reference refused the inputs: {reason}") from reason
            found = {"refused": self.refused}
        except Exception as reason:
            raise AssertionError(f"{self.id}: the reference failed: {reason!r}") from reason
        else:
            if self.refused:
                raise AssertionError(f"{self.id}: expected a refusal ({self.refused}), and the reference gave {found}")
        for name, value in self.known.items():
            if found.get(name) != value:
                raise AssertionError(f"{self.id}: {name} is known to be {value}, and the reference gave {found.get(name)}")
        return {"id": self.id, "comment": self.comment, **self.inputs, **found}


@dataclass(frozen=True)
class VectorFile:
    """All cases of one algorithm, the clauses that they check, and the function from inputs to results."""

    of: str
    clauses: Sequence[str]
    cases: Sequence[Case]
    results: Callable[..., dict[str, Any]]

    def content(self) -> dict[str, Any]:
        """Return the JSON object of the file."""
        cases = [case.outcome(self.results) for case in self.cases]
        return {"format": "fivepoint-vectors", "version": 1, "of": self.of, "clauses": list(self.clauses), "cases": cases}
