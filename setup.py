"""Builds fivepoint, whose package is the repository itself: each floor below is fivepoint.<floor>."""

import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).resolve().parent))
from csrc.build import BuildNative

FLOORS = ["audit", "conformance", "corpus", "fastpath", "reference", "spec", "trainers"]
ROOT_MODULES = {"__init__", "cli", "errors"}

missing = [floor for floor in FLOORS if not Path(floor, "__init__.py").is_file()]
if missing:
    raise SystemExit(f"setup.py expects a package in each folder of FLOORS, found none in {', '.join(missing)}")


class BuildPy(build_py):
    """Leaves the scripts of the repository's root (setup.py, conftest.py) out of the wheel."""

    def find_package_modules(self, package, package_dir):
        modules = super().find_package_modules(package, package_dir)
        return [found for found in modules if package != "fivepoint" or found[1] in ROOT_MODULES]


packages = find_packages(include=[*FLOORS, *(f"{floor}.*" for floor in FLOORS)])

setup(
    packages=["fivepoint", *(f"fivepoint.{package}" for package in packages)],
    package_dir={"fivepoint": "."},
    package_data={
        "fivepoint": ["py.typed"],
        "fivepoint.conformance": ["*.md", "*.json", "*.toml"],
        "fivepoint.conformance.report": ["*.html"],
        "fivepoint.fastpath": ["*.pyi"],
        "fivepoint.spec": ["*.md", "*/*.json", "*/*.md"],
    },
    include_package_data=False,
    ext_modules=[Extension("fivepoint.fastpath._C", sorted(map(str, [*Path("csrc").glob("*.cpp"), *Path("csrc/device").glob("*.cpp")])))],
    cmdclass={"build_py": BuildPy, "build_ext": BuildNative},
)
