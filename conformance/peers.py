"""The loaders of other projects (peers.toml): which driver speaks for each, and the environment of its own that it runs in."""

import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError

FOLDER = Path(".peers")
"""Where environments are, unless the command line says otherwise."""


@dataclass(frozen=True)
class Peer:
    """A loader that the suite can judge: its driver, and the environment in which it runs, with the packages that are installed there."""

    name: str
    driver: str
    environment: str
    packages: tuple[str, ...]
    no_deps: tuple[str, ...] = ()
    limit: float = 60.0
    processes: bool = False
    forks: bool = False

    @property
    def all_packages(self) -> tuple[str, ...]:
        """What is installed, in this order."""
        return self.packages + self.no_deps

    def python(self, folder: Path = FOLDER) -> Path:
        """Return the interpreter of its environment; raises UsageError where there is none, or one of other packages."""
        home = folder / self.environment
        if not _is_whole(home, self.all_packages):
            raise UsageError(
                f"expected an environment for {self.name} in {home}, found none with {', '.join(self.all_packages)}; "
                f"fivepoint peers build {self.name} makes it"
            )
        return (home / "bin" / "python").absolute()


def peers() -> dict[str, Peer]:
    """Return the peers by name."""
    table = tomllib.loads(Path(__file__).with_name("peers.toml").read_text(encoding="utf-8"))
    environments = table["environments"]
    found = {}
    for name, entry in table["peers"].items():
        driver = f"fivepoint.conformance.drivers.{entry.pop('driver')}"
        environment = environments[entry["environment"]]
        found[name] = Peer(name, driver, packages=tuple(environment["packages"]), no_deps=tuple(environment.get("no_deps", ())), **entry)
    return found


def chosen(names: Sequence[str]) -> list[Peer]:
    """Return the peers that are named, all where none is; raises UsageError."""
    known = peers()
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"expected peers ({', '.join(known)}), found {', '.join(unknown)}")
    return [peer for name, peer in known.items() if not names or name in names]


def build(peer: Peer, folder: Path = FOLDER) -> bool:
    """Make the environment of a peer, and return whether there was something to do; raises UsageError where it cannot be made."""
    home = folder / peer.environment
    if _is_whole(home, peer.all_packages):
        return False
    python = str(home / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    commands = [[sys.executable, "-m", "venv", "--clear", str(home)], [*pip, peer.packages[0]], [*pip, *peer.packages]]
    if peer.no_deps:
        commands.append([*pip, "--no-deps", *peer.no_deps])
    for command in commands:
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if ended.returncode:
            said = ended.stdout.strip().splitlines()[-1:] or ["nothing"]
            raise UsageError(f"expected to make {home} by {' '.join(command)}, which ended with {ended.returncode}, saying {said[0]}")
    (home / "packages.txt").write_text("\n".join(peer.all_packages) + "\n", encoding="utf-8")
    return True


def _is_whole(home: Path, packages: Sequence[str]) -> bool:
    """Whether all packages, and no others, were installed there; an environment that was not finished has no list."""
    try:
        return (home / "packages.txt").read_text(encoding="utf-8").splitlines() == list(packages)
    except FileNotFoundError:
        return False
