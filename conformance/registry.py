"""The checks: each knows its clause, what it needs of a loader, the faults it sees, its cases and how it judges them."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .bench import Bench
from .case import Case

QUICK, FULL = "quick", "full"

TIMED = ("C4.10", "C5.1", "C5.4", "C5.5")
"""Clauses with SHOULD about time and bytes."""

Cases = Callable[["Scale"], Iterable[Case]]
Judge = Callable[[Bench, Case], None]


@dataclass(frozen=True)
class Scale:
    """How much is asked of a check: `quick` in seconds, `full` in minutes. `random` is seeded for each check, so that it is repeatable."""

    mode: str
    random: random.Random

    @property
    def full(self) -> bool:
        """Whether there is time for many cases."""
        return self.mode == FULL


@dataclass(frozen=True)
class Check:
    """One check of one clause. Its judge raises Broken, or NotApplicable; it returns where the clause held on the case."""

    clause: str
    name: str
    needs: frozenset[str]
    faults: tuple[int, ...]
    cases: Cases
    judge: Judge
    judges_trace: bool = False
    """Whether the judge is sound on any recorded trace, whatever its case: it takes the steps as they are, and asks for nothing else."""

    @property
    def id(self) -> str:
        """Return the clause and the name: what the command line, reports and expectations call the check."""
        return f"{self.clause}/{self.name}"

    @property
    def timed(self) -> bool:
        """Whether a busy machine can break it for any loader."""
        return self.clause in TIMED

    @property
    def measures(self) -> bool:
        """Whether it measures time, memory, bytes or what runs on, in cases that are large enough for it."""
        return self.timed or self.clause.startswith("C5")


CHECKS: dict[str, Check] = {}


def check(
    clause: str, name: str, cases: Cases, needs: str = "", faults: Iterable[int] = (), judges_trace: bool = False
) -> Callable[[Judge], Judge]:
    """Register the decorated judge as a check of `clause`; `needs` names promises, `faults` the faults of the field that it sees."""

    def register(judge: Judge) -> Judge:
        made = Check(clause, name, frozenset(needs.split()), tuple(faults), cases, judge, judges_trace)
        if made.id in CHECKS:
            raise ValueError(f"expected one check of the name {made.id}, found two")
        CHECKS[made.id] = made
        return judge

    return register
