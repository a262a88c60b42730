"""A run with a budget: what it has no room for is left out, and said."""

import json
import time

import small
from conforming import conform

from fivepoint.conformance.suite import Budget, collected
from fivepoint.conformance.verdict import OVER


class Slow(small.SharesNoToken):
    """Serves each step late."""

    def next(self):
        time.sleep(0.05)
        return super().next()


def report(tmp_path, *words):
    done = conform("test_conform_budget:Slow", "--select", "C1.3", "--select", "C2", *words, "--json", tmp_path / "report.json")
    return done, json.loads((tmp_path / "report.json").read_text())["findings"]


def test_a_run_ends_about_when_its_budget_does(tmp_path):
    start = time.monotonic()
    done, findings = report(tmp_path, "--budget", 4)
    assert time.monotonic() - start < 12
    assert [each["check"] for each in findings] == [each.id for each in collected(["C1.3", "C2"])]
    cut = [each for each in findings if OVER in each.get("reason", "")]
    assert cut, findings
    assert f"{len(cut)} of {len(findings)} checks were not judged on all their cases: the budget was used up." in done.out


def test_every_check_has_its_first_case_before_one_has_many(tmp_path):
    _, findings = report(tmp_path, "--budget", 8)
    judged = [each for each in findings if each["verdict"] == "holds"]
    assert len(judged) > 3 and any(OVER in each.get("reason", "") for each in judged), findings


def test_a_run_without_one_leaves_nothing_out():
    done = conform("small:SharesNoToken", "--select", "C2.1")
    assert OVER not in done.out


def test_what_one_check_leaves_the_others_share():
    clock = Budget(100, 3)
    assert clock.share() - time.monotonic() < 34
    clock._end += 50  # as if the first had taken no time, and more had been given
    assert 70 < clock.share() - time.monotonic() < 76
    clock._end = time.monotonic() - 1
    assert clock.share() <= time.monotonic()
