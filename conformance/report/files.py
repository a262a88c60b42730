"""Files of a report: they appear whole or not at all."""

import hashlib
import re
from pathlib import Path

from ...reference.files import write_whole, written
from ..verdict import Finding
from . import Outcome


def case_folder(folder: Path, loader: str, seed: int) -> Path:
    """Return the folder for the cases of one loader and seed: what another run found is not overwritten."""
    name = re.sub(r"[^A-Za-z0-9_.+-]+", "_", loader.replace(":", "."))[:80]
    if name != loader.replace(":", "."):
        name += f"-{hashlib.sha256(loader.encode(errors='replace')).hexdigest()[:6]}"
    return folder / name / f"seed-{seed}"


def case_path(folder: Path, finding: Finding) -> Path:
    """Return the file of a finding's case in a folder: the check's name."""
    return folder / f"{finding.check.replace('/', '-')}.json"


def case_files(folder: Path, outcome: Outcome) -> dict[str, Path]:
    """Return the files of the cases that fail, by check, in a folder for those of all loaders."""
    own = case_folder(folder, outcome.loader, outcome.seed)
    return {finding.check: case_path(own, finding) for finding in outcome.broken if finding.case}


def write_case(path: Path, finding: Finding) -> None:
    """Write the case of a finding, and its folder where there is none; raises OutputError."""
    with written(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, (finding.case + "\n").encode())
