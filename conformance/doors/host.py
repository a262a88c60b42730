"""The process of one rank, for a driver in Python: `python -m fivepoint.conformance.doors.host NAME` answers requests on stdin."""

import os
import sys
import traceback
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..case import settings_from
from ..driver import Array, Driver, Layout, MicroBatch, Refusal
from .wire import DTYPES, Rubbish, receive, send

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
        raise LookupError(f"expected a driver class at {name}: {reason}") from reason
    return located


class Unfit(Exception):  # noqa: N818 it is a finding
    """What the driver returned is not what it has to (V1)."""


def answer(driver: Driver, request: dict[str, Any], frames: list[Array]) -> tuple[dict[str, Any], list[Array]]:
    """Return the reply to one request, and its frames: what the driver gives, its refusal, or its error."""
    try:
        return _call(driver, request, frames)
    except Refusal as reason:
        return {"refused": str(reason)}, []
    except Unfit as reason:
        return {"fault": str(reason)}, []
    except Exception as reason:
        return {"error": f"{type(reason).__name__}: {reason}", "trace": traceback.format_exc(limit=-5)}, []


def _call(driver: Driver, request: dict[str, Any], frames: list[Array]) -> tuple[dict[str, Any], list[Array]]:
    verb = request["do"]
    if verb == "declare":
        return {"ok": {"promises": sorted(driver.promises), "stride": driver.stride, "version": driver.version}}, []
    if verb == "prepare":
        driver.prepare(Path(request["corpus"]), Path(request["workdir"]), settings_from(request["settings"]))
    elif verb == "build":
        states = [frame.tobytes() for frame in frames]
        layout = Layout(**request["layout"])
        driver.build(Path(request["corpus"]), Path(request["workdir"]), settings_from(request["settings"]), layout, states)
    elif verb == "next":
        return _packed(driver.next())
    elif verb == "commit":
        # A driver that knows of no other commit is asked for none.
        driver.commit() if request.get("applied", True) else driver.commit(applied=False)
    elif verb == "save":
        return {"ok": None}, [np.frombuffer(driver.save(), np.uint8)]
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
    """Answer requests until the stream ends."""
    while True:
        try:
            request, frames = receive(requests.readline, requests.read)
        except EOFError:
            return
        except Rubbish as reason:
            raise SystemExit(f"host: {reason}") from reason
        send(replies, *answer(driver, request, frames))


def _look_also_in(folders: Iterable[str]) -> None:
    sys.path.extend(folder for folder in folders if folder and folder not in sys.path)


def main() -> None:
    """Serve the driver that the command line names; a second argument says where else modules are looked for."""
    _look_also_in(os.pathsep.join(sys.argv[2:]).split(os.pathsep))
    # Whatever the loader prints goes to standard error: the pipe belongs to the messages.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(find(sys.argv[1])(), sys.stdin.buffer, replies)


if __name__ == "__main__":
    main()
