"""The loaders of other projects (peers.toml): which driver speaks for each, and the environment of its own that it runs in."""

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import OutputError, UsageError
from ..reference.files import write_whole, written

FOLDER = Path(".peers")
"""Where environments are, unless the command line says otherwise."""


@dataclass(frozen=True)
class Peer:
    """A loader that the suite can judge: its driver, and the environment in which it runs, with the packages that are installed there.

    `megabytes` is about what the environment takes, with the build of torch for CPUs.
    """

    name: str
    driver: str
    environment: str
    packages: tuple[str, ...]
    megabytes: int
    no_deps: tuple[str, ...] = ()
    limit: float = 60.0
    processes: bool = False
    forks: bool = False

    @property
    def installed(self) -> tuple[str, ...]:
        """Packages that are installed, in this order."""
        return self.packages + self.no_deps

    def python(self, folder: Path = FOLDER) -> Path:
        """Return the interpreter of its environment; raises UsageError where there is none, or one of other packages."""
        home = folder / self.environment
        if not _is_whole(home, self.installed):
            raise UsageError(
                f"expected an environment for {self.name} in {home}, found none with {', '.join(self.installed)}; "
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
        packages, no_deps = tuple(environment["packages"]), tuple(environment.get("no_deps", ()))
        found[name] = Peer(name, driver, packages=packages, megabytes=environment["megabytes"], no_deps=no_deps, **entry)
    return found


def chosen(names: Sequence[str]) -> list[Peer]:
    """Return the peers that are named, all where none is; raises UsageError."""
    known = peers()
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"expected peers ({', '.join(known)}), found {', '.join(unknown)}")
    return [peer for name, peer in known.items() if not names or name in names]


def missing(asked: Iterable[Peer], folder: Path = FOLDER) -> list[Peer]:
    """Return one peer for each environment that has to be made; raises OutputError where the disk has no room for all of them."""
    found = {peer.environment: peer for peer in asked if not _is_whole(folder / peer.environment, peer.installed)}
    with written(folder):
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    needed = sum(peer.megabytes for peer in found.values())
    if free < needed * 1e6:
        raise OutputError(
            f"expected room for about {needed / 1e3:.1f} GB in {folder} ({', '.join(found)}), found {free / 1e9:.1f} GB; "
            "free space there, or name fewer peers"
        )
    return list(found.values())


def build(peer: Peer, folder: Path = FOLDER) -> None:
    """Make the environment of a peer; raises UsageError where it cannot be made."""
    home = folder / peer.environment
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
    write_whole(home / "packages.txt", ("\n".join(peer.installed) + "\n").encode())


def _is_whole(home: Path, packages: Sequence[str]) -> bool:
    """Whether all packages, and no others, were installed there; an environment that was not finished has no list, nor has what is none."""
    try:
        return (home / "packages.txt").read_text(encoding="utf-8").splitlines() == list(packages)
    except (OSError, UnicodeDecodeError):
        return False
