"""A process that has imported a driver and forks ranks, so that what the import takes is paid once. Linux, through prctl and /proc."""

import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from .adopting import adopt
from .replies import DriverFault

MARK = "FIVEPOINT_CONFORMANCE_RANK"
"""Environment variable by which whatever a rank starts is found again, in whatever session it hides."""

BLANK = "0" * 32
"""The mark of a nursery: room for that of a rank, which it writes in its place when it was forked."""


class Nursery:
    """Forks ranks from one process. It starts with the first of them, and is this process's alone: not for threads."""

    def __init__(self, command: Sequence[str], limit: float) -> None:
        """`command` is one of `host_command`; `limit` is the time for the import, in seconds."""
        self._command, self._limit = [*command, "--nursery"], limit
        self._process: subprocess.Popen[bytes] | None = None

    def find(self) -> None:
        """Have the driver imported; raises LookupError where there is none."""
        if self._process is not None and self._process.poll() is None:
            return
        # Whoever ends all that was started may have ended it too.
        self.close()
        # What ranks leave behind becomes a child of this process, which hears of its end.
        adopt(True)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                self._command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, MARK: BLANK}
            )
        if missing := self._hear().get("missing"):
            self.close()
            raise LookupError(missing)

    def fork(self, said: IO[bytes], workdir: Path, environment: Mapping[str, str]) -> "Forked":
        """Return a new rank that runs in `workdir` with these variables, and says to `said` what is no message."""
        self.find()
        (theirs_in, ours_in), (ours_out, theirs_out) = os.pipe(), os.pipe()
        try:
            request = json.dumps({"workdir": str(workdir), "environment": dict(environment)}).encode()
            socket.send_fds(self._socket, [request], [theirs_in, theirs_out, said.fileno()])
            return Forked(self._hear()["pid"], ours_in, ours_out)
        except BaseException as reason:
            os.close(ours_in)
            os.close(ours_out)
            if isinstance(reason, OSError):
                raise DriverFault("V2", f"could not be started: {reason}", None) from reason
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def close(self) -> None:
        """End the process; the ranks run on."""
        if self._process is not None:
            self._socket.close()
            self._process.kill()
            self._process.wait()
        self._process = None

    def _hear(self) -> dict[str, Any]:
        if not select.select([self._socket], [], [], self._limit)[0]:
            self.close()
            raise DriverFault("V2", f"could not be started within {self._limit:g} s", None)
        said = self._socket.recv(1 << 16)
        if not said:
            self.close()
            raise DriverFault("V2", "could not be started: the process that imports the driver ended", None)
        found: dict[str, Any] = json.loads(said)
        return found


class Forked:
    """A process that a nursery forked, as `subprocess.Popen` shows one. Its parent is this process: the one between them has ended."""

    def __init__(self, pid: int, stdin: int, stdout: int) -> None:
        self.pid = pid
        self.stdin, self.stdout = os.fdopen(stdin, "wb", 0), os.fdopen(stdout, "rb", 0)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the status of the process once it has ended."""
        if self.returncode is None:
            try:
                ended, status = os.waitpid(self.pid, os.WNOHANG)
                if ended:
                    self.returncode = os.waitstatus_to_exitcode(status)
            except ChildProcessError:  # somebody else has heard of its end
                self.returncode = 0
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has ended; raises subprocess.TimeoutExpired."""
        end = float("inf") if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("a rank", timeout or 0)
            time.sleep(0.002)
        return status

    def kill(self) -> None:
        """SIGKILL."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
