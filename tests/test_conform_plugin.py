"""The pytest plugin of the suite: `pytest --pyargs fivepoint.conformance --loader NAME`."""

import shlex
import sys
from pathlib import Path

import pytest
from conforming import BROKEN

from fivepoint.conformance.contract import clauses
from fivepoint.conformance.suite import collected

pytest_plugins = ["pytester"]

# pytester forgets what a test imports, so the checks are loaded before it looks
CHECKS = [check.id for check in collected()]
SUITE = ("--pyargs", "fivepoint.conformance", "-p", "no:cacheprovider")


@pytest.fixture
def suite(pytester):
    """Run pytest in a folder of its own, in a process of its own."""
    return lambda *words: pytester.runpytest_subprocess(*SUITE, *words)


@pytest.mark.slow
def test_each_check_is_a_test_named_after_its_clause(suite):
    done = suite("--loader", "reference", "--collect-only", "-q")
    listed = [line for line in done.outlines if "::" in line]
    expected = ["declaration", *CHECKS]
    assert listed == [f"fivepoint.conformance::{name}" for name in expected]


def test_the_reference_passes(suite):
    suite("--loader", "reference", "-k", "C2.1 or C2.4 or declaration").assert_outcomes(passed=3, deselected=len(CHECKS) - 2)


@pytest.mark.slow
def test_broken_is_a_failure_whose_message_is_the_proof(suite, pytester):
    done = suite("--loader", BROKEN, "-k", "C2.1 or C2.4")
    done.assert_outcomes(passed=1, failed=1, deselected=len(CHECKS) - 1)
    said = done.stdout.str()
    assert clauses()["C2.1"].sentence in said and "fivepoint conform " in said
    assert "Traceback" not in said and "plugin.py" not in said
    assert [path.name for path in (pytester.path / "fivepoint-cases").rglob("*.json")] == ["C2.1-one-rank-each.json"]


@pytest.mark.slow
def test_refused_is_skipped_with_its_reason(suite, pytester):
    pytester.copy_example(str(Path(__file__).with_name("quiet_driver.py")))
    done = suite("--loader", "quiet_driver:QuietDriver", "-k", "C2.3 or C2.1", "-rs")
    done.assert_outcomes(passed=1, skipped=1, deselected=len(CHECKS) - 1)
    done.stdout.fnmatch_lines(["*refused: does not promise peers*"])


@pytest.mark.slow
def test_a_known_failure_is_expected_and_one_that_passes_is_an_error(suite, pytester):
    (pytester.path / "known").write_text("C2.1/one-rank-each as we know\nC2.4/ranks-end-together as we thought\n")
    done = suite("--loader", BROKEN, "-k", "C2.1 or C2.4", "--known-failures", "known")
    done.assert_outcomes(xfailed=1, failed=1, deselected=len(CHECKS) - 1)
    done.stdout.fnmatch_lines(["C2.4/ranks-end-together is listed as a known failure (as we thought), and holds"])


def test_without_a_loader_nothing_of_the_suite_is_collected(suite):
    assert suite().ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_other_runs_are_not_disturbed(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_nothing_of_the_suite_was_loaded():
            assert not [name for name in sys.modules if name.startswith("fivepoint.") and not name.startswith("fivepoint.conformance")]
            assert {name for name in sys.modules if name.startswith("fivepoint.conformance.")} <= {"fivepoint.conformance.plugin"}
        """
    )
    pytester.runpytest_subprocess("--strict-markers").assert_outcomes(passed=1)


def test_an_unknown_loader_is_a_usage_error(suite):
    done = suite("--loader", "no-such-loader")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "no-such-loader" in done.stderr.str()


@pytest.mark.slow
def test_the_mode_and_the_seed_stand_in_the_header(suite):
    done = suite("--loader", "reference", "--conform-mode", "full", "--conform-seed", "7", "-k", "declaration")
    done.stdout.fnmatch_lines(["fivepoint conformance: reference, full mode, seed 7"])


@pytest.mark.slow
def test_a_driver_that_declares_rubbish_fails_once(suite, pytester):
    pytester.makepyfile(
        rubbish="""
        from fivepoint.conformance.drivers.reference import ReferenceDriver

        class Rubbish(ReferenceDriver):
            promises = frozenset({"the moon"})
        """
    )
    done = suite("--loader", "rubbish:Rubbish", "-k", "declaration or C2.1")
    done.assert_outcomes(failed=1, skipped=1, deselected=len(CHECKS) - 1)
    assert "the moon" in done.stdout.str()


@pytest.mark.slow
def test_a_driver_at_fault_costs_one_time_limit(suite, pytester):
    pytester.makepyfile(
        silent="""
        import time
        from fivepoint.conformance.broken.honest import Honest

        class Silent(Honest):
            def next(self):
                time.sleep(1000)
        """
    )
    done = suite("--loader", "silent:Silent", "--conform-limit", "3", "-k", "V1 or V2 or C2", "-rs")
    counted = done.parseoutcomes()
    assert counted["failed"] == 1 and counted["skipped"] >= 8, done.stdout.str()
    done.stdout.fnmatch_lines(["*given up: V1/steps found V2 broken*"])


@pytest.mark.slow
def test_a_process_is_judged_as_a_loader_is(suite):
    command = shlex.join([sys.executable, "-P", "-m", "fivepoint.conformance.doors.host", "reference"])
    suite("--conform-process", command, "-k", "C2.4").assert_outcomes(passed=1, deselected=len(CHECKS))
