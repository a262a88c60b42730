"""C4, the run log and the order of calls."""

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..bench import Bench, Failed, Play, Refused
from ..case import INSIDE, KILL, Case, Leg
from ..cases import mixture, one_source
from ..judging import expect_same_sequence
from ..registry import Scale, check
from ..resuming import stops
from ..trace import StepTrace, Trace
from ..verdict import Broken, NotApplicable


def logged(scale: Scale) -> Iterable[Case]:
    """One source and a mixture, on one rank and two; an odd source that comes rarely."""
    yield one_source(12, leg=Leg(1, 2))
    yield mixture({"a": 40, "b": 30, "c": 9}, {"a": "0.6", "b": "0.35", "c": "0.05"}, 40, leg=Leg(2, 2))


def logged_around_skips(scale: Scale) -> Iterable[Case]:
    """Samples are passed over, so that the data of each later step is that of another one in the plan without."""
    case = mixture({"a": 50, "b": 50}, {"a": "0.7", "b": "0.3"}, 40, leg=Leg(1, 3))
    yield case.with_settings(skips=[(6, 4)])
    yield case.with_settings(skips=[(3, 1), (9, 5)])


def logged_through_stops(scale: Scale) -> Iterable[Case]:
    """Stopped between steps, inside one, and by a kill after steps that were committed and lost."""
    case = mixture({"a": 40, "b": 30}, {"a": "0.7", "b": "0.3"}, 30, leg=Leg(1, 3))
    yield stops(case, 3)
    yield stops(case, 2, stop=INSIDE)
    yield case.with_legs(Leg(1, 3, steps=2, stop=KILL, ahead=2), Leg(1, 3))
    if scale.full:
        yield case.with_legs(Leg(1, 3, steps=2, stop=KILL, ahead=3), Leg(2, 1, steps=1), Leg(1, 2, 2))


def names_what_was_served(bench: Bench, case: Case) -> None:
    """The last record of each step against the tokens that were served in it."""
    *before, last = case.legs
    with bench.open(case) as play:
        for leg in before:
            play.run(leg)
        play.open(last)
        play.steps(last.steps)
        expect_records(play)


for _name, _cases, _needs in (
    ("names-what-was-served", logged, "epochs mixture"),
    ("names-what-was-served-after-a-skip", logged_around_skips, "mixture skips"),
    ("names-what-was-served-after-a-stop", logged_through_stops, "mixture resume elastic rebatch layout"),
):
    check("C4.11", _name, _cases, f"log {_needs}", faults=(15,))(names_what_was_served)


def not_applied(scale: Scale) -> Iterable[Case]:
    """A short run; of each two steps one is committed as not applied."""
    yield one_source(12, leg=Leg(1, 2))


@check("C4.11", "says-what-was-not-applied", not_applied, needs="log commit")
def says_what_was_not_applied(bench: Bench, case: Case) -> None:
    """The record of a step whose update the optimizer skipped says so."""
    with bench.open(case) as play:
        play.open(case.legs[0])
        _alternate(play)
        for number, record in _records(play).items():
            if record.get("applied") is not (number % 2 == 0):
                raise Broken(f"step {number} logged with applied {number % 2 == 0}", f"{record.get('applied')}", step=number - 1)


def torn(scale: Scale) -> Iterable[Case]:
    """A few steps, of which the log has one more than the state; in the full mode it is cut at every byte."""
    yield one_source(20, leg=Leg(1, 2)).with_legs(Leg(1, 2, steps=3, ahead=1), *[Leg(1, 2, steps=2)] * (400 if scale.full else 5))


