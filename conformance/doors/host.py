"""The process of a driver in Python: `python -m fivepoint.conformance.doors.host NAME` answers requests on stdin.

It is one rank, whose driver is there from the start; with `--shared`, one for several drivers, which requests open and name (`of`);
with `--nursery`, one that imports the driver and forks a rank for each request (nursery.py).
"""

import atexit
import ctypes
import gc
import json
import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..driver import Array, Driver, Layout, MicroBatch, Refusal, Settings
from .nursery import BLANK, MARK
from .pulling import pulled
from .wire import DTYPES, Rubbish, packed, receive

Answer = tuple[dict[str, Any], list[Array]]

GROUP = "fivepoint.loaders"


def find(name: str) -> type[Driver]:
    """Return the driver class of an entry point of the group fivepoint.loaders, or of `module:Class`; raises LookupError.

    A module is also looked for in the current folder.
    """
    for entry in entry_points(group=GROUP, name=name):
        found: type[Driver] = entry.load()
        return found
    module, _, attribute = name.partition(":")
    if not attribute:
        known = sorted(entry.name for entry in entry_points(group=GROUP))
        raise LookupError(f"expected a loader of the entry points {GROUP} ({', '.join(known)}) or module:Class, found {name!r}")
    _look_also_in([os.getcwd()])
    try:
        located: type[Driver] = getattr(import_module(module), attribute)
    except Exception as reason:  # whatever a module raises while it is imported
        raise LookupError(f"expected a driver class at {name}, found {told(reason)}") from reason
    return located


class Unfit(Exception):  # noqa: N818 it is a finding
    """What the driver returned is not what it has to (V1)."""


def answer(driver: Driver, request: dict[str, Any], frames: list[Array]) -> Answer:
    """Return the reply to one request, and its frames: what the driver gives, its refusal, or its error."""
    try:
        return _call(driver, request, frames)
    except Refusal as reason:
        return {"refused": str(reason)}, []
    except Unfit as reason:
        return {"fault": str(reason)}, []
    except SystemExit:
        raise
    except BaseException as reason:  # whatever it is, it is the loader's: nobody else is in this process
        return {"error": told(reason)}, []


def told(reason: BaseException) -> str:
    """Return the type of an error, what it says, and the line that raised it."""
    try:
        said = ": ".join(part for part in (type(reason).__name__, str(reason)) if part)
    except Exception:  # __str__ is the loader's, too
        said = f"{type(reason).__name__}, of which no text can be made"
    # The driver, not what it called, is what its author can look into.
    frames = [frame for frame in traceback.extract_tb(reason.__traceback__) if Path(frame.filename).parent != Path(__file__).parent]
    return f"{said} ({Path(frames[-1].filename).name}:{frames[-1].lineno}, in {frames[-1].name})" if frames else said


def _call(driver: Driver, request: dict[str, Any], frames: list[Array]) -> tuple[dict[str, Any], list[Array]]:
    verb = request["do"]
    if verb == "declare":
        return {"ok": {"promises": sorted(driver.promises), "stride": driver.stride, "version": driver.version}}, []
    if verb == "prepare":
        driver.prepare(Path(request["corpus"]), Path(request["workdir"]), Settings.from_json(request["settings"]))
    elif verb == "build":
        states = [frame.tobytes() for frame in frames]
        layout = Layout(**request["layout"])
        driver.build(Path(request["corpus"]), Path(request["workdir"]), Settings.from_json(request["settings"]), layout, states)
    elif verb == "next":
        return _packed(driver.next())
    elif verb == "commit":
        # A driver that knows of no other commit is asked for none.
        driver.commit() if request.get("applied", True) else driver.commit(applied=False)
    elif verb == "pull":
        found, waits = pulled(driver, request["steps"], request["period"], request["seconds"])
        return {"ok": found}, waits
    elif verb == "save":
        return {"ok": None}, [np.frombuffer(driver.save(), np.uint8)]
    elif verb == "foretold":
        return {"ok": None}, [np.frombuffer(driver.foretold(request["consumed"]), np.uint8)]
    elif verb == "where":
        return {"ok": driver.where(request["source"], request["corpus"], request["first"], request["last"])}, []
    elif verb == "identity":
        return {"ok": driver.identity()}, []
    elif verb == "log":
        return {"ok": driver.log()}, []
    elif verb == "close":
        driver.close()
    else:
        raise Refusal(f"has no {verb}")
    return {"ok": None}, []


