"""Prove from plan, shards and logs that a run trained on exactly the planned data, or say at which step, rank and position it did not.

    python examples/prove.py plan.json run

Exit code 0: proven. 1: it was not, and each difference is named. 2: there is nothing to prove it from.
"""

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np
from expected import Expected
from rank_log import read

from fivepoint.errors import FivepointError

Line = dict[str, Any]
SHOWN = 8


@dataclass
class Attempt:
    """One start of the training: how it was split over ranks, after which step it began, and the lines of the steps that it committed."""

    number: int
    began: int
    dp_size: int
    micro_batch: int
    committed: dict[int, Line] = field(default_factory=dict)


@dataclass
class Proof:
    """What was found. Nothing is proven while `problems` is not empty.

    `compared_again` micro-batches are of steps that were lost, `unfinished` of them of steps that nobody committed before a kill.
    """

    attempts: list[Attempt]
    steps: int = 0
    consumed: int = 0
    redone: list[int] = field(default_factory=list)
    compared: int = 0
    compared_again: int = 0
    unfinished: int = 0
    tokens: int = 0
    problems: list[str] = field(default_factory=list)


def prove(expected: Expected, run: Path) -> Proof:
    """Hold the logs of a run to what was expected."""
    attempts = read_attempts(run / "run_log.jsonl")
    counts, proof = settle(attempts), Proof(attempts)
    proof.steps = max(counts, default=0)
    proof.redone = sorted({step for attempt in attempts for step in attempt.committed if counts.get(step) is not attempt})
    proof.consumed = sum(size for _, size in expected.steps[: proof.steps])
    lines = read_lines(run / "ranks")
    seen = np.zeros(expected.plan.length, np.int64)
    for (number, step, rank, micro_batch), found in sorted(lines.items()):
        attempt = attempts[number - 1] if 1 <= number <= len(attempts) else None
        place = f"step {step}, rank {rank}, micro-batch {micro_batch}"
        if attempt is None:
            proof.problems.append(f"{place}: of attempt {number}, which the run log does not know")
            continue
        for line in found:
            positions = _compare(expected, attempt, line, place, proof)
            if counts.get(step) is attempt and positions is not None:
                seen[positions.start : positions.stop] += 1
            elif counts.get(step) is not attempt:
                proof.compared_again += 1
                proof.unfinished += step not in attempt.committed
    _check_run_log(expected, counts, proof)
    _check_missing(expected, attempts, lines, proof)
    _check_coverage(seen, proof)
    return proof


def read_attempts(path: Path) -> list[Attempt]:
    """Return the attempts that the run log names; raises ValueError for a log that begins with no opening."""
    attempts: list[Attempt] = []
    for line in read(path):
        if line.get("event") == "opened":
            attempts.append(Attempt(len(attempts) + 1, line["step"], line["dp_size"], line["micro_batch"]))
        elif not attempts:
            raise ValueError(f"{path}: expected a line with event 'opened' first, found {line}")
        else:
            attempts[-1].committed[line["step"]] = line
    return attempts


def settle(attempts: list[Attempt]) -> dict[int, Attempt]:
    """Return, for each step, the attempt that counts: an attempt that begins after step s undoes what earlier ones did past s."""
    counts: dict[int, Attempt] = {}
    for attempt in attempts:
        counts = {step: earlier for step, earlier in counts.items() if step <= attempt.began}
        counts |= dict.fromkeys(attempt.committed, attempt)
    return counts


def read_lines(folder: Path) -> dict[tuple[int, int, int, int], list[Line]]:
    """Return the lines of all ranks by (attempt, step, rank, micro-batch); there should be one of each."""
    lines: dict[tuple[int, int, int, int], list[Line]] = defaultdict(list)
    for path in sorted(folder.glob("rank-*.jsonl")):
        for line in read(path):
            lines[line["attempt"], line["step"], line["rank"], line["micro_batch"]].append(line)
    return lines


def _check_run_log(expected: Expected, counts: dict[int, Attempt], proof: Proof) -> None:
    if not counts:
        proof.problems.append("expected committed steps in the run log, found none")
    for step in range(1, proof.steps + 1):
        if step not in counts:
            proof.problems.append(f"step {step}: expected a line in the run log, found none")
        elif step > len(expected.steps):
            proof.problems.append(f"step {step}: past the end of the plan, which has {len(expected.steps)} steps")
        elif (end := sum(expected.steps[step - 1])) != (logged := counts[step].committed[step]["consumed"]):
            proof.problems.append(f"step {step}: expected consumed = {end} after it in the run log, found {logged}")


