"""What the demo says at its end: what was proven, in words and numbers, and what was not."""

import json
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

from console import WIDTH
from settings import FAULTS, VOCABULARY

from fivepoint.corpus.tokenizer import EOD_NAMES
from fivepoint.reference.admission import epochs
from fivepoint.reference.plan import Plan

STATEMENT = "PROVEN: the run trained on exactly the planned data, through a kill and two changes of the number of ranks."


def summary(out: Path, proof: dict[str, Any], reports: dict[str, str], replayed: dict[str, Any], killed: int) -> str:
    """Return the summary of a demo in the folder `out`; raises ValueError where a replayed document is not where it should be."""
    plan = Plan.load(out / "plan.json")
    manifests = {source.name: json.loads((out / "corpus" / source.name / "manifest.json").read_bytes()) for source in plan.sources}
    tokens = {name: manifest["tokens"] for name, manifest in manifests.items()}
    documents = sum(manifest["documents"] for manifest in manifests.values())
    samples = proof["consumed"]
    docs = sum(plan.resolve(position).source == "docs" for position in range(samples))
    ranks = ", then ".join(str(attempt["dp_size"]) for attempt in proof["attempts"])
    first, last = losses(out / "run" / "losses.jsonl")
    origins = [origin(out, document) for document in replayed["documents"]]
    sizes = ", ".join(f"{name} {count:,}" for name, count in tokens.items())
    lines = [
        f"Text: {documents:,} whole documents, {sum(tokens.values()):,} tokens ({sizes}), with a tokenizer of {VOCABULARY:,} entries "
        f"trained on them. docs is {tokens['docs'] / sum(tokens.values()):.1%} of the text and {docs / samples:.1%} of what was served: "
        f"{float(epochs(plan, 'docs')):.2f} epochs.",
        f"Training: {proof['steps']} steps, {samples:,} samples, {samples * plan.phases[0].seq_len:,} tokens, on {ranks} ranks. The loss "
        f"fell from {first:.2f} (mean of the first 10 steps) to {last:.2f} (of the last 10).",
        f"Killed: rank 1, with SIGKILL, in step {killed}. Steps {proof['redone'][0]} to {proof['redone'][-1]}, committed after the newest "
        "checkpoint, were lost and trained again on another number of ranks, with the same samples.",
        f"Compared: all {proof['compared']:,} micro-batches that entered the model on any rank, the {proof['compared_again']} lost ones "
        f"included, {proof['unfinished']} of these of step {killed}, which was not committed. "
        "Each had the SHA-256 that a separate process computed from the plan and the shards, without the loader.",
        f"Covered: each of the positions 0 to {proof['consumed'] - 1:,} exactly once in the steps that count, and no other.",
        *(f"Sabotaged: a loader {FAULTS[fault]} was reported at {report}." for fault, report in reports.items()),
        f"Replayed: step {replayed['step']}, from the plan and the run log alone, to {len(origins)} documents, each found again in the "
        f"text it was cut from, such as {origins[0]}.",
        "Taken on trust: that the trainer tells the truth. What entered the model is known from the logs of its ranks, which it writes "
        "itself (train.py hashes each micro-batch just before it trains on it).",
        "Not proven, because it does not hold: that the weights are those of a run without a kill. Floating-point sums over 4 ranks are "
        "added up in another order than over 2. The data does not depend on that.",
    ]
    wrapped = [fill(line, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False) for line in lines]
    return "\n".join([*wrapped, "", STATEMENT])


def losses(path: Path) -> tuple[float, float]:
    """Return the mean loss of the first and of the last 10 steps; of a step trained twice the last loss counts."""
    found = {line["step"]: line["loss"] for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    ordered = [found[step] for step in sorted(found)]
    return sum(ordered[:10]) / len(ordered[:10]), sum(ordered[-10:]) / len(ordered[-10:])


def origin(out: Path, document: dict[str, Any]) -> str:
    """Return the file that a replayed document came from; raises ValueError where the replayed text is not in it."""
    source = document["source"]
    found = json.loads(kept_lines(out, source)[document["document"]])
    # A window may begin or end inside a character, which a preview shows as U+FFFD, and end with the token that ends a document.
    if document["preview"]["text"].removesuffix(EOD_NAMES[0]).strip("\ufffd") not in found["text"]:
        raise ValueError(f"expected document {document['document']} of {source}, {found['from']}, to hold {document['preview']['text']!r}")
    return str(found["from"])


@cache
def kept_lines(out: Path, source: str) -> list[bytes]:
    """Return the lines of a source's text that became documents of its corpus, in order: all but those that `prepare` dropped."""
    dropped = {json.loads(line)["document"] for line in (out / "corpus" / source / "dropped.jsonl").read_bytes().splitlines()}
    lines = (out / "text" / f"{source}.jsonl").read_bytes().split(b"\n")
    return [line for number, line in enumerate(lines, 1) if line and f"{source}.jsonl:{number}" not in dropped]
