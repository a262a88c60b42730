"""Builds fivepoint.fastpath._C with ninja: one portable binary of every .cpp file here and in device/, and of nothing else."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pybind11
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
PTX = HERE / "device" / "kernels.ptx"
"""What the driver compiles for its GPU; `make kernels` makes it of kernels.cu."""
GPUS = [80, 90, 100, 120]
"""Kinds of GPU (compute capability times ten) that machine code is built for where an nvcc is found that makes it."""
FATBIN = "kernels.fatbin"
"""That machine code, beside the objects, where ninja runs."""
FLAGS = ["-std=c++17", "-O3", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-pthread"]


class BuildNative(build_ext):
    """Writes a build.ninja beside the objects and runs it."""

    def build_extension(self, extension):
        """Compile and link one extension, by the compiler CXX; its own flags, and those of CXXFLAGS and LDFLAGS, come after ours."""
        target = Path(self.get_ext_fullpath(extension.name)).resolve()
        folder = Path(self.build_temp).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)

        def write(**kernels):
            text = recipe(
                sorted(extension.sources),
                target,
                [*extension.extra_compile_args, *shlex.split(os.environ.get("CXXFLAGS", ""))],
                [*extension.extra_link_args, *shlex.split(os.environ.get("LDFLAGS", ""))],
                compiler=os.environ.get("CXX"),
                **kernels,
            )
            (folder / "build.ninja").write_text(text)

        found = nvcc()
        gpus = _kinds(found) if found else []
        write(nvcc=found, gpus=gpus)
        if gpus and (reason := _refused([_ninja(), "--quiet", "-C", folder, FATBIN])):
            _say_ptx_alone(f"{found} made no machine code of them ({reason})")
            write()
        subprocess.run([_ninja(), "--quiet", "-C", folder], check=True)


def build_tests(folder, sanitizer):
    """Build the C++ tests with a sanitizer ("address,undefined", "thread") in `folder`, and return the program."""
    flags = ["-g", "-O1", "-UNDEBUG", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
    return build_program(folder, ["main.cpp", "*_test.cpp"], flags, [f"-fsanitize={sanitizer}"])


def build_program(folder, mains, compile_flags=(), link_flags=(), compiler=None):
    """Build csrc, without what Python sees of it, and the files of csrc/tests that `mains` name; return the program."""
    sources = [*_sources(), *(source for main in mains for source in (HERE / "tests").glob(main))]
    return _built(Path(folder) / "program", sources, compile_flags, link_flags, shared=False, compiler=compiler)


def build_module(folder, compile_flags=(), link_flags=(), compiler=None):
    """Build the extension in another way than `make setup` does; return it."""
    return _built(Path(folder) / "_C.so", [*_sources(), HERE / "module.cpp"], compile_flags, link_flags, compiler=compiler)


def build_fuzzer(folder, name):
    """Build csrc with fuzz/NAME.cpp, which libFuzzer calls, under sanitizers that end it at the first error; return the program."""
    flags = ["-gline-tables-only", "-O1", "-UNDEBUG", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]
    sources = [*_sources(), HERE.parent / "fuzz" / f"{name}.cpp"]
    return _built(Path(folder) / name, sources, flags, flags[-2:], shared=False, compiler="clang++")


def build_fake_cuda(folder, compile_flags=(), link_flags=(), compiler=None):
    """Build what stands in for the CUDA driver in tests (csrc/tests/fake_cuda.cpp), under the driver's name; return it."""
    sources = [HERE / "tests" / "fake_cuda.cpp"]
    return _built(Path(folder) / "libcuda.so.1", sources, ["-O1", "-g", *compile_flags], link_flags, compiler=compiler)


def _sources():
    """Return csrc without what Python sees of it."""
    return [source for folder in (HERE, HERE / "device") for source in folder.glob("*.cpp") if source.name != "module.cpp"]


