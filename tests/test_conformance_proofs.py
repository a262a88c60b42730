"""A proof names who is at fault and where, and a sample is all of its tokens."""

import numpy as np
import pytest

from fivepoint.conformance.bench import Bench
from fivepoint.conformance.case import Leg
from fivepoint.conformance.cases import one_source
from fivepoint.conformance.doors import InProcess
from fivepoint.conformance.registry import Check
from fivepoint.conformance.suite import declaration, judge, run
from fivepoint.conformance.verdict import NotApplicable

BROKEN = "fivepoint.conformance.broken."


def proof(loader, check):
    with Bench(InProcess(BROKEN + loader)) as bench:
        (finding,) = run(bench, [check], shrinking=0)
    assert finding.verdict == "broken"
    return finding


def test_the_rank_that_repeats_is_named_and_not_the_one_that_is_right():
    assert proof("c2:EveryRankReadsTheSame", "C2.2/all-of-the-step").where["rank"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loader", "check"),
    [
        ("d0:EndsBeforeTheLastWindow", "D0.1/every-window"),
        ("c1:PositionAtLeastOne", "C1.7/served"),
        ("c3_identity:WhereForgetsSkips", "C3.7/where"),
        ("c4_kill:OverAfterAKill", "C4.9/killed-at-any-moment"),
    ],
)
def test_a_proof_has_a_position(loader, check):
    assert "position" in proof(loader, check).where


def test_a_sample_whose_tokens_are_not_those_of_its_window_equals_no_window():
    with Bench(InProcess("reference")) as bench:
        trace = bench.play(one_source(8, leg=Leg(1, 2)))
    assert trace.keys() == trace.windows()
    for batches in (step.batches[0] for _, step in trace.steps()):
        batches[0]["targets"] = np.zeros_like(batches[0]["targets"])
    windows = set(trace.windows())
    assert len(windows) == 8 and windows.isdisjoint(trace.keys())


def test_a_check_that_judged_none_of_its_cases_says_why():
    def nothing_to_judge(bench, case):
        raise NotApplicable("expected another loader")

    check = Check("C4.2", "none", frozenset(), (), lambda scale: [one_source(4)], nothing_to_judge)
    with Bench(InProcess("reference")) as bench:
        assert judge(bench, check, declaration(bench)).reason == "expected another loader"
