"""An honest loader that promises less is never called broken: one loader for each promise, which goes without it."""

import pytest
from modest import LOADERS

from fivepoint.conformance.bench import Bench
from fivepoint.conformance.doors import InProcess
from fivepoint.conformance.report.proof import text
from fivepoint.conformance.suite import run


@pytest.mark.long
@pytest.mark.parametrize("promise", LOADERS)
def test_a_loader_without_a_promise_is_refused_at_most(promise):
    with Bench(InProcess(f"modest:{LOADERS[promise].__name__}")) as bench:
        findings = run(bench, shrinking=5)
    proofs = [text(finding) for finding in findings if finding.verdict == "broken"]
    assert not proofs, "\n\n".join(proofs)
    assert any(finding.verdict == "refused" and promise in finding.reason for finding in findings), f"no check needs {promise}"
