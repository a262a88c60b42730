"""Recorded traces: written by a training loop's function, put together from the files of the ranks, and judged."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from conforming import conform

from fivepoint.conformance.bench import Bench
from fivepoint.conformance.case import KILL, Case, Leg
from fivepoint.conformance.cases import mixture, one_source
from fivepoint.conformance.doors import InProcess
from fivepoint.conformance.driver import PROMISES
from fivepoint.conformance.suite import collected
from fivepoint.conformance.traces import record as recorder
from fivepoint.conformance.traces.lending import Recorded, judge
from fivepoint.conformance.traces.recorded import declared, read, traces
from fivepoint.conformance.traces.recording import write_trace
from fivepoint.errors import UsageError

BROKEN = "fivepoint.conformance.broken."
EPOCH = one_source(24, leg=Leg(2, 2))


@pytest.fixture
def played(tmp_path):
    """Play a case on a loader, record it, and return the files."""

    def play(case: Case, loader: str = "reference", run: str = "run", promises: frozenset[str] = frozenset(PROMISES) - {"boundaries"}):
        with Bench(InProcess(loader)) as bench:
            return write_trace(tmp_path, run, bench.play(case), sorted(promises))

    return play


def findings(files):
    recordings = [read(file) for file in files]
    bench = Recorded(traces(recordings), declared(recordings))
    return {check.id: judge(bench, check) for check in collected()}


def broken(files) -> list[str]:
    return sorted(check for check, finding in findings(files).items() if finding.verdict == "broken")


def test_what_is_read_is_what_was_served(played):
    case = one_source(24, leg=Leg(2, 2, tp=2)).with_legs(Leg(2, 2, tp=2, steps=2), Leg(1, 4))
    with Bench(InProcess("reference")) as bench:
        served = bench.play(case)
    (found,) = traces(read(file) for file in played(case))
    assert found.keys() == served.keys() and found.blocks() == served.blocks()
    assert [(leg.start, leg.ended, leg.leg) for leg in found.legs] == [(leg.start, leg.ended, leg.leg) for leg in served.legs]
    for (_, before), (_, after) in zip(served.steps(), found.steps(), strict=True):
        for ours, theirs in zip(before.batches, after.batches, strict=True):
            assert [batch.keys() for batch in ours] == [batch.keys() for batch in theirs]
            assert all(np.array_equal(a[name], b[name]) for a, b in zip(ours, theirs, strict=True) for name in a)


@pytest.mark.parametrize(
    ("loader", "case", "check"),
    [
        ("c2:EveryRankReadsTheSame", EPOCH, "C2.1/one-rank-each"),
        ("c2:PadsTheLastStep", one_source(9, leg=Leg(2, 2)), "C2.5/no-padding"),
        ("c2:SlicesByTheGlobalRank", one_source(8, leg=Leg(2, tp=2)), "C2.3/peers-agree"),
        ("d0:LastTargetMadeUp", EPOCH, "D0.2/next-token"),
    ],
)
def test_one_trace_is_enough_for_a_fault_in_it(played, loader, case, check):
    assert check in broken(played(case, BROKEN + loader))


def test_two_traces_on_other_ranks_are_held_to_one_sequence(played):
    whole = played(one_source(24, leg=Leg(1, 4)), run="whole")
    assert broken([*whole, *played(EPOCH)]) == []
    assert "C2.2/all-of-the-step" in broken([*whole, *played(EPOCH, BROKEN + "c2:ShardsTwice")])


def test_a_run_of_several_legs_is_held_to_one_without_a_stop(played):
    resumed = EPOCH.with_legs(Leg(2, 2, steps=2), Leg(2, 2))
    whole = played(EPOCH, run="whole")
    assert findings([*whole, *played(resumed)])["C4.1/in-the-first-epoch"].verdict == "holds"
    stale = BROKEN + "c4:StateBeforeTheCounter"
    assert "C4.1/in-the-first-epoch" in broken([*whole, *played(resumed, stale)])


@pytest.mark.slow
def test_steps_that_a_restart_lost_are_held_to_those_that_it_served_in_their_place(played):
    """Without another run to compare with: what was lost was served twice."""
    killed = EPOCH.with_legs(Leg(2, 2, steps=2, stop=KILL, ahead=2), Leg(2, 2))
    assert findings(played(killed))["C4.1/in-the-first-epoch"].verdict == "holds"
    assert "C4.1/in-the-first-epoch" in broken(played(killed, BROKEN + "c4:StateBeforeTheCounter"))


def test_a_mixture_without_a_prefix_shows_overlap_and_repeats(played):
    """Whatever the order of sources: within its first epoch a source shows no sample twice."""
    case = mixture({"a": 60, "b": 60}, {"a": "0.5", "b": "0.5"}, 32, leg=Leg(2, 2))
    promises = frozenset({"mixture", "mixed_epochs", "whole_steps"})
    found = findings(played(case, promises=promises))
    assert {found[check].verdict for check in ("C2.1/one-rank-each", "C2.5/no-padding")} == {"holds"}
    found = findings(played(case, BROKEN + "c2:EveryRankReadsTheSame", promises=promises))
    assert {found[check].verdict for check in ("C2.1/one-rank-each", "C2.5/no-padding")} == {"broken"}


def test_what_was_not_promised_is_refused(played):
    files = played(mixture({"a": 30, "b": 20}, {"a": "0.6", "b": "0.4"}, 30), promises=frozenset({"epochs"}))
    found = findings(files)
    assert found["D0.2/next-token"].verdict == "refused"
    assert found["D0.2/next-token"].reason == "the trace takes what is not promised: mixture"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_honest_traces_are_never_broken(played, seed):
    """Random data, layouts and stops, cut off at random places, with some of the promises."""
    chance = random.Random(seed)
    shape = {"tp": chance.choice([1, 2])}
    legs = [Leg(chance.randint(1, 3), chance.randint(1, 3), chance.randint(1, 2), **shape) for _ in range(chance.randint(1, 3))]
    legs = [*(replace(leg, steps=chance.randint(1, 3)) for leg in legs[:-1]), legs[-1]]
    sizes = {name: chance.randint(12, 40) for name in "abc"[: chance.randint(1, 3)]}
    case = mixture(sizes, {name: str(chance.randint(1, 5)) for name in sizes}, chance.randint(60, 90), seed=seed).with_legs(*legs)
    if chance.random() < 0.5:
        case = case.with_settings(skips=[(chance.randrange(20), chance.randint(1, 9))])
    if chance.random() < 0.3:
        case = case.with_legs(*legs[:-1], replace(legs[-1], steps=2))
    promises = frozenset(name for name in PROMISES if name != "boundaries" and chance.random() < 0.9)
    runs = [(case, "run"), (case, "again"), (case.with_legs(Leg(2, 2)), "whole"), (case.with_legs(Leg(2, 2)), "twice")]
    files = [file for one, run in runs for file in played(one, run=run, promises=promises)]
    for one in ([files[0].parent / file.name for file in files], [file for file in files if file.name.startswith("run")]):
        assert broken(one) == []


def test_the_function_takes_what_numpy_can_view(tmp_path):
    case = json.loads(one_source(2).to_json())
    file = recorder.start(tmp_path / "a.trace", case, 0, 1, 1)
    recorder.record(file, [{"inputs": [[0, 1, 2, 3]], "targets": np.array([[1, 2, 3, 4]], np.int16)}])
    recorder.record(file, [{"inputs": [[4, 5, 6, 7]], "targets": [[5, 6, 7, 8]]}])
    recorder.finish(file, ended=True)
    found = findings([tmp_path / "a.trace"])
    assert {found[check].verdict for check in ("D0.1/on-the-grid", "D0.2/next-token", "C1.3/one-epoch")} == {"holds"}


class TestDamaged:
    """Files that are no whole traces."""

    def test_a_torn_last_message_is_left_out(self, played):
        for size in (1, 30, 200):
            files = played(one_source(8))
            files[0].write_bytes(files[0].read_bytes()[:-size])
            (found,) = traces([read(files[0])])
            assert len(found.legs[0].steps) in (7, 8) and not found.legs[0].ended

    def test_the_file_of_a_rank_is_missing(self, played):
        with pytest.raises(UsageError, match="expected a file of each process on leg 0 of run 'run'"):
            traces([read(played(EPOCH)[0])])

    def test_a_leg_that_begins_where_no_step_ended(self, played):
        files = played(EPOCH.with_legs(Leg(2, 2, steps=2), Leg(2, 2)))
        for file in files[2:]:
            file.write_bytes(file.read_bytes().replace(b'"consumed": 8', b'"consumed": 6', 1))
        with pytest.raises(UsageError, match="to begin at the end of a step before it, found 6"):
            traces([read(file) for file in files])

    def test_a_leg_without_those_before_it(self, played):
        files = played(EPOCH.with_legs(Leg(2, 2, steps=2), Leg(2, 2)))
        with pytest.raises(UsageError, match="expected the legs of run 'run' from 0 on, found 1; give all of its files"):
            traces([read(file) for file in files[2:]])

    def test_a_promise_that_is_none(self, played):
        with pytest.raises(UsageError, match="expected promises that DRIVERS\\.md lists, found the moon"):
            declared([read(file) for file in played(EPOCH, promises=frozenset({"the moon"}))])

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("corpora", []),
            ("corpora", [{"name": "../../etc/x", "documents": [40]}]),
            ("corpora", [{"name": "data", "documents": [10**12]}]),
            ("corpora", 5),
        ],
    )
    def test_a_case_that_is_none_is_one_sentence(self, tmp_path, field, value):
        case = json.loads(one_source(2).to_json()) | {field: value}
        recorder.finish(recorder.start(tmp_path / "x.trace", case, 0, 1, 1), ended=False)
        done = conform("--trace", tmp_path / "x.trace")
        assert (done.code, "x.trace" in done.out, "\n" in done.out.strip()) == (UsageError.exit_code, True, False), done.out

    def test_other_promises_in_one_judgement(self, played):
        files = [*played(EPOCH), *played(EPOCH, run="other", promises=frozenset())]
        with pytest.raises(UsageError, match="expected traces with the same promises"):
            declared([read(file) for file in files])

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"rubbish\n",
            b"{}\n",
            b'{"format": "fivepoint-trace", "version": 2}\n',
            b"\xff\xfe\n",
            b"[1, 2]\n",
            b"[" * 100_000 + b"]" * 100_000 + b"\n",
            b'{"frames": [{"dtype": "uint8", "shape": [1e400]}]}\n',
        ],
    )
    def test_what_is_no_trace_is_one_sentence(self, tmp_path, content):
        (tmp_path / "x.trace").write_bytes(content)
        done = conform("--trace", tmp_path / "x.trace")
        assert (done.code, "x.trace" in done.out) == (UsageError.exit_code, True), done.out

    def test_a_step_of_the_wrong_shape_is_named(self, tmp_path):
        file = recorder.start(tmp_path / "x.trace", json.loads(one_source(2).to_json()), 0, 1, 2)
        recorder.record(file, [{"inputs": [[0, 1, 2, 3]]}])
        recorder.finish(file, ended=False)
        done = conform("--trace", tmp_path / "x.trace")
        assert done.code == UsageError.exit_code and "a step of 1 rows in place of 2" in done.out


def test_a_short_step_where_an_epoch_ends_is_the_loaders_fault(tmp_path):
    """The default of common samplers; a loop that records it is no less a trace."""
    case = one_source(9, 27, leg=Leg(1, 2))
    with Bench(InProcess("reference")) as bench:
        rows = [sample.inputs for sample in bench.play(case).samples()]
    for promises, verdict in ((["epochs", "whole_steps"], "broken"), (["epochs"], "refused")):
        file = recorder.start(tmp_path / "a.trace", json.loads(case.to_json()), 0, 1, 2, promises=promises)
        for start in range(0, 18, 9):
            for at in range(start, start + 9, 2):
                recorder.record(file, [{"inputs": np.stack(rows[at : min(at + 2, start + 9)])}])
        recorder.finish(file, ended=True)
        found = findings([tmp_path / "a.trace"])
        assert found["C2.5/whole-in-every-epoch"].verdict == verdict
        assert [check for check, finding in found.items() if finding.verdict == "broken"] == ["C2.5/whole-in-every-epoch"] * (
            verdict == "broken"
        )
        assert found["D0.1/on-the-grid"].verdict == "holds"


def test_a_case_may_ask_for_more_than_a_loader_gives(played):
    """Boundaries that the case asks for, and that are neither promised nor served, hide nothing else."""
    found = findings(played(one_source(24).with_settings(boundaries=True), promises=frozenset()))
    assert (found["D0.2/next-token"].verdict, found["D0.6/position-ids"].verdict) == ("holds", "refused")


def test_the_command_records_and_judges(tmp_path):
    done = conform("--record", tmp_path, "reference")
    assert done.code == 0, done.out
    files = sorted(tmp_path.glob("*.trace"))
    assert files and (tmp_path / "case.json").exists() and (tmp_path / "corpus" / "large" / "manifest.json").exists()
    done = conform("--trace", *files, "--json", tmp_path / "report.json")
    assert done.code == 0, done.out
    assert "D0.7" in next(line for line in done.out.splitlines() if line.startswith("holds:"))
    assert json.loads((tmp_path / "report.json").read_text())["mode"] == "trace"
