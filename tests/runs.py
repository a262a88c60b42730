"""A small run for the tests of commands: corpora, a TOML file, its plan, and the command itself as a subprocess."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from corpora import Serial, write_corpus

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


def fivepoint(*arguments: object, cwd: Path | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command `fivepoint`; its output is captured."""
    command = [sys.executable, "-m", "fivepoint.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, **options)


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


def refusal(exit_code: int, *arguments: object, cwd: Path) -> str:
    """Run a command that is refused, and return its one sentence."""
    done = fivepoint(*arguments, cwd=cwd)
    assert done.returncode == exit_code, f"exit code {done.returncode}: {done.stdout}{done.stderr}"
    assert done.stdout == "" and "Traceback" not in done.stderr
    assert done.stderr.startswith("fivepoint: ") and done.stderr.count("\n") == 1, done.stderr
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
