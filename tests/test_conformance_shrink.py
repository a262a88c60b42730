"""A smaller case proves what the larger one proved, and what is measured is neither made smaller nor believed at once."""

import pytest

from fivepoint.conformance.bench import Bench
from fivepoint.conformance.case import Case
from fivepoint.conformance.cases import one_source
from fivepoint.conformance.doors import InProcess
from fivepoint.conformance.registry import Check
from fivepoint.conformance.shrink import kind
from fivepoint.conformance.suite import collected, declaration, judge
from fivepoint.conformance.verdict import BROKEN, HOLDS, Broken, Finding


@pytest.mark.slow
@pytest.mark.parametrize("check", collected(["C4.1/in-the-first-epoch", "C4.3/other-ranks", "C4.4/again-and-again"]), ids=lambda c: c.id)
def test_a_proof_of_a_resumption_has_one_and_is_no_error(check):
    with Bench(InProcess("small:ForgetsWhereItWas")) as bench:
        found = judge(bench, check, declaration(bench), shrinking=20)
    assert found.verdict == BROKEN and found.got.startswith("the sample at token"), found
    assert len(Case.from_json(found.case).legs) == 2


def finding(expected: str, got: str, name: str = "data") -> Finding:
    case = one_source(4).to_json().replace("data", name)
    return Finding("C4.1/x", "C4.1", BROKEN, expected=expected, got=got, case=case)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("token 12 of data", "token 8 of data"), ("token 3 of data", "token 4 of data"), True),
        (("positions [1, 2]", "[3]"), ("positions []", "[4, 5, 6]"), True),
        (("token 12 of data", "token 8 of data"), ("10 samples until the run's end", "8"), False),
        (("an answer to build", "an error, ValueError: 3"), ("an answer to build", "an error, ValueError: none of data"), True),
        (("an answer to build", "an error, ValueError: 3"), ("an answer to next", "an error, ValueError: 3"), False),
        (("an answer to build", "an error, ValueError: 3"), ("an answer to build", "an error, KeyError: 3"), False),
        (("what is promised", "a refusal of build: 3"), ("what is promised", "an error, Refusal: 3"), False),
    ],
)
def test_cases_fail_in_the_same_way_or_not(one, other, same):
    assert (kind(finding(*one)) == kind(finding(*other))) is same


def test_names_of_a_case_are_not_what_failed():
    assert kind(finding("token 1 of data", "x")) == kind(finding("token 2 of other", "x", "other"))


@pytest.mark.parametrize(("clause", "times", "verdict"), [("C4.10", 1, HOLDS), ("C4.10", 2, BROKEN), ("C4.9", 1, BROKEN)])
def test_what_depends_on_time_is_measured_again(clause, times, verdict):
    found = []

    def slow_at_first(bench, case):
        found.append(case)
        if len(found) <= times:
            raise Broken("quick", "slow")

    check = Check(clause, "slow", frozenset(), (), lambda scale: [one_source(20)], slow_at_first)
    with Bench(InProcess("reference")) as bench:
        assert judge(bench, check, declaration(bench), shrinking=0.0 if clause == "C4.9" else 5).verdict == verdict
    assert len({case.to_json() for case in found}) == 1
