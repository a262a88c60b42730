"""Runs the reproductions of faults that the suite found in released loaders, and writes docs/found.md from them.

    make found, or make found FOUND=torchdata, for those whose names begin so

Each script in this folder uses the loader alone, in the environment that conformance/peers.toml gives it, prints what it expected and what
it got, and ends with 0 where the fault shows itself, 1 where it does not. Its docstring is the text of the page: the title, what happens,
and then the lines `Peer:`, `Clause:`, `Promised:` (where the documentation says otherwise) and `Upstream:` (whether it is known there).
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

from fivepoint.conformance.contract import clauses
from fivepoint.conformance.peers import peers

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "found.md"
FIELDS = ("Peer", "Clause", "Promised", "Upstream")
LIMIT = 300
"""Seconds that a reproduction may take."""
INTRODUCTION = """# Faults found in released loaders

What the [suite](../conformance/README.md) proved, made as small as it goes: each script below uses the loader alone. `make found` runs
them all in the environments of [peers.toml](../conformance/peers.toml), and writes this page. What a loader's documentation disclaims is
no fault, and is not listed.
"""


@dataclass(frozen=True)
class Reproduction:
    """A script, and what its docstring says."""

    path: Path
    title: str
    text: str
    fields: dict[str, str]

    @property
    def packages(self) -> str:
        """The loader's packages but for torch, with their versions."""
        return ", ".join(package for package in peers()[self.fields["Peer"]].packages if not package.startswith(("torch==", "numpy==")))


def read(path: Path) -> Reproduction:
    """Return what a script's docstring says; raises ValueError where something is missing."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    title, _, rest = docstring.partition("\n")
    fields = dict(re.findall(rf"^({'|'.join(FIELDS)}): (.+)$", rest, re.MULTILINE))
    text = re.sub(rf"^({'|'.join(FIELDS)}): .+\n?", "", rest, flags=re.MULTILINE).strip()
    if missing := [field for field in FIELDS if field not in fields]:
        raise ValueError(f"expected the lines {', '.join(FIELDS)} in the docstring of {path.name}, found none for {', '.join(missing)}")
    if fields["Peer"] not in peers() or fields["Clause"] not in clauses():
        raise ValueError(f"expected a peer and a clause in {path.name}, found {fields['Peer']} and {fields['Clause']}")
    return Reproduction(path, title.rstrip("."), text, fields)


def reproductions() -> list[Reproduction]:
    """Return all, by name."""
    return [read(path) for path in sorted(HERE.glob("*.py")) if path.name != Path(__file__).name]


def shown(each: Reproduction) -> tuple[int, str]:
    """Run a script in a folder of its own, and return its exit code and what it printed."""
    python = peers()[each.fields["Peer"]].python()
    with tempfile.TemporaryDirectory(prefix="found-") as folder:
        try:
            ended = subprocess.run([python, "-P", each.path], cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return -1, f"not ended within {LIMIT} s"
    return ended.returncode, ended.stdout.strip() or ended.stderr.strip()[-400:]


def entry(each: Reproduction, said: str) -> str:
    """Return the part of the page about one script, with what it printed."""
    clause = clauses()[each.fields["Clause"]]
    return (
        f"\n## {each.fields['Peer']}: {each.title}\n\n{each.text}\n\n"
        f"| | |\n|---|---|\n| version | {each.packages} |\n| clause | {clause.id} {clause.title} |\n"
        f"| promised | {each.fields['Promised']} |\n| upstream | {each.fields['Upstream']} |\n"
        f"| shown by | [{each.path.name}](../found/{each.path.name}) |\n\n```\n{said}\n```\n"
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
        table.add_row(each.fields["Peer"], each.title, "yes" if code == 0 else f"no: {said.splitlines()[-1] if said else code}")
    Console().print(table)
    if missing:
        sys.exit(f"{missing} of {len(chosen)} faults did not show themselves")
    if not asked:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
