"""The command `fivepoint conform` inside the test's process: what it prints, and its exit code."""

from dataclasses import dataclass

from typer.testing import CliRunner

from fivepoint.cli import app
from fivepoint.errors import FivepointError

BROKEN = "fivepoint.conformance.broken.c2:EveryRankReadsTheSame"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str


def conform(*words: object) -> Ended:
    """Run `fivepoint conform` with these words, where failing cases go unless they say so being the current folder."""
    done = CliRunner().invoke(app, ["conform", *map(str, words)])
    if isinstance(done.exception, FivepointError):
        return Ended(done.exception.exit_code, str(done.exception))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ended(done.exit_code, done.output)
