"""The suite itself: nothing is unchecked, nothing lost, every broken loader is caught by its clause and by no unrelated one."""

from collections import Counter

import pytest

from fivepoint.conformance import matrix
from fivepoint.conformance.bench import Bench
from fivepoint.conformance.contract import clauses
from fivepoint.conformance.doors import InProcess
from fivepoint.conformance.driver import MUSTS, PROMISES
from fivepoint.conformance.report.proof import text
from fivepoint.conformance.suite import collected, run
from fivepoint.conformance.verdict import BROKEN, HOLDS

CHECKS = collected()
LOADERS = matrix.loaders()
MATRIX = matrix.read()

EXPECTED_CHECKS = {"V": 5, "D0": 28, "C1": 18, "C2": 10, "C3": 17, "C4": 46, "C5": 8}
EXPECTED_LOADERS = {
    **{"apart": 2, "c1": 7, "c1_epochs": 8, "c1_refusals": 12, "c1_skips": 6, "c2": 14, "c3": 14, "c3_identity": 9, "c4": 13},
    **{"c4_elastic": 8, "c4_kill": 7, "c4_log": 7, "c4_past": 11, "c5": 14, "d0": 13, "d0_boundaries": 13, "d0_elsewhere": 12},
    **{"d0_files": 9, "d0_sizes": 4, "drivers": 22, "processes": 6},
}

FAULTS = set(range(1, 61))
ELSEWHERE = {
    31: "a pinned buffer refilled too early: needs a GPU",
    32: "a fork after CUDA: needs a GPU",
    42: "a change of the sequence length: one length in this version",
    52: "offsets past 2^31: needs corpora of gigabytes",
    56: "a stale cache: nothing is cached in this version",
}
"""Faults that no loader of conformance/broken commits, and why."""


def chapter(clause: str) -> str:
    return "V" if clause in MUSTS else clause.partition(".")[0]


def claimed(kind):
    return (kind.clause, *getattr(kind, "also", ()))


def test_every_must_clause_has_a_check():
    checked = {check.clause for check in CHECKS}
    assert [clause.id for clause in clauses().values() if clause.must and clause.id not in checked] == []


def test_every_cited_clause_exists():
    cited = {check.id: check.clause for check in CHECKS} | {
        f"{name} {clause}": clause for name, kind in LOADERS.items() for clause in claimed(kind)
    }
    assert {who: clause for who, clause in cited.items() if clause not in clauses()} == {}


def test_every_cited_fault_and_promise_exists():
    assert {check.id: check.faults for check in CHECKS if not FAULTS.issuperset(check.faults)} == {}
    assert {name: row.fault for name, row in MATRIX.items() if row.fault is not None and row.fault not in FAULTS} == {}
    assert {check.id: check.needs - PROMISES.keys() for check in CHECKS if check.needs - PROMISES.keys()} == {}


def test_every_fault_in_scope_is_committed_and_looked_for():
    committed = {row.fault for row in MATRIX.values()} - {None}
    looked_for = {fault for check in CHECKS for fault in check.faults}
    assert sorted(FAULTS - committed - ELSEWHERE.keys()) == []
    assert sorted(FAULTS - looked_for - ELSEWHERE.keys()) == []


def test_a_fault_is_caught_by_a_check_that_names_it():
    faults = {check.id: check.faults for check in CHECKS}
    astray = [name for name, row in MATRIX.items() if row.fault and not any(row.fault in faults[check] for check in row.caught_by)]
    assert astray == []


def test_no_check_and_no_broken_loader_was_lost():
    assert Counter(chapter(check.clause) for check in CHECKS) == EXPECTED_CHECKS
    assert Counter(name.partition(".")[0] for name in LOADERS) == EXPECTED_LOADERS


def test_the_matrix_has_a_row_for_each_broken_loader_as_it_is():
    assert {name: (kind.clause, getattr(kind, "fault", None), claimed(kind)[1:]) for name, kind in LOADERS.items()} == {
        name: (row.clause, row.fault, row.also) for name, row in MATRIX.items()
    }, "the matrix is of other loaders: make matrix"


def test_broken_loaders_are_caught_by_their_clause_and_by_no_unrelated_one():
    assert matrix.astray(MATRIX) == {}


def test_every_check_catches_a_broken_loader():
    assert matrix.idle(MATRIX.values()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", LOADERS)
def test_the_checks_that_caught_a_loader_catch_it_again(name):
    assert matrix.caught_again(name, MATRIX[name]) == MATRIX[name].caught_by, "the checks find something else: make matrix"


@pytest.mark.long
@pytest.mark.parametrize("name", LOADERS)
def test_the_matrix_is_current(name):
    assert matrix.measure(name) == MATRIX[name], "the checks find something else: make matrix"


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", LOADERS)
def test_a_broken_loader_breaks_no_unrelated_clause(name):
    found = matrix.measure(name, thorough=True)
    assert set(found.broken) <= set(claimed(LOADERS[name])), found.caught_by


HONEST = ["reference", "fivepoint.conformance.broken.honest:Honest", "fivepoint.conformance.broken.c4_log:Logging"]


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_loader_is_clean(name):
    expect_clean(name, "quick", 0)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("seed", [1, 2])
def test_an_honest_loader_is_clean_in_the_full_mode(name, seed):
    expect_clean(name, "full", seed)


def expect_clean(name, mode, seed):
    with Bench(InProcess(name)) as bench:
        findings = run(bench, mode=mode, seed=seed)
    proofs = [text(finding) for finding in findings if finding.verdict == BROKEN]
    assert not proofs, "\n\n".join(proofs)
    if name == "reference":
        assert {finding.verdict for finding in findings} == {HOLDS}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reference", "fivepoint.conformance.broken.c2:EveryRankReadsTheSame"])
def test_one_seed_gives_one_report(name):
    found = []
    for _ in range(2):
        with Bench(InProcess(name)) as bench:
            findings = run(bench, ["C1.3", "C2", "C3.4", "C4.4"], seed=5, shrinking=0)
        found.append([{key: value for key, value in finding.to_json().items() if key != "seconds"} for finding in findings])
    assert found[0] == found[1]
