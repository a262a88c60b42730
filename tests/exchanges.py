"""The worked exchange of DRIVERS.md: said again to a process, word for word."""

import json
import subprocess
from pathlib import Path

import numpy as np

from fivepoint.conformance.doors.wire import receive, send


def replayed(lines: list[str], command: list[str], corpus: Path, workdir: Path) -> list[str]:
    """Send the lines that begin with `>` to a process, and return them with its replies, `<`, as the page has them."""
    folders = {"CORPUS": str(corpus), "WORKDIR": str(workdir)}
    found = []
    state = np.zeros(0, np.uint8)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=workdir) as process:
        for line in lines:
            if not line.startswith(">"):
                continue
            request = json.loads(line[1:])
            asked = {name: folders.get(value, value) if isinstance(value, str) else value for name, value in request.items()}
            frames = [state] if asked.pop("frames", []) else []
            send(process.stdin, asked, frames)
            reply, heard = receive(process.stdout.readline, process.stdout.read)
            if request["do"] == "save":
                state = heard[0]
                reply["frames"] = [{"dtype": "uint8", "shape": [len("STATE")]}]
            # Frames that there are none of need not be named.
            found += [line, f"< {json.dumps({name: value for name, value in reply.items() if value != []})}"]
        process.stdin.close()
    return found
