"""The command `fivepoint`: one sub-command a capability."""

import errno
import io
import os
import sys
from typing import Annotated

import typer

from . import __version__
from .audit import commands as audit_commands
from .conformance import commands as conformance_commands
from .conformance.peer_commands import peers
from .corpus import commands as corpus_commands
from .errors import EndedEarlyError, FivepointError, OutputError

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fivepoint {__version__}")
        raise typer.Exit


@app.callback()
def fivepoint(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Feed language-model training runs by a contract of five points."""


app.command()(corpus_commands.prepare)
app.command()(corpus_commands.verify)
app.command()(audit_commands.plan)
app.command()(audit_commands.show)
app.command()(audit_commands.run)
app.command()(audit_commands.bench)
app.command()(audit_commands.replay)
app.command()(audit_commands.where)
app.command()(conformance_commands.conform)
app.command()(conformance_commands.report)
app.add_typer(peers, name="peers")


def main() -> None:
    """Run the command; the entry point of the installed script. What is refused is one sentence and an exit code."""
    _expect_streams()
    try:
        app()
    except FivepointError as error:
        typer.echo(f"fivepoint: {error}", err=True)
        raise SystemExit(error.exit_code) from None
    except SystemExit as left:
        if left.code == EndedEarlyError.exit_code:
            typer.echo("fivepoint: interrupted", err=True)
        raise
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}:
            raise
        # Every file has an error of its own that names it; what is left is what the command prints.
        typer.echo(f"fivepoint: cannot write the output: {error.strerror}; send it elsewhere, then run again", err=True)
        # Leaving as usual would flush the output once more, and fail once more.
        os._exit(OutputError.exit_code)


def _expect_streams() -> None:
    """Let no locale and no closed stream keep a command from its work: what they cannot show is escaped, or nowhere to be seen."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 open as long as the process is
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
