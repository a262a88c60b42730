"""An honest loader that promises less, or refuses what nobody has to serve, is never called broken, and is judged on what is left."""

import random

import frugal
import pytest
import small
from modest import LOADERS

from fivepoint.conformance.asking import asked, beyond, narrowed
from fivepoint.conformance.bench import Bench
from fivepoint.conformance.doors import InProcess
from fivepoint.conformance.matrix import LONG
from fivepoint.conformance.registry import QUICK, Scale
from fivepoint.conformance.report.proof import text
from fivepoint.conformance.strides import fitted
from fivepoint.conformance.suite import collected, declaration, judge

pytestmark = pytest.mark.slow
OTHERS = [f"{module.__name__}:{name}" for module in (frugal, small) for name in module.LOADERS]
SHORT = [check for check in collected() if check.id not in LONG and check.clause not in LONG]
INHERENT = {
    "D0.12/two-tokenizers": {"a source of several corpora"},
    "D0.12/one-under-two-names": {"a source of several corpora"},
    "C1.9/one-collection-once": {"a source of several corpora"},
    "C1.11/repeats-in-a-step": {"several rows a micro-batch", "a source of fewer windows than a step has samples"},
}
"""Checks of what not everybody serves."""


def found_in(loader: str, checks, most: int | None = None):
    with Bench(InProcess(loader)) as bench:
        declared = declaration(bench)
        return [judge(bench, check, declared, shrinking=5, most=most) for check in checks]


def expect_refused_at_most(loader: str, checks, most: int | None) -> None:
    findings = found_in(loader, checks, most)
    proofs = [text(finding) for finding in findings if finding.verdict == "broken"]
    assert not proofs, "\n\n".join(proofs)


@pytest.mark.parametrize("promise", LOADERS)
def test_a_loader_without_a_promise_is_refused_at_most_in_each_first_case(promise):
    expect_refused_at_most(f"modest:No_{promise}", SHORT, 1)


@pytest.mark.long
@pytest.mark.parametrize("promise", LOADERS)
def test_a_loader_without_a_promise_is_refused_at_most(promise):
    expect_refused_at_most(f"modest:No_{promise}", collected(), None)


@pytest.mark.parametrize("promise", LOADERS)
def test_a_check_needs_the_promise(promise):
    assert [check.id for check in collected() if promise in check.needs]


@pytest.mark.parametrize("loader", OTHERS)
def test_a_frugal_loader_is_refused_at_most_in_each_first_case(loader):
    expect_refused_at_most(loader, SHORT, 1)


@pytest.mark.long
@pytest.mark.parametrize("loader", OTHERS)
def test_a_frugal_loader_is_refused_at_most(loader):
    expect_refused_at_most(loader, collected(), None)


@pytest.mark.parametrize(
    ("loader", "selected"),
    [
        ("frugal:SeqLenOfFour", ("C1.3", "C3.3", "D0.1")),
        ("frugal:WholeBatchesOnly", ("C1.3", "D0.1")),
        ("frugal:RefusesToSaveInside", ("C4.2",)),
        ("frugal:SortsEvenFirst", ("C3.3",)),
        ("frugal:Endless", ("C1.10",)),
        ("small:SharesNoTokenForEpochs", ("C1.4", "C1.5")),
        ("small:DrawsAtRandomOnce", ("D0.3", "C2.2")),
        ("small:Unlucky", ("C1.6",)),
    ],
)
def test_a_frugal_loader_is_refused_at_most_where_it_differs(loader, selected):
    expect_refused_at_most(loader, collected(selected), None)


@pytest.mark.parametrize("loader", ["frugal:OneRank", "frugal:OneRowOnly", "small:SharesNoToken"])
def test_a_frugal_loader_is_judged_on_what_it_serves(loader):
    findings = found_in(loader, collected(["V", "D0.2", "D0.4", "C1.3", "C2.1", "C2.5", "C4.1/in-the-first-epoch", "C4.4/again-and-again"]))
    unjudged = {finding.check for finding in findings if finding.verdict != "holds"}
    assert unjudged <= {"C1.3/several-epochs", "C1.3/mixed-epochs", "C2.5/whole-in-every-epoch", "C2.5/no-padding-between-epochs"}


@pytest.mark.parametrize("stride", ["L", "L+1"])
@pytest.mark.parametrize("check", collected(), ids=lambda check: check.id)
def test_a_check_has_a_case_for_who_promises_what_it_needs_and_no_more(check, stride):
    """As the suite plays it: for the stride, and for who refuses larger steps on one rank in steps of one sample."""
    cases = [narrowed(fitted(case, stride)) for case in check.cases(Scale(QUICK, random.Random(0)))]
    beyond_needs = [(asked(case, stride) - check.needs) | {*beyond(case, check.needs, stride)} for case in cases]
    assert any(more <= INHERENT.get(check.id, set()) for more in beyond_needs), min(beyond_needs, key=len)


@pytest.mark.parametrize("stride", ["L", "L+1"])
def test_a_fitted_case_has_as_many_windows_of_either_stride(stride):
    for check in collected(["D0", "C1", "C4"]):
        for case in check.cases(Scale(QUICK, random.Random(0))):
            held = [name for name, corpora in case.settings.sources.items() if {*corpora} <= {spec.name for spec in case.corpora}]
            assert [fitted(case, stride).windows(name, stride) for name in held] == [case.windows(name) for name in held]
