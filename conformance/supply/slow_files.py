"""A folder seen through a file system whose reads take as long as one asks: also those of a mapped file, at the first touch of a page.

A process of its own, `python -m fivepoint.conformance.supply.slow_files FOLDER MOUNTPOINT`, for the kernel waits for its answers. Lines on
its standard input are commands, each answered by a line: `latency SECONDS`, which every read takes from now on, and `stall SECONDS`, until
whose end no read is answered. Writes take no longer than they do. At the end of its standard input it unmounts.
"""

import errno
import os
import subprocess
import sys
import threading
import time
from typing import Any

import mfusepy as fuse

THREADS = 64
"""Requests that are under way at once: as many as a busy disk has."""
STATUS = ("st_mode", "st_ino", "st_nlink", "st_uid", "st_gid", "st_size", "st_blocks", "st_blksize", "st_rdev")
TIMES = ("st_atime", "st_mtime", "st_ctime")


class SlowFiles(fuse.Operations):  # type: ignore[misc]  # mypy looks into no FUSE
    """The operations of the folder below `root`, handed on to the system."""

    use_ns = True

    def __init__(self, root: str) -> None:
        self.root, self.latency, self.until = root, 0.0, 0.0

    def init_with_config(self, conn_info: Any, config_3: Any) -> None:
        """Let as many reads be under way as there are threads: the kernel has a dozen otherwise, for those that several pages make."""
        conn_info.max_background, conn_info.congestion_threshold = THREADS, THREADS

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        """Read, when the latency is over, and a stall."""
        time.sleep(max(self.latency, self.until - time.monotonic()))
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        """Write all of it."""
        done = 0
        while done < len(data):
            done += os.pwrite(fh, data[done:], offset + done)
        return done

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        """Make a file, and open it."""
        return os.open(self.root + path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, mode)

    def open(self, path: str, flags: int) -> int:
        """Open a file; the kernel says where what is appended goes."""
        return os.open(self.root + path, flags & ~(os.O_APPEND | os.O_DIRECT))

    def release(self, path: str, fh: int) -> None:
        """Close a file."""
        os.close(fh)

    def flush(self, path: str, fh: int) -> None:
        """Nothing is held back."""

    def fsync(self, path: str, datasync: int, fh: int) -> None:
        """Have a file on the disk."""
        (os.fdatasync if datasync else os.fsync)(fh)

    def truncate(self, path: str, length: int, fh: int | None = None) -> None:
        """Set the length of a file."""
        os.truncate(self.root + path if fh is None else fh, length)

    def fallocate(self, path: str, mode: int, offset: int, size: int, fh: int) -> None:
        """Make room, where no holes are asked for."""
        if mode:
            raise fuse.FuseOSError(errno.EOPNOTSUPP)
        os.posix_fallocate(fh, offset, size)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        """Return what the system says of a file, times in nanoseconds."""
        status = os.lstat(self.root + path) if fh is None else os.fstat(fh)
        return {name: getattr(status, name) for name in STATUS} | {name: getattr(status, f"{name}_ns") for name in TIMES}

    def readdir(self, path: str, fh: int) -> list[str]:
        """Return the names in a folder."""
        return [".", "..", *os.listdir(self.root + path)]

    def access(self, path: str, amode: int) -> None:
        """Refuse what the system refuses."""
        if not os.access(self.root + path, amode):
            raise fuse.FuseOSError(errno.EACCES)

    def statfs(self, path: str) -> dict[str, int]:
        """Return the room of the disk."""
        found = os.statvfs(self.root + path)
        return {name: getattr(found, name) for name in dir(found) if name.startswith("f_") and name != "f_fsid"}

    def mkdir(self, path: str, mode: int) -> None:
        """Make a folder."""
        os.mkdir(self.root + path, mode)

    def rmdir(self, path: str) -> None:
        """Remove a folder."""
        os.rmdir(self.root + path)

    def unlink(self, path: str) -> None:
        """Remove a file."""
        os.unlink(self.root + path)

    def rename(self, old: str, new: str) -> None:
        """Rename, in one step as the system does."""
        os.rename(self.root + old, self.root + new)

    def link(self, target: str, source: str) -> None:
        """Give a file, `source`, another name."""
        os.link(self.root + source, self.root + target)

    def symlink(self, target: str, source: str) -> None:
        """Make a link `target` to `source`."""
        os.symlink(source, self.root + target)

    def readlink(self, path: str) -> str:
        """Return where a link leads."""
        return os.readlink(self.root + path)

    def mknod(self, path: str, mode: int, dev: int) -> None:
        """Make a file of any kind."""
        os.mknod(self.root + path, mode, dev)

    def chmod(self, path: str, mode: int) -> None:
        """Change who may do what."""
        os.chmod(self.root + path, mode)

    def chown(self, path: str, uid: int, gid: int) -> None:
        """Change whose it is."""
        os.lchown(self.root + path, uid, gid)

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> None:
        """Set times, nanoseconds; those of now where none are given."""
        os.utime(self.root + path, ns=times, follow_symlinks=False) if times else os.utime(self.root + path, follow_symlinks=False)


def obey(files: SlowFiles, mountpoint: str) -> None:
    """Do what the standard input says until its end, then unmount."""
    for line in sys.stdin:
        verb, _, seconds = line.partition(" ")
        if verb == "latency":
            files.latency = float(seconds)
        elif verb == "stall":
            files.until = time.monotonic() + float(seconds)
        print("done" if verb in ("latency", "stall") else f"expected latency or stall, found {verb.strip()!r}", flush=True)
    files.latency = 0.0
    # Lazily: whoever still has a file open keeps it.
    subprocess.run(["fusermount3", "-u", "-z", mountpoint], check=False)


def main() -> None:
    """Mount until the standard input ends."""
    root, mountpoint = map(os.path.abspath, sys.argv[1:])
    files = SlowFiles(root)
    threading.Thread(target=obey, args=(files, mountpoint), daemon=True).start()
    # Before 3.12 the library has as many threads as there are requests, and knows no such option.
    more = {"max_threads": THREADS} if (fuse.fuse_version_major, fuse.fuse_version_minor) >= (3, 12) else {}
    fuse.FUSE(files, mountpoint, foreground=True, fsname="slow", auto_unmount=True, **more)


if __name__ == "__main__":
    main()
