"""The command `fivepoint report`: loaders side by side, as a table, a file and a page."""

import json
import re
from html.parser import HTMLParser

import pytest
from conforming import BROKEN, conform
from typer.testing import CliRunner

from fivepoint.cli import app
from fivepoint.conformance.report.machine import not_judged
from fivepoint.errors import FivepointError, UsageError
from fivepoint.reference.schema import validate

CHECKS = ("--select", "C2.1", "--select", "C2.3")
NOISY = "<script>alert(1)</script> & \x1b[31m"


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports on an honest loader and on a broken one."""
    folder = tmp_path_factory.mktemp("reports")
    for name, loader in {"honest": "small:SharesNoToken", "broken": BROKEN}.items():
        conform(loader, *CHECKS, "--json", folder / f"{name}.json", "--cases", folder / "cases")
    return [folder / "honest.json", folder / "broken.json"]


def report(*words):
    """Return the exit code, and what the command printed or said in refusing."""
    done = CliRunner().invoke(app, ["report", *map(str, words)])
    if isinstance(done.exception, FivepointError):
        return done.exception.exit_code, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def renamed(path, folder, name):
    """Write a report again as that on a loader of this name, and return its file."""
    file = folder / f"{len(list(folder.iterdir()))}.json"
    file.write_text(json.dumps(json.loads(path.read_text()) | {"loader": name}))
    return file


class Page(HTMLParser):
    """What is on a page: its links, what they lead to, and the text."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.rows, self.tags, self.text = [], [], [], set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.tags.add(tag)
        self.links += [named["href"]] if "href" in named else []
        self.ids += [named["id"]] if "id" in named else []
        self.rows += [named["id"]] if "id" in named and tag == "tr" else []
        assert not {"src", "srcset"} & named.keys(), "the page needs nothing else"

    def handle_data(self, data):
        self.text += data


def test_loaders_stand_beside_clauses(reports):
    code, said = report(*reports)
    assert code == 0
    assert re.search(r"C2.1 Disjoint ranks +✓ +✗", said), said


def test_the_file_of_all_is_a_report_again(reports, tmp_path):
    assert report(*reports, "--json", tmp_path / "all.json")[0] == 0
    held = json.loads((tmp_path / "all.json").read_text())
    validate(held, "comparison", "all.json", UsageError)
    assert [each["loader"] for each in held["reports"]] == ["small:SharesNoToken", BROKEN]
    assert report(tmp_path / "all.json") == report(*reports)


def test_files_are_written_before_the_table_is_shown(reports, tmp_path, monkeypatch):
    def nobody_reads(comparison):
        raise SystemExit(1)

    monkeypatch.setattr("fivepoint.conformance.report.terminal.print_comparison", nobody_reads)
    report(*reports, "--json", tmp_path / "all.json", "--html", tmp_path / "page.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.json", "page.html"]


def test_a_later_report_on_a_loader_takes_the_place_of_an_earlier(reports):
    assert report(*reports, reports[0]) == report(*reports)


def test_behind_every_verdict_is_what_was_found(reports, tmp_path):
    report(*reports, "--html", tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    leading = [link.removeprefix("#") for link in page.links if link.removeprefix("#") not in page.rows]
    assert len(leading) == 4 and sorted(leading) == sorted(set(page.ids) - set(page.rows))
    (finding,) = [each for each in json.loads(reports[1].read_text())["findings"] if each["check"] == "C2.1/one-rank-each"]
    for said in (finding["expected"], finding["got"], finding["reproduce"], "smallest case", "does not promise peers"):
        assert said in page.text, said
    assert "script" not in page.tags


def test_many_loaders_are_shown_in_parts_and_no_name_is_folded(reports, tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    names = [f"torchdata-stateful-{number}" for number in range(18)]
    _, said = report(*(renamed(reports[number % 2], tmp_path, name) for number, name in enumerate(names)))
    assert [name for name in names if name not in said] == [] and max(map(len, said.splitlines())) <= 160, said
    assert len(re.findall(r"C2.1 Disjoint ranks", said)) == 4, said


def test_a_name_wider_than_a_page_is_folded(reports, tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    _, said = report(renamed(reports[0], tmp_path, "small:" + "N" * 200), renamed(reports[1], tmp_path, "other"))
    assert said.count("N") >= 200 and max(map(len, said.splitlines())) <= 160, said


def test_a_loader_that_was_not_judged_keeps_its_place_and_the_reason_is_said(reports, tmp_path):
    held = not_judged("grain", "quick", 0, f"found no grain {NOISY}")
    (tmp_path / "grain.json").write_text(json.dumps(held))
    code, said = report(reports[0], tmp_path / "grain.json", reports[1], "--html", tmp_path / "page.html")
    assert code == 0 and re.search(r"C2.1 Disjoint ranks +✓ +✗", said) and "grain: not judged, found no grain" in said, said
    assert "\x1b" not in said
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "not judged: found no grain <script>alert(1)</script> & \\x1b[31m" in page.text and "script" not in page.tags


def test_each_proof_has_an_anchor_of_its_own_and_closing_it_leads_back_to_its_row(reports, tmp_path):
    names = ("mine:X", "mine.X", "mine-X", "node 'mine X'", "mine é")
    files = [renamed(reports[1], tmp_path, name) for name in names]
    report(*files, "--html", tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert len(page.ids) == len(set(page.ids)) == 2 + 2 * len(names), page.ids
    assert {link.removeprefix("#") for link in page.links} == set(page.ids)
    assert all(re.fullmatch(r"[\w.:~-]+", anchor, re.ASCII) for anchor in page.ids), page.ids
    assert page.rows == ["C2.1", "C2.3"]


def test_what_a_loader_says_is_shown_as_text(reports, tmp_path):
    held = json.loads(reports[1].read_text())
    for each in held["findings"]:
        each.update(got=NOISY, reason=NOISY)
    held["loader_version"] = "<b>1</b>"
    (tmp_path / "noisy.json").write_text(json.dumps(held))
    assert report(tmp_path / "noisy.json", "--html", tmp_path / "page.html")[0] == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not {"script", "b"} & page.tags and "\x1b" not in text
    assert "<script>alert(1)</script> & \\x1b[31m" in page.text and "<b>1</b>" in page.text


def test_conform_writes_the_page_of_its_loader(tmp_path):
    conform("small:SharesNoToken", *CHECKS, "--html", tmp_path / "page.html")
    assert "small:SharesNoToken and the contract" in Page((tmp_path / "page.html").read_text(encoding="utf-8")).text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "expected a report of `fivepoint conform --json` at"),
        ("{", "expected a report of `fivepoint conform --json` at"),
        ("[" * 100000, "expected a report of `fivepoint conform --json` at"),
        ('{"format": "fivepoint-plan", "version": 1}', "expected format 'fivepoint-conformance', found 'fivepoint-plan', that of a plan"),
        ('{"format": "fivepoint-comparison", "version": 1}', "expected the key reports"),
        ('{"format": "fivepoint-comparison", "version": 1, "reports": [{}]}', "expected format 'fivepoint-conformance', found no format"),
    ],
)
def test_what_is_no_report_is_refused_in_a_sentence(tmp_path, text, said):
    file = tmp_path / "file.json"
    if text is not None:
        file.write_text(text)
    code, found = report(file)
    assert code == UsageError.exit_code and said in found and "\n" not in found, found
