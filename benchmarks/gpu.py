"""The native loader on a CUDA device: built, held to the contract, run under compute-sanitizer, measured beside what the device gives.

    make gpu-check

Each line is printed when it is there, and written to gpu.json with the others. Where there is no device it says so, and builds nothing.
It ends within eight minutes: what a part needs more than its time for is stopped, and a line says so.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpu_table import Row, together, written

ROOT = Path(__file__).resolve().parent.parent
NEEDED = {"torch": 2, "numpy": 1, "typer": 0, "rich": 13, "fastjsonschema": 2, "pybind11": 3, "ninja": 1, "setuptools": 77}
"""What it imports and builds with, and the first version that will do; docs/gpu.md lists the same."""
STAGES = [
    (100, ["build", "committed PTX"]),
    (290, ["conformance/V1/V2/V3/D0/C1/C2/C3", "conformance/C4", "conformance/C5", "sanitizers", "CUDA graph"]),
    (345, ["kernels"]),
    (375, ["transfers"]),
    (455, ["waits"]),
]
"""Seconds after the beginning at which parts are stopped; those of one stage run at once, and nothing runs beside what is measured. What
is left of eight minutes goes into finding the device, and into stopping."""
ROOM = 1 << 30
"""Bytes that a folder in memory must have free: the corpora take a quarter of them."""


def main() -> int:
    """Print every line as it comes; exit code 1 where something is broken or short, 2 where something to run it with is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=ROOT / "gpu.json", metavar="FILE", help="where the table goes")
    parts = [name for _, names in STAGES for name in names]
    parser.add_argument(
        "--only", action="append", choices=parts, metavar="PART", help=f"build, and run this part alone: {', '.join(parts)}"
    )
    parser.add_argument("--part", help=argparse.SUPPRESS)  # what a process of its own does
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)  # what sanitizers watch
    parser.add_argument("--device", default="cuda", help=argparse.SUPPRESS)
    parser.add_argument("--module", type=Path, help=argparse.SUPPRESS)  # in the place of the native part
    parser.add_argument("--planted", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        if options.module:
            put_in_place(options.module)
        import gpu_serve

        (gpu_serve.planted if options.planted else gpu_serve.serve)(options.device)
        return 0
    if options.part:
        bring(options.part, options.folder)
        return 0
    if importlib.util.find_spec("torch") and (none := without_device()):
        print(f"{none}: nothing was checked")
        return 0
    if lacking := missing():
        print(f"make gpu-check: expected {sys.executable} to have what it needs, found no {', no '.join(lacking)}", file=sys.stderr)
        return 2
    return checked(options.json, set(options.only or []))


def without_device() -> str:
    """Return a sentence where torch finds no CUDA device, or nothing."""
    import torch

    if torch.cuda.is_available() and torch.version.cuda:
        return ""
    return f"no CUDA device that torch {torch.__version__} can use was found"


def missing() -> list[str]:
    """Return what is not installed of NEEDED, or too old."""
    found = []
    for name, least in NEEDED.items():
        if name == "ninja" and shutil.which("ninja"):
            continue
        try:
            version = importlib.metadata.version(name) if importlib.util.find_spec(name) else ""
        except importlib.metadata.PackageNotFoundError:
            continue  # it is there, and does not say in which version
        if not version or int(version.split(".")[0]) < least:
            found.append(f"{name} from {least} on" if least else name)
    return found


def checked(table: Path, only: set[str]) -> int:
    """Run the parts, and return the exit code; who ends it ends them."""
    begun = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    about = facts()
    print(f"{about['device']}, driver {about['driver'] or 'unknown'}, torch {about['torch']}, CUDA {about['cuda']}", flush=True)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        print(f"corpora of 250 MB go to {folder}", flush=True)
        for until, names in STAGES:
            parts = {
                name: [sys.executable, __file__, "--part", name, "--folder", folder]
                for name in names
                if not only or name in only or name == "build"
            }
            for row in together(parts, begun + until, environment()):
                rows.append(row)
                print(row, flush=True)
                written(table, {**about, "seconds": round(time.monotonic() - begun)}, rows)
            if any(row.short and row.what == "build" for row in rows):
                break
    short = sum(row.short for row in rows)
    print(f"{len(rows)} lines, {short} short, in {time.monotonic() - begun:.0f} s; written to {table}")
    return int(bool(short))


def environment() -> dict[str, str]:
    """Return this process's, in which fivepoint is the checkout."""
    path = filter(None, [str(ROOT / ".path"), os.environ.get("PYTHONPATH")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def bring(part: str, folder: Path) -> None:
    """Print the rows of a part, JSON a line, on what was standard output; whatever else prints there goes where errors go."""
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, *arguments = part.split("/")
    module = {"CUDA graph": "gpu_serve", "kernels": "gpu_speed", "transfers": "gpu_speed", "waits": "gpu_speed"}.get(name, "gpu_checks")
    rows = getattr(importlib.import_module(module), name.replace(" ", "_").lower())(folder, *arguments)
    for row in rows:
        print(json.dumps(asdict(row)), file=lines, flush=True)


def put_in_place(module: Path) -> None:
    """Let fivepoint take this file for its native part."""
    spec = importlib.util.spec_from_file_location("fivepoint.fastpath._C", module)
    assert spec is not None and spec.loader is not None
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[spec.name])


def facts() -> dict[str, Any]:
    """Return what the table is about: device, driver, versions, date, command."""
    import torch

    driver = ""
    if program := shutil.which("nvidia-smi"):
        command = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
        try:
            driver = subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip().partition("\n")[0]
        except subprocess.TimeoutExpired:
            driver = ""
    return {
        "device": torch.cuda.get_device_name(),
        "driver": driver,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join([sys.executable, *sys.argv]),
    }


def in_memory() -> str | None:
    """Return a folder that lies in memory and has room, or None for the usual one."""
    there = Path("/dev/shm")
    return str(there) if there.is_dir() and os.access(there, os.W_OK) and shutil.disk_usage(there).free > ROOM else None


if __name__ == "__main__":
    sys.exit(main())
