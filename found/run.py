"""Runs the reproductions of faults that the suite found in released loaders, and writes docs/found.md from them.

    make found, or make found FOUND=torchdata, for those whose names begin so

Each script in this folder uses the loader alone, in the environment that conformance/peers.toml gives it, prints what it expected and what
it got, and ends with 0 where the fault shows itself, 1 where it does not. Its name begins with that of the peer; its docstring is the text
of the page: the fault in one sentence, the clause, what the documentation promises and where, and whether the fault is known upstream.
"""

import argparse
import ast
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fivepoint.conformance.contract import Clause, clauses
from fivepoint.conformance.peers import Peer, peers

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "found.md"
LIMIT = 300
"""Seconds that a reproduction may take."""
INTRODUCTION = """# Faults found in released loaders

What the [suite](../conformance/README.md) proved, made as small as it goes: each script below uses the loader alone. `make found` runs
them all in the environments of [peers.toml](../conformance/peers.toml), and writes this page. What a loader's documentation disclaims is
no fault, and is not listed.
"""


@dataclass(frozen=True)
class Reproduction:
    """A script, the peer that it is about, and what its docstring says."""

    path: Path
    peer: Peer
    title: str
    text: str

    @property
    def cited(self) -> list[Clause]:
        """The clauses that are named."""
        named = re.findall(r"\b[CDV]\d(?:\.\d+)?\b", f"{self.title} {self.text}")
        return [clause for clause in clauses().values() if clause.id in named]

    @property
    def versions(self) -> str:
        """The packages of the environment, but for what every loader needs."""
        return ", ".join(package for package in self.peer.installed if not package.startswith(("torch==", "numpy==")))


def read(path: Path) -> Reproduction:
    """Return what a script says; raises ValueError where something is missing."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    title, _, text = docstring.partition("\n")
    begin = [peer for name, peer in peers().items() if path.stem.startswith(name.replace("-", "_"))]
    if not begin:
        raise ValueError(f"expected a name that begins with that of a peer ({', '.join(peers())}), found {path.name}")
    found = Reproduction(path, max(begin, key=lambda peer: len(peer.name)), title, text.strip())
    if not found.cited or "upstream" not in docstring.lower():
        raise ValueError(f"expected a clause, and whether the fault is known upstream, in the docstring of {path.name}")
    return found


def reproductions() -> list[Reproduction]:
    """Return all, by name."""
    return [read(path) for path in sorted(HERE.glob("[a-z]*.py")) if path != Path(__file__)]


def shown(each: Reproduction) -> tuple[int, str]:
    """Run a script in a folder of its own, and return its exit code and what it printed."""
    python = each.peer.python()
    with tempfile.TemporaryDirectory(prefix="found-") as folder:
        try:
            ended = subprocess.run([python, each.path], cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return -1, f"not ended within {LIMIT} s"
    return ended.returncode, ended.stdout.strip() or ended.stderr.strip()[-400:]


def entry(each: Reproduction, said: str) -> str:
    """Return the part of the page about one script, with what it printed."""
    cited = ", ".join(f"{clause.id} {clause.title}" for clause in each.cited)
    return (
        f"\n## {each.title.rstrip('.')}\n\n{each.text}\n\n[{each.path.name}](../found/{each.path.name}) shows it in an environment of "
        f"{each.versions}; {cited}:\n\n```\n{said}\n```\n"
    )


def main() -> None:
    """Run the scripts that are asked for; the page is written where all were."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("begins", nargs="?", default="", help="run those whose names begin so")
    asked = parser.parse_args().begins
    chosen = [each for each in reproductions() if each.path.name.startswith(asked)]
    if not chosen:
        sys.exit(f"expected the beginning of a script's name, found {asked!r}: {', '.join(each.path.stem for each in reproductions())}")
    table = Table("loader", "fault", "shows itself", title="faults in released loaders", title_justify="left")
    page, missing = INTRODUCTION, 0
    for each in chosen:
        code, said = shown(each)
        missing += code != 0
        page += entry(each, said)
        table.add_row(each.peer.name, each.title, "yes" if code == 0 else f"no: {said.splitlines()[-1] if said else code}")
    Console().print(table)
    if missing:
        sys.exit(f"{missing} of {len(chosen)} faults did not show themselves")
    if not asked:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
