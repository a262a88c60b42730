"""Every broken loader of D0 and C1 is caught by its clause and by no unrelated one, and every check there catches one."""

import inspect
from functools import cache

import pytest

from fivepoint.conformance.bench import Bench
from fivepoint.conformance.broken import c1, c1_epochs, c1_refusals, c1_skips, d0, d0_boundaries, d0_elsewhere, d0_files, d0_sizes
from fivepoint.conformance.doors import InProcess
from fivepoint.conformance.suite import collected, run
from fivepoint.conformance.verdict import BROKEN, HOLDS, Finding

LOADERS = {
    f"{module.__name__}:{name}": kind
    for module in (c1, c1_epochs, c1_refusals, c1_skips, d0, d0_boundaries, d0_elsewhere, d0_files, d0_sizes)
    for name, kind in inspect.getmembers(module, inspect.isclass)
    if kind.__module__ == module.__name__ and kind.clause
}
HONEST = ("fivepoint.conformance.drivers.reference:ReferenceDriver", "fivepoint.conformance.broken.honest:Honest")
CHAPTERS = ("D0", "C1")


@cache
def findings(name: str, *select: str) -> tuple[Finding, ...]:
    """Return what the quick mode finds in a loader inside this process, with nothing made smaller."""
    with Bench(InProcess(name)) as bench:
        return tuple(run(bench, select, shrinking=0))


def broken(found: tuple[Finding, ...]) -> dict[str, str]:
    """Return the checks that found a clause broken, and what they found."""
    return {finding.check: f"expected {finding.expected}, got {finding.got}" for finding in found if finding.verdict == BROKEN}


def clauses(found: tuple[Finding, ...]) -> set[str]:
    """Return the clauses that were found broken."""
    return {check.partition("/")[0] for check in broken(found)}


@pytest.mark.parametrize("name", LOADERS)
def test_a_broken_loader_is_caught_by_its_clause(name: str) -> None:
    assert clauses(findings(name, LOADERS[name].clause)) == {LOADERS[name].clause}


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", LOADERS)
def test_a_broken_loader_breaks_no_unrelated_clause(name: str) -> None:
    kind = LOADERS[name]
    assert clauses(findings(name)) <= {kind.clause, *kind.also}, broken(findings(name))


def test_every_check_of_d0_and_c1_catches_a_broken_loader() -> None:
    caught = {check for name, kind in LOADERS.items() for check in broken(findings(name, kind.clause))}
    assert [check.id for check in collected(CHAPTERS) if check.id not in caught] == []


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_loader_is_clean(name: str) -> None:
    assert {finding.check: finding.verdict for finding in findings(name, *CHAPTERS) if finding.verdict != HOLDS} == {}
