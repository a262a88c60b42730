"""Runs the reproductions of faults that the suite found in released loaders, and writes docs/found.md from them.

    make found, or make found FOUND=torchdata, for those whose names begin so

Each script in this folder uses the loader alone, in the environment that conformance/peers.toml gives it, prints what it expected and what
it got, and ends with 0 where the fault shows itself, 1 where it does not. Its name begins with that of the peer. Its docstring is the text
of the page: the fault in one sentence, a paragraph on how it comes and what a user can do against it, and three fields, see FORMS.
"""

import argparse
import ast
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fivepoint.conformance.contract import Clause, clauses
from fivepoint.conformance.peers import Peer, peers

T = TypeVar("T")

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "found.md"
LIMIT = 300
"""Seconds that a reproduction may take."""
FORMS = {
    "Clause": ("C3.4, or several ids with commas between", r"[CDV]\d(\.\d+)?(, [CDV]\d(\.\d+)?)*"),
    "Promised": ('"a sentence of the documentation" (its address), or nothing; why', r'"[^"]+" \(https://[^\s()]+\)|nothing; .+'),
    "Upstream": (
        'an address, or not found (searched 2026-12-31: "words", "other words")',
        r'https://\S+[^.]|not found \(searched \d{4}-\d\d-\d\d: "[^"]+"(, "[^"]+")*\)',
    ),
}
"""The fields that end a docstring, one a line or several, in this order: what is expected of each, and its regular expression."""
LIBRARIES = {
    "accelerate": "accelerate",
    "datasets": "datasets",
    "grain": "grain",
    "litdata": "litdata",
    "megatron": "megatron-core",
    "megatron_cyclic": "megatron-bridge",
    "megatron_resume": "megatron-bridge",
    "mosaic": "mosaicml-streaming",
    "nanoset": "datatrove",
    "olmo_core": "ai2-olmo-core",
    "torch_sampler": "torch",
    "torchdata": "torchdata",
    "trainer": "transformers",
    "webdataset": "webdataset",
}
"""The library that a script is about, by how its name begins."""
INTRODUCTION = """# Faults found in released loaders

What the [suite](../conformance/README.md) proved, made as small as it goes: each script below uses the loader alone. `make found` runs
them all in the environments of [peers.toml](../conformance/peers.toml), and writes this page. What a loader's documentation disclaims is
no fault, and is not listed.
"""
PARTS = {
    True: ("Against a documented sentence", "Each of these contradicts the sentence that it quotes."),
    False: (
        "Where the documentation says nothing",
        "These break a clause of the [contract](../spec/contract.md), and no sentence that their libraries promise.",
    ),
}
"""Heading and first sentence of each part of the page, by whether there is a promise."""


@dataclass(frozen=True)
class Reproduction:
    """A script, the peer and the package that it is about, and what its docstring says."""

    path: Path
    peer: Peer
    package: str
    title: str
    text: str
    clauses: tuple[Clause, ...]
    promised: str
    upstream: str

    @property
    def library(self) -> str:
        """The library and its version."""
        return self.package.replace("==", " ")

    @property
    def heading(self) -> str:
        """The title as the page has it."""
        return self.title.rstrip(".")

    @property
    def contradicts(self) -> bool:
        """Whether a sentence of the documentation promises the contrary."""
        return not self.promised.startswith("nothing;")


def longest(path: Path, begins: dict[str, T], what: str) -> T:
    """Return the value of the longest key that the name of a script begins with; raises ValueError."""
    fitting = [begin for begin in begins if path.stem.startswith(begin)]
    if not fitting:
        raise ValueError(f"expected a name that begins with that of {what} ({', '.join(begins)}), found {path.name}")
    return begins[max(fitting, key=len)]


def fields(paragraph: str, where: str) -> dict[str, str]:
    """Return the fields in the last paragraph of a docstring by name, each on one line; raises ValueError."""
    parts = re.split(r"^(\w+): ", paragraph, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], (" ".join(part.split()) for part in parts[2::2]), strict=True))
    if parts[0] or list(found) != list(FORMS) or len(parts) != 1 + 2 * len(FORMS):
        names = ", ".join(parts[1::2]) or "none"
        raise ValueError(f"expected the fields {', '.join(FORMS)} at the end of the docstring of {where}, and nothing after, found {names}")
    for name, (expected, form) in FORMS.items():
        if not re.fullmatch(form, found[name]):
            raise ValueError(f"expected {name}: {expected}; found {found[name]!r} in the docstring of {where}")
    return found