@check("C4.11", "survives-a-torn-line", torn, needs="log resume", faults=(53,))
def survives_a_torn_line(bench: Bench, case: Case) -> None:
    """The log, cut anywhere in its last line, tells the steps before, and takes the step again."""
    first, last = case.legs[0], case.legs[-1]
    if len(case.legs) < 2 or not first.steps or not first.ahead:
        raise NotApplicable("expected a run that is stopped after its last save")
    with bench.open(case) as play:
        play.open(first)
        play.steps(first.steps)
        play.save()
        play.steps(first.ahead, lost=True)
        play.consumed = first.steps * first.batch_size
        play.close()
        path, whole, start = _log_file(play)
        spread = len(case.legs) - 1
        for cut in sorted({start + (len(whole) - 1 - start) * i // max(1, spread - 1) for i in range(spread)}):
            path.write_bytes(whole[:cut])
            consumed = play.consumed
            play.open(last)
            expect_records(play)
            play.steps(last.steps)
            expect_records(play)
            play.close()
            del play.trace.legs[1:]
            play.consumed = consumed


def expect_records(play: Play) -> None:
    """Raise Broken where the log does not have, of every step that counts, its number, end, sizes and sources."""
    records = _records(play)
    served = list(play.trace.steps())
    for number, (leg, step) in enumerate(served, 1):
        expected = {
            "consumed": step.consumed + leg.leg.batch_size,
            "batch_size": leg.leg.batch_size,
            "samples": dict(_sources(play, step)),
        }
        found = {name: records.get(number, {}).get(name) for name in expected}
        if found != expected:
            got = f"{found}" if number in records else f"the steps {sorted(records)}"
            raise Broken(f"step {number} logged with {expected}", got, leg=leg.number, step=number - 1, position=step.consumed)
    if len(records) > len(served):
        raise Broken(f"{len(served)} steps in the log", f"{len(records)}: {sorted(records)}", step=len(served))


def _sources(play: Play, step: StepTrace) -> Counter[str]:
    counts: Counter[str] = Counter()
    for batches in step.batches:
        for batch in batches:
            for row in batch["inputs"]:
                place = play.trace.identity.place(int(row[0]))
                counts["?" if place is None else play.case.source_of(place.corpus)] += 1
    return counts


def _records(play: Play) -> dict[int, dict[str, Any]]:
    """Return the last record of each step that the log has, up to the last one that was committed and not lost."""
    found = play.ask({"do": "log"}, play.ranks[:1])[0][0]
    if not isinstance(found, list) or not all(isinstance(record, dict) and isinstance(record.get("step"), int) for record in found):
        raise Broken("a list of records, each with its step", str(found)[:120])
    steps: dict[int, dict[str, Any]] = {}
    for record in found:
        if "event" in record:
            # What a leg undoes is served and logged again, or was lost.
            steps = {number: kept for number, kept in steps.items() if number <= record["step"]}
        else:
            steps[record["step"]] = record
    return steps


def _log_file(play: Play) -> tuple[Path, bytes, int]:
    """Return the file in the loader's folder that is a log by F5, its bytes, and where its last line begins."""
    for path in sorted(play.workdir.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            with suppress(ValueError):
                records = [json.loads(line) for line in data.split(b"\n")[:-1]]
                if data.endswith(b"\n") and records and isinstance(records[-1], dict) and {"step", "consumed"} <= records[-1].keys():
                    return path, data, data.rfind(b"\n", 0, len(data) - 1) + 1
    raise Broken("a file in the loader's folder with a line of JSON for each step (F5)", "none")


def one_run(scale: Scale) -> Iterable[Case]:
    """A short run, on one rank and on two."""
    yield one_source(12, leg=Leg(1, 2))
    yield one_source(12, leg=Leg(2, 1, 2))


@check("C4.12", "next-before-commit", one_run, needs="commit", faults=(5, 6))
def next_before_commit(bench: Bench, case: Case) -> None:
    """The next step is asked for twice, first of all and again after a commit."""
    for committed in (0, 1):
        with bench.open(case) as play:
            play.open(case.legs[0])
            play.steps(committed)
            if play.begin() is None:
                raise NotApplicable("expected a run of at least two steps")
            try:
                again = play.begin()
            except (Failed, Refused):
                continue
            got = "the end of the run" if again is None else "a step"
            raise Broken("an error where a step is asked for before the last one was committed", got, leg=0, step=committed + 1)


@check("C4.12", "unapplied-steps-count", not_applied, needs="commit resume", faults=(5, 6))
def unapplied_steps_count(bench: Bench, case: Case) -> None:
    """Steps whose update was not applied are not served again, neither in the run nor after a resume."""
    expect_same_sequence(_stopped(bench, case, True), _stopped(bench, case, False))


def _stopped(bench: Bench, case: Case, applied: bool) -> Trace:
    """Return the run, stopped after three steps, all of them applied or not, and resumed."""
    leg = case.legs[0]
    with bench.open(case) as play:
        play.open(leg)
        _alternate(play, 3, applied)
        play.save()
        play.close()
        play.run(replace(leg, steps=None))
        return play.trace


def _alternate(play: Play, steps: int | None = None, applied: bool = False) -> None:
    """Serve steps, and commit the second, fourth, ... as applied, and the others where `applied` says so."""
    leg = play.trace.legs[-1]
    while len(leg.steps) < (play.settings.length if steps is None else steps) and (step := play.begin()) is not None:
        play.ask({"do": "commit", "applied": applied or len(leg.steps) % 2 == 1})
        leg.steps.append(step)
        play.consumed += play.leg.batch_size
