"""Write the golden vectors, or check them: `python -m fivepoint.reference.vectors [--check] [--folder FOLDER] [NAME ...]`."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from ... import spec
from ..files import write_whole
from .catalogue import FILES
from .layout import text


def main() -> int:
    """Return the exit code: 1 where a file is not what the reference gives, or the reference contradicts what is known."""
    parser = argparse.ArgumentParser(prog="python -m fivepoint.reference.vectors", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"the files: {', '.join(FILES)} (default: all)")
    parser.add_argument("--check", action="store_true", help="compare the files with what the reference gives, and write nothing")
    parser.add_argument("--folder", type=Path, default=Path(str(spec.__file__)).parent / "vectors", help="where the files are")
    options = parser.parse_args()
    for name in options.names:
        if name not in FILES:
            parser.error(f"expected names among {', '.join(FILES)}, found {name!r}")
    failures = 0
    for name in options.names or FILES:
        path = options.folder / f"{name}.json"
        try:
            content = FILES[name].content()
        except AssertionError as reason:
            print(f"{path}: {reason}", file=sys.stderr)
            failures += 1
            continue
        if not options.check:
            write_whole(path, text(content).encode("ascii"))
            print(f"{path}: {len(content['cases'])} cases")
        elif difference := compare(path, content):
            print(f"{path}: {difference}; `make vectors` writes what the reference gives", file=sys.stderr)
            failures += 1
    if options.check:
        for path in sorted(set(options.folder.glob("*.json")) - {options.folder / f"{name}.json" for name in FILES}):
            print(f"{path}: expected only {', '.join(FILES)}, found a file that no algorithm makes; remove it", file=sys.stderr)
            failures += 1
    return 1 if failures else 0


def compare(path: Path, content: dict[str, Any]) -> str:
    """Say in what the file departs from `content`, empty where it does not, byte for byte."""
    try:
        found = path.read_bytes()
    except OSError as reason:
        return f"cannot be read, {reason.strerror}"
    if found == text(content).encode("ascii"):
        return ""
    try:
        present = json.loads(found)
        before, after = ({case["id"]: case for case in value["cases"]} for value in (present, content))
    except (ValueError, KeyError, TypeError):
        return "is not a file of golden vectors"
    differing = [f"{case} is missing" for case in after if case not in before]
    differing += [f"{case} is not known" for case in before if case not in after]
    for case in after:
        fields = [field for field in after[case] if field in before.get(case, after) and before[case][field] != after[case][field]]
        fields += sorted(before.get(case, after[case]).keys() ^ after[case].keys())
        if fields:
            differing.append(f"{case} differs in {', '.join(fields)}")
    return "; ".join(differing) or "the cases are the same, and the order, the head or the layout is not"


if __name__ == "__main__":
    sys.exit(main())
