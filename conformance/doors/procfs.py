"""What the system says of processes: who runs, and the memory, threads, files and bytes of each. Linux, through /proc."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
BLOCK = Path("/sys/dev/block")


def carrying(variable: str) -> list[int]:
    """Return the processes that were started with `NAME=value` in their environment, and have not ended."""
    found = []
    for process in running():
        with suppress(OSError):
            if variable.encode() in (PROC / str(process) / "environ").read_bytes().split(b"\0"):
                found.append(process)
    return found


def running() -> list[int]:
    """Return every process that can be seen."""
    return sorted(int(folder.name) for folder in PROC.iterdir() if folder.name.isdigit())


def descendants(processes: Iterable[int]) -> list[int]:
    """Return the children of processes, theirs, and so on, as far as they run; whose parent has ended belongs to another one."""
    children: dict[int, list[int]] = {}
    for number, (state, parent) in _kin().items():
        if state not in ("Z", "X"):
            children.setdefault(parent, []).append(number)
    found: list[int] = []
    left = list(processes)
    while left:
        found += (below := children.get(left.pop(), []))
        left += below
    return sorted(found)


def started(process: int) -> int | None:
    """Return when a process began, in ticks since the system did; None where it has ended. With its number, that names it for good."""
    fields = _stat(process)
    return None if fields is None or fields[0] in ("Z", "X") else int(fields[19])


def _kin() -> dict[int, tuple[str, int]]:
    """Return the state and the parent of every process."""
    return {number: (fields[0], int(fields[1])) for number in running() if (fields := _stat(number))}


def _stat(process: int) -> list[str] | None:
    """Return the fields of a process that follow its name, which may hold anything."""
    with suppress(OSError):
        return (PROC / str(process) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return None


def memory(processes: Iterable[int]) -> int:
    """Return the bytes that processes hold for themselves: anonymous and shared memory, without the pages of files that they mapped."""
    return sum(1024 * _field(process, name) for process in processes for name in ("RssAnon", "RssShmem"))


def peak(process: int) -> int:
    """Return the largest resident memory that a process had, in bytes."""
    return 1024 * _field(process, "VmHWM")


def threads(processes: Iterable[int]) -> int:
    """Return the number of threads of processes."""
    return sum(_field(process, "Threads") for process in processes)


def files(processes: Iterable[int]) -> list[str]:
    """Return what the open files of processes are."""
    found = []
    for process in processes:
        with suppress(OSError):
            for link in (PROC / str(process) / "fd").iterdir():
                with suppress(OSError):
                    found.append(os.readlink(link))
    return found


def mapped(processes: Iterable[int]) -> set[str]:
    """Return the files that processes have mapped into their memory."""
    found = set()
    for process in processes:
        with suppress(OSError):
            lines = (PROC / str(process) / "maps").read_text(errors="surrogateescape").splitlines()
            found |= {fields[5] for line in lines if len(fields := line.split(maxsplit=5)) == 6}
    return found


def bytes_read(processes: Iterable[int]) -> dict[str, int]:
    """Return the bytes that processes read: `rchar`, by read calls, and `read_bytes`, fetched from a disk, also for mapped files."""
    total = {"rchar": 0, "read_bytes": 0}
    for process in processes:
        with suppress(OSError):
            for line in (PROC / str(process) / "io").read_text().splitlines():
                name, _, value = line.partition(": ")
                if name in total:
                    total[name] += int(value)
    return total


def readahead(path: Path) -> int:
    """Return the bytes that the system reads ahead in a file, as it says of its disk; 16 MiB, more than is usual, where it says nothing."""
    said = readahead_said(path)
    return 1 << 24 if said is None else said


def readahead_said(path: Path) -> int | None:
    """Return the bytes that the system says it reads ahead in a file of this disk, None where it says nothing."""
    device = path.stat().st_dev
    disk = BLOCK / f"{os.major(device)}:{os.minor(device)}"
    for queue in (disk / "queue", disk.resolve().parent / "queue"):
        with suppress(OSError, ValueError):
            return 1024 * int((queue / "read_ahead_kb").read_text())
    return None


def _field(process: int, name: str) -> int:
    with suppress(OSError):
        for line in (PROC / str(process) / "status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
    return 0
