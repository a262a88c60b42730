"""What is right or wrong on a CUDA device: the build, the contract, what compute-sanitizer sees, the committed PTX."""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpu_table import SAID, Row

ROOT = Path(__file__).resolve().parent.parent
MOST_MEBIBYTES = 64.0
"""Of source tree and build: what is small enough to be carried to a machine without a network."""

# memcheck: accesses outside of what was allocated. initcheck: a kernel that reads rows before they were sent, where a slot is used for the
# first time. racecheck sees shared memory alone, of which the kernels have none: it would tell if that changed. synccheck would watch
# barriers, and there are none.
TOOLS = {
    "memcheck": "",
    "initcheck": "",
    "racecheck": "it watches shared memory, of which the kernels have none",
}


def build(folder: Path) -> Iterator[Row]:
    """Build the extension where it is imported from, and see how large everything is."""
    begun = time.perf_counter()
    done = ran([sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"])
    warned = [line for line in done.stderr.splitlines() if line.startswith("fivepoint: ")]
    note = "; ".join([f"{time.perf_counter() - begun:.0f} s", *warned])
    yield verdict("build", done, "builds", note)
    yield Row("source tree and build, MiB", size_of(ROOT) / 2**20, MOST_MEBIBYTES, "at most")


def size_of(root: Path) -> int:
    """Return the bytes of the files that git tracks, or of all but hidden ones where it does not say, and of what was built of them."""
    asked = (root / ".git").exists() and shutil.which("git")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True) if asked else None
    if listed and listed.returncode == 0:
        files = {root / name for name in listed.stdout.split("\0") if name}
    else:
        files = {path for path in root.rglob("*") if not any(part.startswith(".") for part in path.relative_to(root).parts)}
    built = {*(root / "build").rglob("*"), *(root / "fastpath").glob("*.so")}
    return sum(path.lstat().st_size for path in files | built if path.is_file() and not path.is_symlink())


def conformance(folder: Path, *chapters: str) -> Iterator[Row]:
    """Hold the loader on the device to chapters of the contract, in the quick mode."""
    begun = time.perf_counter()
    loader = "fivepoint.conformance.drivers.fastpath:CudaDriver"
    chosen = [word for chapter in chapters for word in ("--select", chapter)]
    cases = folder / f"cases-{chapters[0]}"
    done = ran([sys.executable, "-P", "-m", "fivepoint.cli", "conform", loader, "--quick", "--cases", cases, *chosen])
    yield verdict(f"conformance suite on the device, quick: {' '.join(chapters)}", done, "holds", f"{time.perf_counter() - begun:.0f} s")


def sanitizers(folder: Path) -> Iterator[Row]:
    """Serve some steps under compute-sanitizer, and one that writes past an end: that one must be reported."""
    program = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if program is None:
        for tool in TOOLS:
            yield Row(f"compute-sanitizer {tool}", "not run", "clean", note="it was not found on PATH or in /usr/local/cuda/bin")
        return
    for tool, note in TOOLS.items():
        done = ran(watched(program, tool), UNCACHED)
        if UNSUPPORTED in done.stdout + done.stderr:
            yield Row(f"compute-sanitizer {tool}", "not run", "clean", note=f"it says {UNSUPPORTED!r}: it cannot watch this device here")
            continue
        yield verdict(f"compute-sanitizer {tool}", done, "clean", note)
    done = ran([*watched(program, "memcheck"), "--planted"], UNCACHED)
    seen = done.returncode == 9 and "Invalid __global__ write" in done.stdout + done.stderr
    what = "compute-sanitizer memcheck, of a planted write past an end"
    yield Row(what, "reported" if seen else "missed", "reported", said="" if seen else said_of(done))


UNSUPPORTED = "Device not supported"
"""What the sanitizer says where something between it and the device keeps it from watching, as some virtual machines do."""
UNCACHED = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
"""Each tensor is an allocation of the driver's, of just its size; of torch's large blocks the sanitizer would not see the tensors' ends."""


def watched(program: str, tool: str) -> list[str | Path]:
    """Return the command that serves under a tool, and exits with 9 for what it reports."""
    return [program, "--tool", tool, "--error-exitcode", "9", sys.executable, Path(__file__).with_name("gpu.py"), "--serve"]


def committed_ptx(folder: Path) -> Iterator[Row]:
    """Serve by the kernels that the driver compiles from the committed PTX, which are not used where nvcc made machine code."""
    begun = time.perf_counter()
    spec = importlib.util.spec_from_file_location("native_build", ROOT / "csrc" / "build.py")
    assert spec is not None and spec.loader is not None
    recipe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    module = recipe.build_module(folder / "ptx")  # without nvcc
    done = ran([sys.executable, Path(__file__).with_name("gpu.py"), "--serve", "--module", module])
    yield verdict("committed PTX, beside the host", done, "same", f"{time.perf_counter() - begun:.0f} s")


def ran(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command from the repository's root."""
    return subprocess.run(list(map(str, command)), cwd=ROOT, env={**os.environ, **(environment or {})}, capture_output=True, text=True)


def verdict(what: str, done: subprocess.CompletedProcess[str], good: str, note: str = "") -> Row:
    """Return the row of a command that was to succeed."""
    if done.returncode == 0:
        return Row(what, good, good, note=note)
    return Row(what, "failed", good, note=f"exit code {done.returncode}; {note}".removesuffix("; "), said=said_of(done))


def said_of(done: subprocess.CompletedProcess[str]) -> str:
    """Return the end of what a command printed."""
    return (done.stdout + done.stderr)[-SAID:].strip()
