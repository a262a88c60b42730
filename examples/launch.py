"""Start a training run under torchrun, and end it: bounded waits, and nothing left running whatever happens."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

SECONDS_TO_END = 60
"""How long a run may take to end once one of its ranks is gone."""


def cpus() -> int:
    """Return the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def die_with_parent(sign: int = signal.SIGKILL) -> None:
    """Ask the kernel for `sign` when the parent dies, so that a killed parent leaves no orphan (Linux; elsewhere nothing is done)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, int(sign))


class Torchrun:
    """`ranks` processes of a script on this machine, talking over the loopback device alone; used as a context it ends with the block."""

    def __init__(self, ranks: int, script: Path, arguments: Sequence[str], errors: Path) -> None:
        """Start them; what they write to stderr goes to the file `errors`, their stdout to ours."""
        self.command = [sys.executable, "-P", "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
        self.command += [f"--nproc-per-node={ranks}", str(script), *arguments]
        environment = {**os.environ, "OMP_NUM_THREADS": str(max(1, cpus() // ranks)), "PYTHONUNBUFFERED": "1"}
        if Path("/sys/class/net/lo").exists():
            environment["GLOO_SOCKET_IFNAME"] = "lo"  # else gloo asks what the machine's name resolves to
        with open(errors, "wb") as file:
            self._process = subprocess.Popen(
                self.command,
                stderr=file,
                env=environment,
                start_new_session=True,  # Ctrl-C reaches us alone, and we end it in order
                preexec_fn=lambda: die_with_parent(signal.SIGTERM),
            )

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def wait(self, seconds: float | None = None) -> int:
        """Return the exit code; raises TimeoutError where it takes longer than `seconds`."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired as reason:
            raise TimeoutError(f"expected the run to end within {seconds} seconds, found it running") from reason

    def end(self) -> None:
        """End it: torchrun stops its ranks when it is asked to, and they die with it when it has to be killed."""
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            self._process.terminate()
            self._process.wait(10)
        if self.running:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> "Torchrun":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()


def wait_for_step(training: Torchrun, log: Path, first: int, checkpoint_every: int) -> tuple[int, int] | None:
    """Wait until the rank that writes `log` is in a step from `first` on that is no neighbour of a checkpoint's.

    Returns (process id, step), None where training ends before.
    """
    margin = checkpoint_every // 4
    while training.running:
        lines = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
        last = json.loads(lines[-1]) if lines else {"step": 0}
        if last["step"] >= first and margin <= last["step"] % checkpoint_every < checkpoint_every - margin:
            return last["pid"], last["step"]
        time.sleep(0.005)
    return None
