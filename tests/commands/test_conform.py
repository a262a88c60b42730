"""The command `fivepoint conform`: verdicts, proofs, reports, exit codes."""

import json
import shlex
import sys
import xml.etree.ElementTree as Xml

import pytest
from conforming import BROKEN, conform
from typer.testing import CliRunner

from fivepoint import spec
from fivepoint.cli import app
from fivepoint.conformance.cases import one_source
from fivepoint.conformance.contract import clauses
from fivepoint.conformance.report.words import plain
from fivepoint.errors import OutputError, UsageError
from fivepoint.reference.schema import validate

CHECK = "C2.1/one-rank-each"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_clean_loader_ends_with_zero():
    done = conform("reference", "--select", "C2.1", "--select", CHECK)
    assert done.code == 0, done.out
    assert "holds: C2.1" in done.out


def test_a_report_on_little_says_so():
    done = conform("small:SharesNoToken", "--select", "C1")
    assert done.code == 0, done.out
    assert "checks, 17 were refused: of what was not judged nothing is known" in done.out
    assert "were refused" not in conform("small:SharesNoToken", "--select", "C2.1").out


def test_a_report_on_a_driver_at_fault_says_so():
    done = conform("fivepoint.conformance.broken.drivers:GivesFloats", "--select", "V1")
    assert done.code == 1 and "The driver does not do what it must (V1): what else" in done.out, done.out


def test_a_clause_with_should_counts_and_is_called_one():
    done = conform("fivepoint.conformance.broken.c2:StridesThroughTheStep", "--select", "C2.6")
    assert done.code == 1 and "C2.6 says SHOULD: a loader may have its reason" in done.out, done.out


def test_a_broken_loader_ends_with_one_and_a_proof(tmp_path):
    done = conform(BROKEN, "--select", "C2.1")
    assert done.code == 1, done.out
    for said in (
        clauses()["C2.1"].sentence,
        "rank 1",
        "step 0",
        "position",
        "document data:0",
        "expected ",
        "got ",
        "2 dp ranks",
        "reproduce ",
    ):
        assert said in done.out, f"{said!r} is missing:\n{done.out}"
    assert list((tmp_path / "fivepoint-cases").rglob("*.json"))


def test_the_command_of_a_proof_shows_it_again(tmp_path):
    first = conform(BROKEN, "--select", "C2.1", "--json", "first.json")
    (command,) = [line.split("reproduce")[1] for line in first.out.splitlines() if line.startswith("  reproduce")]
    program, verb, *words = shlex.split(command)
    assert (program, verb) == ("fivepoint", "conform")
    again = conform(*words, "--json", "again.json")
    assert again.code == 1, again.out
    (before,), (after,) = (json.loads((tmp_path / name).read_text())["findings"] for name in ("first.json", "again.json"))
    for field in ("check", "clause", "verdict", "expected", "got", "where", "case"):
        assert after[field] == before[field], field


def test_a_proof_is_of_the_smallest_case(tmp_path):
    conform(BROKEN, "--select", "C2.1", "--json", "report.json")
    (finding,) = json.loads((tmp_path / "report.json").read_text())["findings"]
    (leg,) = finding["case"]["legs"]
    assert (leg["dp_size"], leg["micro_batch"], leg["accumulation"]) == (2, 1, 1)


def test_a_failure_of_chapter_two_leaves_the_rest_holding():
    done = conform(BROKEN, "--select", "C2.1", "--select", "C2.4")
    assert "still holds: C2.4" in done.out
    assert "broken: C2.1" in done.out


