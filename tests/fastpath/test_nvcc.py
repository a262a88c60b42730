"""Whatever nvcc is found, the extension is built, and what it could not make is said: scripts stand in for nvccs of other kinds."""

import shutil
import stat
from pathlib import Path

import pytest
from built import recipe
from checkout import ROOT
from setuptools import Distribution, Extension

pytestmark = [pytest.mark.checkout, pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")]
FATBIN = (0xBA55ED50).to_bytes(4, "little")
"""What machine code for GPUs begins with."""
PTX = b".visible .entry fivepoint_widen("


@pytest.fixture
def native(monkeypatch):
    monkeypatch.delenv("FIVEPOINT_NVCC", raising=False)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    return recipe()


def stand_in(folder: Path, script: str) -> Path:
    """Write an nvcc that is a shell script; return the folder that CUDA_HOME would name."""
    program = folder / "bin" / "nvcc"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


def real(native) -> str:
    found = native.nvcc()
    if found is None:
        pytest.skip("no nvcc was found")
    return found


def built(native, folder: Path) -> bytes:
    """Build the one source that holds the kernels, as `make setup` builds them all; return the library."""
    extension = Extension("kernels", [str(ROOT / "csrc" / "device" / "cuda.cpp")], extra_compile_args=["-O0"])
    command = native.BuildNative(Distribution({"name": "kernels", "ext_modules": [extension]}))
    command.build_lib, command.build_temp = str(folder / "lib"), str(folder / "temp")
    command.ensure_finalized()
    command.run()
    (library,) = (folder / "lib").glob("kernels*.so")
    return library.read_bytes()


def test_an_nvcc_that_knows_fewer_gpus_makes_machine_code_for_those(native, tmp_path, monkeypatch, capfd):
    # As that of CUDA 12.4 does, which knows no 10.0 and no 12.0, and refuses to be asked for them.
    refused = 'case "$*" in *sm_100*|*sm_120*) echo "nvcc fatal   : Unsupported gpu architecture \'compute_100\'" >&2; exit 1;; esac'
    listed = 'if [ "$1" = --list-gpu-code ]; then printf "sm_50\\nsm_80\\nsm_89\\nsm_90\\n"; exit 0; fi'
    home = stand_in(tmp_path / "home", f'{listed}\n{refused}\nexec {real(native)} "$@"')
    monkeypatch.setenv("CUDA_HOME", str(home))
    library = built(native, tmp_path)
    assert FATBIN in library and PTX in library
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("fivepoint: ")]
    assert said == [
        f"fivepoint: the kernels are built for GPUs of 8.0, 9.0, and as PTX for others: {home}/bin/nvcc knows none of 10.0, 12.0"
    ]


LISTS = 'if [ "$1" = --list-gpu-code ]; then printf "sm_80\\nsm_90\\nsm_100\\nsm_120\\n"; exit 0; fi\n'


@pytest.mark.parametrize(
    ("script", "why"),
    [
        # The host's compiler is newer than it takes.
        (LISTS + "echo '#error -- unsupported GNU version! gcc versions later than 13 are not supported!' >&2; exit 1", "unsupported GNU"),
        ("echo 'error while loading shared libraries: libz.so.1' >&2; exit 127", "libz.so.1"),
        ("echo sm_35", "knows no GPU of 8.0, 9.0, 10.0, 12.0"),
        ("kill -9 $$", "it said nothing"),
    ],
)
def test_with_an_nvcc_that_fails_the_kernels_are_ptx_alone(native, tmp_path, monkeypatch, capfd, script, why):
    monkeypatch.setenv("CUDA_HOME", str(stand_in(tmp_path / "home", script)))
    library = built(native, tmp_path)
    assert FATBIN not in library and PTX in library
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("fivepoint: ")]
    assert len(said) == 1 and said[0].startswith("fivepoint: the kernels are built as PTX alone") and why in said[0], said


def test_what_nvcc_all_makes_is_built_without_a_word(native, tmp_path, capfd):
    real(native)
    assert FATBIN in built(native, tmp_path)
    assert "fivepoint: " not in capfd.readouterr().err


def test_nvcc_is_looked_for_in_cuda_home_then_on_the_path_then_where_cuda_is_installed(native, tmp_path, monkeypatch):
    home, path = (stand_in(tmp_path / name, "true") for name in ("home", "path"))
    monkeypatch.setenv("PATH", f"{path / 'bin'}")
    assert native.nvcc() == str(path / "bin" / "nvcc")
    monkeypatch.setenv("CUDA_HOME", str(home))
    assert native.nvcc() == str(home / "bin" / "nvcc")
    shutil.rmtree(home)
    assert native.nvcc() == str(path / "bin" / "nvcc")
    shutil.rmtree(path)
    assert native.nvcc() == shutil.which("nvcc", path="/usr/local/cuda/bin")
    monkeypatch.setenv("FIVEPOINT_NVCC", "none")
    assert native.nvcc() is None
