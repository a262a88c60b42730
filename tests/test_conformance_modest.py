"""An honest loader that promises less is never called broken: one loader for each promise, which goes without it."""

import pytest
from modest import LOADERS

from fivepoint.conformance.bench import Bench
from fivepoint.conformance.doors import InProcess
from fivepoint.conformance.matrix import LONG
from fivepoint.conformance.report.proof import text
from fivepoint.conformance.suite import collected, declaration, judge


def expect_refused_at_most(promise: str, checks, most: int | None) -> None:
    with Bench(InProcess(f"modest:{LOADERS[promise].__name__}")) as bench:
        declared = declaration(bench)
        findings = [judge(bench, check, declared, shrinking=5, most=most) for check in checks]
    proofs = [text(finding) for finding in findings if finding.verdict == "broken"]
    assert not proofs, "\n\n".join(proofs)


@pytest.mark.parametrize("promise", LOADERS)
def test_a_loader_without_a_promise_is_refused_at_most_in_each_first_case(promise):
    expect_refused_at_most(promise, [check for check in collected() if check.id not in LONG and check.clause not in LONG], 1)


@pytest.mark.long
@pytest.mark.parametrize("promise", LOADERS)
def test_a_loader_without_a_promise_is_refused_at_most(promise):
    expect_refused_at_most(promise, collected(), None)


@pytest.mark.parametrize("promise", LOADERS)
def test_a_check_needs_the_promise(promise):
    assert [check.id for check in collected() if promise in check.needs]