def _compare(expected: Expected, attempt: Attempt, line: Line, place: str, proof: Proof) -> range | None:
    """Compare one line, and return the positions whose tokens it names, None where they are none of the plan's."""
    proof.compared += 1
    try:
        planned = expected.positions(line["step"], attempt.dp_size, line["rank"], line["micro_batch"], attempt.micro_batch)
    except ValueError as reason:
        proof.problems.append(f"{place}: {reason}")
        return None
    proof.tokens += len(planned) * expected.plan.phases[0].seq_len
    if line["sha256"] == expected.digest(planned):
        return planned
    found = expected.find(line["sha256"], attempt.micro_batch)
    what = f"those of {_named(found)}" if found else f"tokens that the plan has at no {len(planned)} neighbouring positions"
    proof.problems.append(f"{place}: expected the tokens of {_named(planned)}, found {what}")
    return found


def _check_missing(expected: Expected, attempts: list[Attempt], lines: dict[tuple[int, int, int, int], list[Line]], proof: Proof) -> None:
    for attempt in attempts:
        for step in attempt.committed:
            size = expected.steps[step - 1][1] if step <= len(expected.steps) else 0
            for rank, micro_batch in product(range(attempt.dp_size), range(size // (attempt.dp_size * attempt.micro_batch))):
                count = len(lines.get((attempt.number, step, rank, micro_batch), ()))
                if count != 1:
                    place = f"step {step}, rank {rank}, micro-batch {micro_batch}"
                    proof.problems.append(f"{place}: expected one line in attempt {attempt.number}, found {count or 'none'}")


def _check_coverage(seen: np.ndarray[Any, Any], proof: Proof) -> None:
    wrong = [(position, int(times)) for position, times in enumerate(seen) if times != (position < proof.consumed)]
    for _, group in groupby(enumerate(wrong), lambda item: (item[1][0] - item[0], item[1][1])):
        run = [position for _, (position, _) in group]
        times, wanted = int(seen[run[0]]), "once" if run[0] < proof.consumed else "never"
        proof.problems.append(
            f"{_named(range(run[0], run[-1] + 1))}: expected {wanted} in the steps that count, found {times or 'no'} times"
        )


def _named(positions: range) -> str:
    first, last = positions.start, positions.stop - 1
    return f"position {first}" if first == last else f"positions {first} to {last}"


def report(expected: Expected, proof: Proof) -> str:
    """Say in words and numbers what holds."""
    text = [f"plan {expected.plan.plan_hash[:16]}...: {len(expected.steps)} steps over {expected.plan.length} positions"]
    for attempt in proof.attempts:
        if attempt.committed:
            first, last = min(attempt.committed), max(attempt.committed)
            where = f"{attempt.dp_size} ranks, {attempt.micro_batch} samples at a time on each"
            text.append(f"attempt {attempt.number}: steps {first} to {last} on {where}")
    if proof.problems:
        text += ["NOT PROVEN:", *(f"- {problem}" for problem in proof.problems[:SHOWN])]
        if len(proof.problems) > SHOWN:
            text.append(f"- and {len(proof.problems) - SHOWN} more")
        return "\n".join(text)
    text += [
        "PROVEN:",
        f"- the {expected.shards} shards ({expected.bytes:,} bytes) and their manifests have the SHA-256 that the plan pins",
        f"- all {proof.compared:,} micro-batches ({proof.tokens:,} tokens) that entered the model on any rank had the SHA-256 that plan "
        "and shards give",
        f"- the {proof.steps} steps that count trained on each of the positions 0 to {proof.consumed - 1} exactly once, and on no other",
        "- what entered the model is what the logs of its ranks say, which the trainer itself writes, a line just before it trains on a "
        "micro-batch: one that logs other tensors than it trains on would not be found out",
        "- which window stands at a position is asked of fivepoint.reference, the one part that loader and proof share: spec/vectors hold "
        "it to the specification, and independent code in tests/ gives the same",
    ]
    if proof.redone:
        killed = f", {proof.unfinished} of them of a step that was not committed before the kill," if proof.unfinished else ""
        text.append(
            f"- steps {proof.redone[0]} to {proof.redone[-1]} were committed, lost and redone; the {proof.compared_again} micro-batches "
            f"lost{killed} are those of the plan too"
        )
    return "\n".join(text)


def main() -> int:
    """Read the command line, print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path)
    parser.add_argument("run", type=Path, help="the folder that train.py wrote")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was found to FILE")
    options = parser.parse_args()
    try:
        expected = Expected(options.plan)
        proof = prove(expected, options.run)
    except (FivepointError, OSError, ValueError, KeyError) as reason:
        print(f"nothing proven: {reason}", file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps({"proven": not proof.problems, **asdict(proof)}), encoding="utf-8")
    print(report(expected, proof))
    return 1 if proof.problems else 0


if __name__ == "__main__":
    sys.exit(main())
