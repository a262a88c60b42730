"""A small run for the tests of commands: corpora, a TOML file, its plan, and the command itself as a subprocess."""

import json
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from corpora import Serial, write_corpus

from fivepoint.cli import main
from fivepoint.errors import FivepointError
from fivepoint.reference.schema import validate

RUN = """
seed = 5
seq_len = 8
samples = 230
global_batch = 12

[sources.books]
union = ["corpora/novels", "corpora/poems"]
[sources.web]
path = "corpora/web"
[sources.wiki]
path = "corpora/wiki"
max_epochs = 6
repeats_signed_off = "the tests"

[[phases]]
until = "50%"
weights = { books = 0.3, web = 0.6, wiki = 0.1 }
[[phases]]
until = "100%"
weights = { books = 0.5, wiki = 0.5 }

[[skips]]
at = 40
count = 7
"""


def process(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command `fivepoint` as a person does; its output is captured."""
    command = [sys.executable, "-m", "fivepoint.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def fivepoint(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command `fivepoint` in this process, which takes a tenth of the time."""
    command = ["fivepoint", *map(str, arguments)]
    out, err, code = StringIO(), StringIO(), 0
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", command):
        try:
            main()
        except SystemExit as left:
            code = left.code or 0
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


def answer(schema: str, *arguments: object, cwd: Path) -> Any:
    """Run a command with --json, and return the one value that it prints, which fits the schema."""
    done = fivepoint(*arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    validate(value, schema, " ".join(map(str, arguments)), FivepointError)
    return value


def steps(*arguments: object, cwd: Path) -> list[dict[str, Any]]:
    """Run `fivepoint run --json`, and return its lines, each of which fits the schema."""
    done = fivepoint("run", *arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for line in found:
        validate(line, "command_run", "run", FivepointError)
    return found


def refusal(exit_code: int, *arguments: object, cwd: Path, table: bool = False) -> str:
    """Give a command what it refuses, and return its one sentence, with a table below it where one is due."""
    return refused(exit_code, fivepoint(*arguments, cwd=cwd), table)


def refused(exit_code: int, done: subprocess.CompletedProcess[str], table: bool = False) -> str:
    """Return what a refused command said, after comparing its exit code and looking for a traceback, or output."""
    assert done.returncode == exit_code, f"expected exit code {exit_code}, found {done.returncode}: {done.stdout}{done.stderr}"
    assert done.stdout == "" and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.startswith("fivepoint: ") and (table or done.stderr.count("\n") == 1), done.stderr
    return done.stderr


def prepare_run(folder: Path) -> Path:
    """Write corpora of serial numbers and the run's TOML file into `folder`, compile the plan beside it, and return the folder."""
    serial = Serial()
    lengths = {
        "novels": [300, 0, 1, 250],
        "poems": [20] * 15,
        "web": [9, 40, 8, 0, 120, 7, 1, 1, 300, 64],
        "wiki": [50, 33, 100],
    }
    for name, found in lengths.items():
        write_corpus(folder / "corpora" / name, serial.documents(found), dtype="uint32" if name == "wiki" else "uint16", shard_bytes=700)
    (folder / "run.toml").write_text(RUN)
    done = fivepoint("plan", "run.toml", "-o", "plan.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder
