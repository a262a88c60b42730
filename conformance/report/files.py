"""Files of a report: they appear whole or not at all."""

from pathlib import Path

from ...errors import OutputError
from ...reference.files import write_whole
from ..verdict import BROKEN, Finding


def write(path: Path, text: str) -> None:
    """Write a text, and the folder where there is none; raises OutputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise OutputError(f"cannot make the folder {path.parent}: {reason.strerror or reason}; correct the path or the rights") from reason
    write_whole(path, text.encode())


def write_case(folder: Path, finding: Finding) -> Path | None:
    """Write the case of a broken finding into a folder, under the check's name; None for a finding that has no case."""
    if finding.verdict != BROKEN or not finding.case:
        return None
    path = folder / f"{finding.check.replace('/', '-')}.json"
    write(path, finding.case + "\n")
    return path
