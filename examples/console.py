"""What the demo prints, and how it runs commands: each is shown as a shell takes it, so that it can be run again by hand."""

import os
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

WIDTH = 140


class CommandError(Exception):
    """A command ended with another exit code than it should have."""


def say(text: str) -> None:
    """Print at once, so that our lines and those of the processes we start keep their order."""
    print(text, flush=True)


def say_command(command: Sequence[object]) -> None:
    """Print a command; paths below the current folder are shown relative to it."""
    here = f"{Path.cwd()}{os.sep}"
    say("$ " + shlex.join(str(part).replace(here, "") for part in command))


def run(*command: object, expected: Sequence[int] = (0,), rows: int | None = None) -> int:
    """Print a command, run it, print its output (of each table the first `rows` only), and return its exit code; raises CommandError."""
    parts = [str(part) for part in command]
    say_command(parts)
    done = subprocess.run(parts, stdout=subprocess.PIPE if rows else None, text=True)
    if rows:
        say("\n".join(first_rows(done.stdout.splitlines(), rows)))
    if done.returncode not in expected:
        raise CommandError(
            f"expected exit code {' or '.join(map(str, expected))} of this command, found {done.returncode}: {shlex.join(parts)}"
        )
    return done.returncode


def first_rows(printed: Sequence[str], most: int) -> Iterator[str]:
    """Yield the lines of tables, cut to WIDTH, without the rows of each that come after the first `most`; how many those are is said."""
    for in_table, lines in groupby(printed, lambda line: line.startswith("  ") and not line.isspace()):
        found = [line[:WIDTH].rstrip() for line in lines]
        yield from found[:most] if in_table else found
        if in_table and len(found) > most:
            yield f"  ... and {len(found) - most} more rows"


def output(*command: object) -> bytes:
    """Print a command, run it, and return what it prints; raises CommandError."""
    say_command(command)
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE)
    if done.returncode:
        raise CommandError(f"expected exit code 0 of this command, found {done.returncode}: {shlex.join(map(str, command))}")
    return done.stdout