def _built(target, sources, *flags, **how):
    target = target.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    (target.parent / "build.ninja").write_text(recipe(sorted(sources), target, *flags, **how))
    done = subprocess.run([_ninja(), "-C", target.parent, "-v"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return target


def nvcc():
    """Return CUDA's compiler, that of CUDA_HOME, the first on PATH or the system's, or None; with FIVEPOINT_NVCC=none there is none."""
    if os.environ.get("FIVEPOINT_NVCC") == "none":
        return None
    home = os.environ.get("CUDA_HOME")
    places = [str(Path(home) / "bin")] if home else []
    return next(filter(None, (shutil.which("nvcc", path=place) for place in [*places, None, "/usr/local/cuda/bin"])), None)


def _kinds(nvcc):
    """Return those of GPUS that nvcc makes machine code for, and say which others it does not."""
    try:
        done = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True)
    except OSError as reason:
        done = subprocess.CompletedProcess([], 1, "", str(reason))
    listed = set(done.stdout.split()) if done.returncode == 0 else set()
    found = [gpu for gpu in GPUS if f"sm_{gpu}" in listed]
    if not found:
        why = f" ({_last(done.stdout + done.stderr)})" if done.returncode else ""
        _say_ptx_alone(f"{nvcc} knows no GPU of {_capabilities(GPUS)}{why}")
    elif left := [gpu for gpu in GPUS if gpu not in found]:
        _say(f"the kernels are built for GPUs of {_capabilities(found)}, and as PTX for others: {nvcc} knows none of {_capabilities(left)}")
    return found


def _refused(command):
    """Return why a command failed, or None."""
    done = subprocess.run(command, capture_output=True, text=True)
    return _last(done.stdout + done.stderr) if done.returncode else None


def _last(text):
    """Return the line of a compiler's output that says what is wrong: the first with an error, or the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("FAILED:", "ninja:"))]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "it said nothing")


def _capabilities(gpus):
    return ", ".join(f"{gpu // 10}.{gpu % 10}" for gpu in gpus)


def _say_ptx_alone(why):
    _say(f"the kernels are built as PTX alone, which the driver compiles: {why}")


def _say(line):
    print(f"fivepoint: {line}", file=sys.stderr, flush=True)


def ptx(folder):
    """Return the kernels as nvcc makes them, for any GPU from 2018 on and any driver that knows those.

    nvcc writes the newest version of the language, which older drivers refuse, though the kernels use nothing of it: it is lowered to
    6.3, the first for compute capability 7.5, which ptxas then holds them to.
    """
    made = Path(folder) / "kernels.ptx"
    subprocess.run([nvcc(), "-std=c++17", "-O3", "-ptx", "-arch=compute_75", PTX.with_suffix(".cu"), "-o", made], check=True)
    text = re.sub(r"^\.version .*$", ".version 6.3", made.read_text(), flags=re.M)
    # What names the compiler, and not what it made.
    text = re.sub(r"^//.*\n", "", text, flags=re.M).lstrip("\n")
    made.write_text(text)
    assembler = Path(nvcc()).resolve().parent / "ptxas"
    subprocess.run([assembler, "-arch=sm_75", made, "-o", Path(folder) / "kernels.cubin"], check=True)
    return text


def recipe(sources, target, compile_flags=(), link_flags=(), shared=True, compiler=None, nvcc=None, gpus=()):
    """Return the text of a build.ninja that makes the module `target`, or a program; by nvcc it holds machine code for `gpus`."""
    compiler = compiler or sysconfig.get_config_var("CXX") or "c++"
    headers = [pybind11.get_include(), sysconfig.get_path("include")]
    flags = [*FLAGS, *(f"-isystem{header}" for header in headers), *compile_flags]
    lines = [
        "rule compile",
        f"  command = ${{compiler}} {_joined(flags)} $kernels -MMD -MF $out.d -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
        "rule link",
        f"  command = ${{compiler}} {'-shared ' if shared else ''}-pthread $in {_joined(link_flags)} -ldl -o $out",
    ]
    embedded = {"FIVEPOINT_PTX": PTX}
    if gpus:
        embedded["FIVEPOINT_FATBIN"] = FATBIN
        kinds = [f"-gencode=arch=compute_{gpu},code=sm_{gpu}" for gpu in gpus]
        lines += [
            "rule kernels",
            f"  command = {_joined([nvcc, '-std=c++17', '-O3', '--threads', 2, '-fatbin', *kinds])} $in -o $out",
            f"build {_escaped(FATBIN)}: kernels {_escaped(PTX.with_suffix('.cu'))} | {_escaped(PTX.with_name('bodies.h'))}",
        ]
    objects = []
    for source in sources:
        objects.append(f"{Path(source).stem}.o")
        holds_kernels = Path(source).name == "cuda.cpp"
        needs = f" | {' '.join(map(_escaped, embedded.values()))}" if holds_kernels else ""
        lines.append(f"build {objects[-1]}: compile {_escaped(Path(source).resolve())}{needs}")
        if holds_kernels:
            lines.append("  kernels = " + _joined(f'-D{name}="{path}"' for name, path in embedded.items()))
    lines.append(f"build {_escaped(target)}: link {' '.join(objects)}")
    return "\n".join([f"compiler = {compiler}", *lines, ""])


def _ninja():
    try:
        import ninja

        return Path(ninja.BIN_DIR) / "ninja"
    except ImportError:
        return "ninja"


def _joined(words):
    return " ".join(shlex.quote(str(word)).replace("$", "$$") for word in words)


def _escaped(path):
    return str(path).replace("$", "$$").replace(" ", "$ ").replace(":", "$:")
