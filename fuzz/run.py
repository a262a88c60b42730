"""Runs the fuzz targets from their seeds, two at a time: `make fuzz SECONDS=60 TARGET=order`.

A target in C++ is a file here, one in Python a function of python.py. `seeds/NAME/` holds small real files that a writer of the project
made, and every input that once found a bug; a run takes a copy of them. An input that finds something is kept in fuzz-found/.
"""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHARED_MEMORY = Path("/dev/shm")
AT_ONCE = 2
HANG = 30
"""Seconds from which one input hangs."""


def targets() -> list[str]:
    """Return the names of all targets, those in C++ first."""
    return sorted((folder.name for folder in (HERE / "seeds").iterdir()), key=lambda name: (not is_native(name), name))


def is_native(name: str) -> bool:
    """Whether a target is in C++."""
    return (HERE / f"{name}.cpp").exists()


def missing(name: str) -> str:
    """Return what a target needs and this machine has not, "" where it can run."""
    if is_native(name):
        return "" if shutil.which("clang++") else "it needs clang++: apt-get install clang libclang-rt-dev"
    return "" if importlib.util.find_spec("atheris") else "it needs atheris, which has no wheel for this Python or was not installed"


def command(name: str, build: Path) -> list[str]:
    """Return the command that runs a target, built in `build` where it is in C++."""
    if not is_native(name):
        return [sys.executable, "-P", str(HERE / "python.py"), name]
    spec = importlib.util.spec_from_file_location("native_build", HERE.parent / "csrc" / "build.py")
    assert spec and spec.loader
    recipe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    return [str(recipe.build_fuzzer(build, name))]


def fuzz(name: str, program: list[str], seconds: int, found: Path) -> tuple[bool, str]:
    """Run a target, and return whether it found nothing, and what to say of it."""
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None) as folder:
        shutil.copytree(HERE / "seeds" / name, Path(folder, "corpus"))
        Path(folder, "kept").mkdir()
        options = [f"-max_total_time={seconds}", f"-timeout={HANG}", f"-artifact_prefix={folder}/kept/{name}-", "-print_final_stats=1"]
        # What a target writes goes with the folder, however the target ends.
        environment = os.environ | {"TMPDIR": folder}
        done = subprocess.run([*program, f"{folder}/corpus", *options], env=environment, capture_output=True, text=True, errors="replace")
        executions = re.search(r"stat::number_of_executed_units: *(\d+)", done.stderr)
        ran = f"{name:<16} {int(executions[1]) if executions else 0:>9} executions in {seconds} s"
        if done.returncode == 0:
            return True, f"{ran}, nothing found"
        kept = sorted(Path(folder, "kept").iterdir())
        found.mkdir(exist_ok=True)
        for file in kept:
            shutil.copy2(file, found)
        said = (done.stderr + done.stdout)[-12000:]  # atheris prints an exception on the latter
        return False, f"{said}\n{name:<16} FOUND {', '.join(str(found / file.name) for file in kept) or 'something without an input'}"


def main() -> None:
    """Run what the command line names, a line a target; exit code 1 where something was found, or a target could not run."""
    known = targets()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"all where none is named: {', '.join(known)}")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.targets) - set(known)):
        parser.error(f"expected targets among {', '.join(known)}, found {unknown[0]}")
    programs, sound = {}, True
    for name in asked.targets or known:
        if reason := missing(name):
            sound = False
            print(f"{name:<16} could not run: {reason}", flush=True)
        else:
            programs[name] = command(name, HERE.parent / "build" / "fuzz")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for nothing, line in pool.map(lambda name: fuzz(name, programs[name], asked.seconds, Path("fuzz-found")), programs):
            sound = sound and nothing
            print(line, flush=True)
    sys.exit(not sound)


if __name__ == "__main__":
    main()
