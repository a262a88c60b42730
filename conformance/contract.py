"""The clauses that checks cite: the sentences of spec/contract.md, and the three MUSTs of a driver. They are written nowhere else."""

import re
from dataclasses import dataclass
from functools import cache

from .. import spec
from .driver import MUSTS

CLAUSE = re.compile(r"^## (?P<id>[CD]\d\.\d+) (?P<title>.+)\n(?P<sentence>.+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Clause:
    """One demand: its id, its heading, and its one sentence with MUST or SHOULD."""

    id: str
    title: str
    sentence: str

    @property
    def must(self) -> bool:
        """Whether it says MUST."""
        return "MUST" in self.sentence


@cache
def clauses() -> dict[str, Clause]:
    """Return every clause by its id, in the contract's order; those of a driver come first."""
    driver = {must: Clause(must, "Driver", sentence) for must, sentence in MUSTS.items()}
    return driver | {found["id"]: Clause(**found.groupdict()) for found in CLAUSE.finditer(spec.text("contract.md"))}
