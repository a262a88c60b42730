"""The repository itself: its links, its Makefile, its floors, and what its files must not say."""

import ast
import configparser
import os
import re
import subprocess
from pathlib import Path, PurePosixPath

import pytest
from checkout import ROOT, tracked

pytestmark = pytest.mark.checkout

FILES = tracked()
FOLDERS = {str(parent) for path in FILES for parent in PurePosixPath(path).parents}
TOP_FOLDERS = {path.split("/")[0] for path in FILES if "/" in path}
DOCUMENTS = tracked("*.md")

FORBIDDEN = {
    r"(?<![\w.~-])/(work|root|home|Users)/": "a path of one machine",
    r"\b(pypi\.org|pythonhosted\.org|npmjs\.(org|com)|deb\.debian\.org)\b": "the host of a package registry",
    r"^(<<<<<<<|>>>>>>>) ": "a merge conflict",
}


def prose(document: str) -> str:
    """Return the document without its fenced blocks, where nothing is a link."""
    return re.sub(r"^```.*?^```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(document: str) -> set[str]:
    """Return the anchors of the document: explicit ids, and those that are made of headings."""
    text = prose(document)
    headings = re.findall(r"^#+ +(.+?) *$", text, flags=re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def in_repository(path: Path) -> str:
    """Return a path as git names it, with `..` resolved; raises ValueError outside the repository."""
    return PurePosixPath(Path(os.path.normpath(path)).relative_to(ROOT)).as_posix()


def test_links_lead_somewhere():
    astray = []
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)", prose(document)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            found = in_repository((ROOT / document).parent / path) if path else document
            if found not in FOLDERS and found not in FILES:
                astray.append(f"{document} links to {target}, which is no tracked file")
            elif anchor and found.endswith(".md") and anchor not in anchors(found):
                astray.append(f"{document} links to {target}, and {found} has no such anchor")
    assert not astray, "\n".join(astray)


def test_paths_in_the_text_exist():
    astray = []
    for document in DOCUMENTS:
        for path in re.findall(r"`(?:\./)?([\w.*-]+/[\w./*-]*)`", prose(document)):
            if path.split("/")[0] not in TOP_FOLDERS or not (path.endswith("/") or PurePosixPath(path).suffix):
                continue
            if not any(PurePosixPath(known).match(path) for known in [*FILES, *FOLDERS]):
                astray.append(f"{document} speaks of `{path}`, which is not in the repository")
    assert not astray, "\n".join(astray)


def test_no_file_says_what_it_must_not():
    astray = []
    for path in FILES:
        if path == in_repository(Path(__file__)):
            continue
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for pattern, meaning in FORBIDDEN.items():
            for found in re.finditer(pattern, text, flags=re.MULTILINE):
                line = text.count("\n", 0, found.start()) + 1
                astray.append(f"{path}:{line} holds {meaning}: {found.group()}")
    assert not astray, "\n".join(astray)


def test_make_alone_explains_every_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.+)$", makefile, flags=re.MULTILINE).group(1).split()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    shown = subprocess.run(["make"], cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout
    for target in targets:
        assert re.search(rf"^  make {target} +\S.*\n +example: make", shown, flags=re.MULTILINE), f"{target} is missing:\n{shown}"


def test_setup_py_and_the_import_contracts_know_the_same_floors():
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    (floors,) = [ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "FLOORS"]
    linter = configparser.ConfigParser()
    linter.read(ROOT / "importlinter.ini", encoding="utf-8")
    layers = linter["importlinter:contract:floors"]["layers"].split()
    assert sorted(layers) == sorted([*floors, "cli", "errors"])


def test_setup_py_stays_short():
    assert len((ROOT / "setup.py").read_text(encoding="utf-8").splitlines()) < 60