def _packed(step: list[MicroBatch] | None) -> tuple[dict[str, Any], list[Array]]:
    """A step is a list of objects that name, for each array of a micro-batch, the number of its frame."""
    if step is None:
        return {"ok": None}, []
    frames: list[Array] = []
    micro_batches = []
    try:
        for batch in step:
            micro_batches.append({str(name): len(frames) + i for i, name in enumerate(batch)})
            # Copies: a loader may fill its buffers again for the next step.
            frames += [np.array(array) for array in batch.values()]
    except (AttributeError, TypeError, ValueError) as reason:
        raise Unfit(f"gave a step that is no list of micro-batches, which name arrays: {reason}") from reason
    for frame in frames:
        if frame.dtype.name not in DTYPES:
            raise Unfit(f"gave an array of {frame.dtype}, expected {', '.join(DTYPES)}")
    return {"ok": micro_batches}, frames


def serve(driver: Driver, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests to one driver until the stream ends."""
    _serve(partial(answer, driver), requests, replies)


def serve_shared(name: str, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests to drivers until the stream ends; `find` comes first, `open` and `forget` begin and end one."""
    _serve(Shared(name).answer, requests, replies)


class Shared:
    """The drivers of ranks that share this process, by number."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.drivers: dict[int, Driver] = {}

    def answer(self, request: dict[str, Any], frames: list[Array]) -> Answer:
        """Return the reply to a request, which may be to find, open or forget a driver; `missing` is one that is not found."""
        verb, of = request["do"], request.get("of", 0)
        if verb == "find":
            try:
                self.kind = find(self.name)
            except LookupError as reason:
                return {"missing": str(reason)}, []
        elif verb == "open":
            try:
                self.drivers[of] = self.kind()
            except Exception as reason:
                return {"fault": f"could not be started: {told(reason)}", "must": "V2"}, []
        elif verb == "forget":
            del self.drivers[of]
        else:
            return answer(self.drivers[of], request, frames)
        return {"ok": None}, []


def _serve(reply: Callable[[dict[str, Any], list[Array]], Answer], requests: BinaryIO, replies: BinaryIO) -> None:
    while True:
        try:
            request, frames = receive(requests.readline, requests.read)
        except EOFError:
            return
        except Rubbish as reason:
            raise SystemExit(f"host: {reason}") from reason
        message, given = reply(request, frames)
        try:
            parts = list(packed(message, given))
        except (TypeError, ValueError, RecursionError) as reason:
            parts = list(packed({"error": f"gave an answer that is no JSON: {reason}"}))
        for part in parts:
            replies.write(part)
        replies.flush()


def nurse(name: str) -> type[Driver]:
    """Import a driver, fork a rank for each request on standard input, and return, in the ranks alone, the driver's class."""
    requests = socket.socket(fileno=os.dup(0))
    try:
        kind = find(name)
    except LookupError as reason:
        requests.send(json.dumps({"missing": str(reason)}).encode())
        raise SystemExit from None
    requests.send(b"{}")
    # What was imported is collected in no rank: that alone would copy all of its memory.
    gc.freeze()
    while True:
        message, files, _, _ = socket.recv_fds(requests, 1 << 20, 3)
        if not message:
            raise SystemExit
        reading, writing = os.pipe()
        if not (between := os.fork()):
            if rank := os.fork():
                os.write(writing, str(rank).encode())
                os._exit(0)
            for one in (reading, writing, requests.detach()):
                os.close(one)
            _become(json.loads(message), files)
            return kind
        # The rank has another parent once the one between has ended, and is spoken of only then.
        os.waitpid(between, 0)
        requests.send(json.dumps({"pid": int(os.read(reading, 32))}).encode())
        for one in (reading, writing, *files):
            os.close(one)


def _become(request: dict[str, Any], files: list[int]) -> None:
    """Make of a fork what a process is that was started: a session, a folder, variables and the three streams of its own."""
    os.setsid()
    os.chdir(request["workdir"])
    for number, one in enumerate(files):
        os.dup2(one, number)
        os.close(one)
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    # What the system shows of a process's variables is the memory that they had when it was started.
    mark = libc.getenv(MARK.encode())
    ctypes.memmove(mark, request["environment"][MARK].encode(), len(BLANK))
    for name in os.environ.keys() - request["environment"].keys():
        del os.environ[name]
    os.environ.update(request["environment"])


def _look_also_in(folders: Iterable[str]) -> None:
    sys.path.extend(folder for folder in folders if folder and folder not in sys.path)


def main() -> None:
    """Serve the driver that the command line names; a second argument says where else modules are looked for."""
    name, *folders = (word for word in sys.argv[1:] if not word.startswith("--"))
    _look_also_in(os.pathsep.join(folders).split(os.pathsep))
    forked = nurse(name) if "--nursery" in sys.argv else None
    # Whatever the loader prints goes to standard error, and it reads nothing: the pipes belong to the messages.
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    if "--shared" in sys.argv:
        serve_shared(name, requests, replies)
    elif forked:
        serve(forked(), requests, replies)
        _leave()
    else:
        serve(find(name)(), requests, replies)


def _leave() -> None:
    """End as an interpreter does, but for taking apart all that was imported, which would copy its memory and take seconds."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    os._exit(0)


if __name__ == "__main__":
    main()