def test_the_json_report_fits_its_schema(tmp_path):
    conform(BROKEN, "--select", "C2", "--seed", 3, "--json", "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    validate(report, "conformance", "report.json", UsageError)
    assert (report["loader"], report["mode"], report["seed"], report["stride"]) == (BROKEN, "quick", 3, "L")
    assert "layout" in report["promises"]
    verdicts = {row["clause"]: row["verdict"] for row in report["clauses"]}
    assert verdicts["C2.1"] == "broken" and verdicts["C2.4"] == "holds"
    assert all(row["sentence"] in spec.text("contract.md") for row in report["clauses"])


def test_junit_has_a_test_case_for_each_check(tmp_path):
    conform(BROKEN, "--select", "C2", "--junit", "report.xml", "--json", "report.json")
    suite = Xml.parse(tmp_path / "report.xml").getroot()[0]
    findings = json.loads((tmp_path / "report.json").read_text())["findings"]
    assert [case.get("name") for case in suite] == [finding["check"] for finding in findings]
    broken = [case.get("name") for case in suite if case.find("failure") is not None]
    assert broken == [finding["check"] for finding in findings if finding["verdict"] == "broken"]
    assert int(suite.get("failures")) == len(broken)
    assert clauses()["C2.1"].sentence in suite.find("testcase[failure]").find("failure").text


def test_a_loader_that_promises_nothing_is_refused_not_broken(tmp_path):
    done = conform("quiet_driver:QuietDriver", "--select", "C2", "--junit", "report.xml", "--json", "report.json")
    assert done.code == 0, done.out
    report = json.loads((tmp_path / "report.json").read_text())
    assert {"holds", "refused"} >= {finding["verdict"] for finding in report["findings"]}
    assert {"refused"} <= {row["verdict"] for row in report["clauses"]}
    suite = Xml.parse(tmp_path / "report.xml").getroot()[0]
    skipped = [case.find("skipped").get("message") for case in suite if case.find("skipped") is not None]
    assert "refused: does not promise peers" in skipped


class TestKnownFailures:
    """A file of checks that are known to fail."""

    def test_a_known_failure_does_not_fail_the_run(self, tmp_path):
        (tmp_path / "known").write_text(f"# what we know\n\n{CHECK} every rank reads the same, see ticket 7\n")
        done = conform(BROKEN, "--select", "C2.1", "--known", "known")
        assert done.code == 0, done.out
        assert "as is known: every rank reads the same, see ticket 7" in done.out

    def test_a_listed_check_that_passes_is_an_error(self, tmp_path):
        (tmp_path / "known").write_text(f"{CHECK} it was so\n")
        done = conform("reference", "--select", "C2.1", "--known", "known")
        assert done.code == 1, done.out
        assert f"{CHECK} is listed as a known failure (it was so), and holds" in done.out

    def test_a_listed_check_that_was_not_judged_is_an_error(self, tmp_path):
        (tmp_path / "known").write_text("C2.3/peers-agree it was so\n")
        done = conform("quiet_driver:QuietDriver", "--select", "C2.3", "--known", "known")
        said = "C2.3/peers-agree is listed as a known failure (it was so), and was not judged, but refused: does not promise peers"
        assert done.code == 1 and said in done.out, done.out

    def test_the_drivers_fault_inside_a_listed_check_is_not_what_is_known(self, tmp_path):
        (tmp_path / "known").write_text(f"{CHECK} it was so\n")
        done = conform("fivepoint.conformance.broken.processes:IsKilled", "--select", CHECK, "--known", "known")
        assert done.code == 1 and "as is known" not in done.out, done.out

    def test_a_listed_check_that_is_not_selected_is_none(self, tmp_path):
        (tmp_path / "known").write_text(f"{CHECK} it was so\n")
        assert conform("reference", "--select", "C2.4", "--known", "known").code == 0

    @pytest.mark.parametrize("line", ["no/such because", CHECK, f"{CHECK}   "])
    def test_a_line_without_a_check_and_a_reason_is_refused(self, tmp_path, line):
        (tmp_path / "known").write_text(f"\n{line}\n")
        done = conform("reference", "--select", "C2.1", "--known", "known")
        assert (done.code, "known:2" in done.out) == (UsageError.exit_code, True), done.out


class TestOutputs:
    """Files of a report: tried before, written after, and one run's not in another's place."""

    @pytest.mark.parametrize("words", [("--json", "/proc/x/r.json"), ("--junit", "none/r.xml"), ("--cases", "/proc/x")])
    def test_what_cannot_be_written_is_refused_before_anything_is_judged(self, words):
        done = conform("no-such-loader", *words)
        assert done.code == OutputError.exit_code and f"cannot write {words[1]}" in done.out, done.out

    def test_results_are_printed_before_they_are_written(self, monkeypatch):
        monkeypatch.setattr("fivepoint.conformance.running.Outputs.expect_writable", lambda outputs: None)
        done = CliRunner().invoke(app, ["conform", BROKEN, "--select", "C2.1", "--json", "none/r.json"])
        assert isinstance(done.exception, OutputError) and "broken: C2.1" in done.output

    def test_cases_have_a_folder_for_each_loader_and_seed(self, tmp_path):
        for seed in (0, 7):
            conform(BROKEN, "--select", "C2.1", "--seed", seed)
        conform("fivepoint.conformance.broken.c2:ShardsTwice", "--select", "C2.2")
        names = {str(path.parent.relative_to(tmp_path / "fivepoint-cases")) for path in (tmp_path / "fivepoint-cases").rglob("*.json")}
        own = BROKEN.replace(":", ".")
        assert names == {f"{own}/seed-0", f"{own}/seed-7", "fivepoint.conformance.broken.c2.ShardsTwice/seed-0"}

    def test_the_command_of_a_proof_is_quoted(self):
        done = conform(BROKEN, "--select", "C2.1", "--cases", "my cases")
        (command,) = [line.split("reproduce")[1] for line in done.out.splitlines() if line.startswith("  reproduce")]
        assert conform(*shlex.split(command)[2:]).code == 1

    def test_no_line_of_a_table_is_wider_than_a_page(self, monkeypatch):
        monkeypatch.delenv("COLUMNS", raising=False)
        assert max(map(len, conform("--list").out.splitlines())) <= 160


@pytest.mark.parametrize(
    "change",
    [
        {"corpora": []},
        {"legs": []},
        {"legs": [{"dp_size": 0}]},
        {"settings": {"seed": 1, "seq_len": 4, "sources": {"data": ["data"]}, "phases": [{"length": 4, "weights": {"data": "x"}}]}},
        {"settings": {"seed": 1, "seq_len": 4, "sources": {"data": ["data"]}, "phases": [{"length": 4, "weights": {"data": "NaN"}}]}},
        {"settings": {"seed": 1, "seq_len": 4, "sources": {"data": ["no"]}, "phases": [{"length": 4, "weights": {"data": "1"}}]}},
        {"settings": 5},
    ],
)
def test_what_is_no_case_is_one_sentence_about_its_file(tmp_path, change):
    (tmp_path / "x.json").write_text(json.dumps(json.loads(one_source(4).to_json()) | change))
    done = conform("reference", "--case", "x.json", "--check", CHECK)
    assert done.code == UsageError.exit_code and "at x.json, found none: " in done.out and "\n" not in done.out.strip(), done.out


def test_what_would_steer_a_terminal_is_escaped():
    assert plain("\x1b[31mred\x00 \udc80 ok\nü") == "\\x1b[31mred\\x00 \\udc80 ok\nü"


@pytest.mark.slow
def test_a_process_is_judged_as_a_driver_is():
    command = shlex.join([sys.executable, "-P", "-m", "fivepoint.conformance.doors.host", "reference"])
    done = conform("--process", command, "--select", "C2.4")
    assert done.code == 0, done.out


@pytest.mark.slow
def test_ranks_can_be_processes_of_their_own():
    done = conform(BROKEN, "--select", "C2.1", "--processes")
    assert done.code == 1
    assert f"fivepoint conform {BROKEN} --processes --case" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "expected one loader, or --process COMMAND, found none"),
        (["reference", "--process", "x"], "expected one loader, or --process COMMAND, found reference, --process x"),
        (["no-such-loader"], "expected a loader of the entry points fivepoint.loaders (fastpath, fastpath-cuda, reference"),
        (["no.such:Driver"], "no.such:Driver"),
        (["reference", "--select", "no-such"], "found no-such; fivepoint conform --list shows them"),
        (["reference", "--case", "x.json"], "expected --case FILE and --check ID together"),
        (["reference", "--case", "x.json", "--check", CHECK], "expected a case as the suite writes it at x.json"),
        (["reference", "--known", "none"], "expected a file of known failures at none"),
        (["--trace"], "expected the files of recorded traces, found none"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(words, said):
    done = conform(*words)
    assert done.code == UsageError.exit_code
    assert said in done.out and "\n" not in done.out.strip(), done.out


def test_a_driver_that_does_not_answer_costs_the_limit():
    done = conform("fivepoint.conformance.broken.drivers:Hangs", "--select", "V1", "--limit", 3)
    assert done.code == 1
    assert "did not answer within 3 s" in done.out and "Hangs --limit 3 --case" in done.out


def test_a_process_that_cannot_be_started_is_broken_not_a_traceback(tmp_path):
    done = conform("--process", "no-such-command", "--json", "report.json")
    assert done.code == 1
    assert clauses()["V2"].sentence in done.out
    validate(json.loads((tmp_path / "report.json").read_text()), "conformance", "report.json", UsageError)


def test_the_list_names_every_check_and_its_promises():
    done = conform("--list")
    assert done.code == 0
    assert CHECK in done.out and "C2.6/contiguous-rows" in done.out and "layout rows" in done.out
