"""Ranks that speak the messages of DRIVERS.md wrongly (V1 to V3): `python -m fivepoint.conformance.broken.speakers FAULT`."""

import json
import sys
import time

HOUR = 3600.0

DECLARED = json.dumps({"ok": {"promises": ["resume"], "stride": "L", "version": "0"}, "frames": []})
NOTHING = json.dumps({"ok": None, "frames": []})
FLOATS = json.dumps({"ok": [{"inputs": 0}], "frames": [{"dtype": "float32", "shape": [2, 4]}]})
CUT_SHORT = json.dumps({"ok": [{"inputs": 0}], "frames": [{"dtype": "int64", "shape": [2, 4]}]})
ENDLESS = json.dumps({"ok": [{"inputs": 0}], "frames": [{"dtype": "int64", "shape": [1 << 40, 4]}]})
NEGATIVE = json.dumps({"ok": [{"inputs": 0}], "frames": [{"dtype": "int64", "shape": [-2, 4]}]})
NOT_A_NUMBER = json.dumps({"ok": [{"inputs": True, "targets": -1}], "frames": []})
TOO_MUCH = json.dumps({"ok": [{"inputs": 0}], "frames": [{"dtype": "int64", "shape": [1 << 28]}] * 40})
SLOW = CUT_SHORT.replace("inputs", "targets")
NO_FRAME = json.dumps({"ok": [{"inputs": 3}], "frames": []})

FAULTS: dict[str, dict[str, str]] = {
    "rubbish": {"declare": "loading data ..."},
    "a number": {"declare": "5"},
    "neither": {"declare": "{}"},
    "no promises": {"declare": NOTHING},
    "twice": {"build": f"{NOTHING}\n{NOTHING}"},
    "floats": {"next": FLOATS},
    "cut short": {"next": CUT_SHORT},
    "endless": {"next": ENDLESS},
    "negative": {"next": NEGATIVE},
    "no frame": {"next": NO_FRAME},
    "no number of a frame": {"next": NOT_A_NUMBER},
    "too much": {"next": TOO_MUCH},
    "nested": {"next": "[" * 100_000 + "]" * 100_000},
    "infinite": {"next": '{"ok": [{"inputs": 0}], "frames": [{"dtype": "int64", "shape": [1e400]}]}'},
    "both": {"build": json.dumps({"ok": None, "error": "none"})},
    "a number as reason": {"build": '{"refused": 5}'},
    "slow": {"next": SLOW},
    "no steps": {"next": NOTHING},
    "silent": {"declare": ""},
    "deaf": {},
}
"""What a rank with that fault answers to some request; to others it answers as it should, or with nothing. An empty text: it is silent."""


def main(fault: str) -> None:
    """Answer requests wrongly until they end."""
    if fault == "deaf":
        time.sleep(HOUR)
    for line in sys.stdin.buffer:
        verb = json.loads(line)["do"]
        text = FAULTS[fault].get(verb, DECLARED if verb == "declare" else NOTHING)
        if text:
            sys.stdout.buffer.write(text.encode() + b"\n")
            sys.stdout.buffer.flush()
        if text == CUT_SHORT:
            return


if __name__ == "__main__":
    main(sys.argv[1])
