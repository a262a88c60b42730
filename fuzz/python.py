"""Fuzz targets of the parsers in Python, by atheris: `python fuzz/python.py TARGET [what libFuzzer takes]`.

A target is a function of any bytes. What comes out of a parser is an exception of fivepoint.errors, in one line, or something that
can be written and read again; whatever else is raised is a bug, and ends the program.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path

import atheris
import numpy as np

with atheris.instrument_imports(include=["fivepoint"]):
    from fivepoint.audit import log_lines
    from fivepoint.audit.run_log import RunLog
    from fivepoint.conformance.doors.replies import DriverFault, LoaderError, opened
    from fivepoint.conformance.doors.wire import LARGEST, Rubbish, packed, receive
    from fivepoint.conformance.driver import Refusal
    from fivepoint.conformance.traces import recorded
    from fivepoint.conformance.traces.recording import write_trace
    from fivepoint.corpus import documents as reading
    from fivepoint.corpus.cut import Joint
    from fivepoint.corpus.sources import input_file
    from fivepoint.errors import BudgetError, CheckpointError, FivepointError
    from fivepoint.reference import checkpoint
    from fivepoint.reference.canonical import digest, read_json
    from fivepoint.reference.config import compile_run
    from fivepoint.reference.corpus import CorpusReader
    from fivepoint.reference.manifest import MANIFEST, Manifest
    from fivepoint.reference.plan import Plan

SEEDS = Path(__file__).resolve().parent / "seeds"
FOLDER = Path(tempfile.mkdtemp(prefix="fivepoint-fuzz-"))
TARGETS: dict[str, Callable[[bytes], None]] = {}
QUICK = 1 << 12
"""Sum of weights from which a plan's tables are not made: a million entries take seconds, and no other path."""


