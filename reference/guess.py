"""What a file seems to be that is not the one that was asked for, and which one to give in its place: the end of many refusals."""

import re

GIVE = {
    "plan": "give a plan, as `fivepoint plan` writes it",
    "checkpoint": "give a checkpoint, as `fivepoint run --save` writes it",
    "manifest": "give the folder of a finished corpus, as `fivepoint prepare` writes it",
    "run": "give a run's TOML file, as docs/run.md describes it",
}
"""What to do, by the name of the schema that was expected."""

KINDS = {
    "fivepoint-plan": "a plan",
    "fivepoint-checkpoint": "a checkpoint",
    "fivepoint-corpus": "a corpus's manifest",
    "fivepoint-prepare-report": "a report of `fivepoint prepare`",
    "fivepoint-trained-bpe": "a report of a trained tokenizer",
    "fivepoint-conformance": "a report of `fivepoint conform`",
    "fivepoint-comparison": "reports of `fivepoint report`",
    "fivepoint-trace": "a recorded trace",
    "fivepoint-vectors": "a file of golden vectors",
}
"""What holds each format."""

KIND = {"plan": "a plan", "checkpoint": "a checkpoint", "manifest": "a corpus's manifest"}
"""What the JSON files are that a person gives, by the name of their schema."""

_TOML = re.compile(rb"^[ \t]*(\[+[\w.\"' -]+\]+[ \t]*(#.*)?|[\w.\"'-]+[ \t]*=.*)$", re.MULTILINE)
_FORMAT = re.compile(rb'"format"\s*:\s*"([a-z-]+)"')
_START = 1 << 12  # bytes: enough to tell by


def seems(data: bytes) -> str:
    """Return what the bytes of a file look like, "" where they look like nothing that is met here."""
    start = data[:_START]
    if not start.strip():
        return "an empty file" if not data else ""
    if data[8:9] == b"{" and int.from_bytes(data[:8], "little") < len(data):
        return "a file of tensors, which fivepoint.trainers.torch.load_checkpoint reads"
    if start.startswith((b'{"event"', b'{"step"')):
        return "a run log"
    if start.lstrip()[:1] == b"{":
        found = _FORMAT.search(start)
        return KINDS.get(found[1].decode(), "JSON") if found else "JSON"
    return "a TOML file" if _TOML.search(start) else ""


def advice(wanted: str, found: str = "") -> str:
    """Return what to do where `wanted`, the name of a schema, was asked for, and what `seems` says was found."""
    if wanted == "plan" and found == "a TOML file":
        return "compile it with `fivepoint plan`, and give the plan that it writes"
    if wanted == "run" and found == "a plan":
        return "it is compiled already: look at it with `fivepoint show`, or give the run's TOML file"
    return GIVE.get(wanted, "correct the path")