def read(path: Path) -> Reproduction:
    """Return what a script says; raises ValueError where something is missing, or of another form."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    title, *paragraphs = docstring.split("\n\n")
    if not re.fullmatch(r".+\.", title) or len(paragraphs) < 2:
        raise ValueError(f"expected a sentence in one line, a paragraph, and the fields, found {docstring[:60]!r} in {path.name}")
    found = fields(paragraphs.pop(), path.name)
    ids = found["Clause"].split(", ")
    if unknown := [each for each in ids if each not in clauses()]:
        raise ValueError(f"expected ids of clauses in spec/contract.md, found {', '.join(unknown)} in the docstring of {path.name}")
    peer = longest(path, {name.replace("-", "_"): peer for name, peer in peers().items()}, "a peer")
    library = longest(path, LIBRARIES, "a library")
    (package,) = [each for each in peer.installed if each.partition("==")[0] == library]
    text = "\n\n".join(paragraphs)
    return Reproduction(path, peer, package, title, text, tuple(clauses()[each] for each in ids), found["Promised"], found["Upstream"])


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


def anchor(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def linked(upstream: str) -> str:
    """Return where a fault is known upstream as a link of few words, a dash where it is not."""
    thread = re.fullmatch(r"https://github\.com/[\w.-]+/([\w.-]+)/\w+/(\d+)", upstream)
    return f"[{thread[1]}#{thread[2]}]({upstream})" if thread else f"[yes]({upstream})" if upstream.startswith("https") else "–"


def row(each: Reproduction) -> str:
    """Return the row of a fault in the table at the top of the page."""
    ids = ", ".join(clause.id for clause in each.clauses)
    return f"| [{each.heading}](#{anchor(each.heading)}) | {each.library} | {ids} | {linked(each.upstream)} |\n"


def description(each: Reproduction) -> str:
    """Return the part of the page about a fault, but for what its script printed."""
    cited = ", ".join(
        f"[{clause.id}](../spec/contract.md#{anchor(f'{clause.id} {clause.title}')}) {clause.title}" for clause in each.clauses
    )
    promised = re.sub(r"\((https://[^)]+)\)$", r"(<\1>)", each.promised)
    upstream = f"<{each.upstream}>" if each.upstream.startswith("https") else each.upstream
    return (
        f"\n### {each.heading}\n\n{each.text}\n\n- Clause: {cited}\n- Promised: {promised}\n- Upstream: {upstream}\n"
        f"- Script: [{each.path.name}](../found/{each.path.name})\n"
    )


def page(said: dict[Reproduction, str]) -> str:
    """Return the page of these faults with what their scripts printed."""
    order = sorted(said, key=lambda each: (not each.contradicts, each.library, each.path.name))
    text = f"{INTRODUCTION}\n| fault | library | clause | known upstream |\n|---|---|---|---|\n{''.join(map(row, order))}"
    part: bool | None = None
    library = ""
    for each in order:
        if each.contradicts != part:
            part, library = each.contradicts, ""
            heading, sentence = PARTS[part]
            text += f"\n# {heading}\n\n{sentence}\n"
        if each.library != library:
            library = each.library
            others = ", ".join(package for package in each.peer.installed if package != each.package)
            text += f"\n## {library}\n\nRun with {others}.\n" if others else f"\n## {library}\n"
        text += f"{description(each)}\n```\n{said[each]}\n```\n"
    return text


def main() -> None:
    """Run the scripts that are asked for; the page is written where all were."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("begins", nargs="?", default="", help="run those whose names begin so")
    asked = parser.parse_args().begins
    chosen = [each for each in reproductions() if each.path.name.startswith(asked)]
    if not chosen:
        sys.exit(f"expected the beginning of a script's name, found {asked!r}: {', '.join(each.path.stem for each in reproductions())}")
    said, missing = {}, 0
    for each in chosen:
        begun = time.monotonic()
        code, said[each] = shown(each)
        missing += code != 0
        reason = "" if code == 0 else f" ({said[each].splitlines()[-1] if said[each] else code})"
        verdict = "shows itself" if code == 0 else "does not show itself"
        print(f"{each.path.stem}: {verdict} in {each.library}, after {time.monotonic() - begun:.0f} s{reason}", flush=True)
    if missing:
        sys.exit(f"{missing} of {len(chosen)} faults did not show themselves")
    if not asked:
        PAGE.write_text(page(said), encoding="utf-8")


if __name__ == "__main__":
    main()