def target(function: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """Make a function a target: what it refuses in one line is no bug."""

    def run(data: bytes) -> None:
        try:
            function(data)
        except FivepointError as reason:
            said = str(reason).partition("\n")[0] if isinstance(reason, BudgetError) else str(reason)  # which has a table
            assert said and said.isprintable(), f"expected one line that a terminal shows, found {said!r}"

    TARGETS[function.__name__] = run
    return run


def written(name: str, data: bytes) -> Path:
    """Write a file, and return its path."""
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


@cache
def resumed_plan() -> Plan:
    """Return the plan whose checkpoints are among the seeds."""
    return Plan.load(SEEDS / "plan_file/phases.json")


def admit(plan: Plan, batch_size: int | None = None, whole: Callable[..., None] = Plan.admit) -> None:
    """Admit a plan, unless it takes seconds."""
    if all(sum(phase.weights.values()) <= QUICK for phase in plan.phases):
        whole(plan, batch_size)


Plan.admit = admit  # type: ignore[method-assign]


@target
def manifest(data: bytes) -> None:
    """manifest.json of a corpus."""
    folder = written(f"manifest/{MANIFEST}", data).parent
    found = Manifest.load(folder)
    written(f"manifest/{MANIFEST}", json.dumps(found.to_json()).encode())
    assert Manifest.load(folder).manifest_hash == found.manifest_hash


@target
def index(data: bytes) -> None:
    """The document index of a shard, beside a manifest that fits its size where one can."""
    documents = max(1, (len(data) - 10 - int.from_bytes(data[8:10], "little")) // 8)
    value = json.loads((SEEDS / "manifest/web.json").read_text())
    shard = value["shards"][0] | {"documents": documents}
    written("index/" + MANIFEST, json.dumps(value | {"shards": [shard], "tokens": shard["tokens"], "documents": documents}).encode())
    written("index/" + shard["file"], bytes(shard["bytes"]))
    written("index/" + shard["file"].removesuffix(".bin") + ".idx.npy", data)
    corpus = CorpusReader(FOLDER / "index")
    found = corpus.documents(0, shard["tokens"])
    for number in (int(found[0]), int(found[-1])):
        first, length = corpus.document(number)
        assert (found[first : first + length] == number).all() and (found == number).sum() == length


@target
def plan_file(data: bytes) -> None:
    """A plan's file."""
    found = Plan.load(written("plan.json", data))
    found.save(FOLDER / "again.json")
    assert Plan.load(FOLDER / "again.json") == found
    assert found.cut(found.length).length == found.length


@target
def checkpoint_file(data: bytes) -> None:
    """A loader's state, as it is, and with a hash that fits its plan."""
    plan = resumed_plan()
    state = read_json(written("checkpoint.json", data), CheckpointError, "checkpoint")
    sealed = state
    with suppress(TypeError, ValueError):
        sealed = {**state, "prefix_hash": digest(state["plan"])} if isinstance(state, dict) and "plan" in state else state
    for each in (sealed, state):
        checkpoint.accept(plan, each, "another past is accepted")
        consumed, step, differs = checkpoint.accept(plan, each)
        assert not differs and checkpoint.make(plan, consumed, step)["prefix_hash"] == each["prefix_hash"]


@target
def run_log(data: bytes) -> None:
    """A run log, read, and opened to be written on."""
    path = written("run_log.jsonl", data)
    records = list(log_lines.read(path))
    for record in records:
        if "event" not in record:
            log_lines.find_step(path, record["step"])
    with RunLog(path) as log:
        for record in records[-1:]:
            log.write(record)
    assert list(log_lines.read(path)) == records + records[-1:]


@target
def run_toml(data: bytes) -> None:
    """A run's TOML file, over two corpora."""
    found = compile_run(written("run/run.toml", data))
    found.save(FOLDER / "run/plan.json")
    assert Plan.load(FOLDER / "run/plan.json") == found


@target
def wire(data: bytes) -> None:
    """What the process of a driver answers."""
    stream = BytesIO(data)

    def exactly(size: int) -> bytes:
        assert 0 <= size <= LARGEST, f"expected a frame of at most {LARGEST} bytes, found {size}"
        read = stream.read(size)
        if len(read) < size:
            raise EOFError
        return read

    with suppress(Rubbish, EOFError):
        while True:
            message, frames = receive(stream.readline, exactly)
            with suppress(Refusal, LoaderError, DriverFault):
                opened(message, frames, 0)
            again = BytesIO(b"".join(packed(message, frames)))
            said, same = receive(again.readline, again.read)
            assert json.dumps({**said, "frames": []}) == json.dumps({**message, "frames": []})
            assert all(np.array_equal(one, other) for one, other in zip(frames, same, strict=True))


@target
def trace(data: bytes) -> None:
    """A recorded trace, alone."""
    recording = recorded.read(written("x.trace", data))
    (found,) = recorded.traces([recording])
    declared = recorded.declared([recording])
    (path,) = write_trace(FOLDER, "again", found, sorted(declared.promises), declared.stride)
    (again,) = recorded.traces([recorded.read(path)])
    assert again.case == found.case
    assert [len(leg.steps) for leg in again.legs] == [len(leg.steps) for leg in found.legs]


@target
def documents(data: bytes) -> None:
    """A file of text or JSONL, plain or compressed, as its first byte says; JSONL also as lines too long to be parsed at once."""
    how = data[0] if data else 0
    suffix = (".jsonl", ".txt", ".jsonl.gz", ".jsonl.zst")[how % 4]
    settings = reading.Reading("text", ("refuse", "replace", "skip")[how // 4 % 3], (Joint.SPACE, Joint.LINE))
    found = texts(written("document" + suffix, data[1:]), settings)
    written("again.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in found.values()).encode())
    assert list(texts(FOLDER / "again.jsonl", settings).values()) == list(found.values())
    longest, reading.LONG_LINE = reading.LONG_LINE, 16
    try:
        assert texts(FOLDER / ("document" + suffix), settings).items() >= found.items()
    finally:
        reading.LONG_LINE = longest


def texts(path: Path, settings: reading.Reading) -> dict[str, str]:
    """Return the text of each document of a file that can be used."""
    found: dict[str, str] = {}
    for part in reading.read_parts(input_file(path, path.name), settings):
        if not part.problem:
            found[part.document] = found.get(part.document, "") + part.text
    return found


if __name__ == "__main__":
    for corpus in ("web", "books"):  # which run_toml finds
        (FOLDER / "run" / corpus).mkdir(parents=True)
        (FOLDER / "run" / corpus / MANIFEST).write_bytes((SEEDS / f"manifest/{corpus}.json").read_bytes())
    atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[sys.argv[1]])
    atheris.Fuzz()
