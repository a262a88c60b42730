"""A run log is of one run: which starts it takes, and what it says of steps that a start undoes."""

import pytest
from logs import lines, opened, step_record

from fivepoint.audit import run_log
from fivepoint.audit.log_lines import read
from fivepoint.audit.run_log import RunLog
from fivepoint.errors import RunLogError

pytestmark = pytest.mark.clause("C4.11")


def test_a_log_is_of_one_run(tmp_path, caplog):
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines(opened(0), step_record(1), step_record(2), step_record(3)))
    other = {"plan_hash": "e" * 64, "prefix_hash": "f" * 64}
    for start in (opened(0) | other, opened(2) | other):
        with RunLog(path) as log, pytest.raises(RunLogError, match=r"is the log of another run: .* aaaa.* eeee.*choose another file"):
            log.write(start)
    with RunLog(path) as log:
        log.write(opened(2) | other | {"override": "we know", "differs": ["seed"]})
        log.write(step_record(3) | other)
        assert "holds steps up to 3, and this start after step 2 undoes those after it" in caplog.text
        log.write(opened(3) | other)
        with pytest.raises(RunLogError, match="another run"):
            log.write(opened(3))
    assert [record["consumed"] for record in read(path)] == [0, 4, 8, 12, 8, 12, 12]


def test_a_start_that_goes_on_says_nothing(tmp_path, caplog):
    path = tmp_path / "run.jsonl"
    with RunLog(path) as log:
        for record in (opened(0), step_record(1), step_record(2), opened(2), step_record(3), opened(7)):
            log.write(record)
    assert caplog.text == ""


def test_a_start_reads_only_the_lines_that_it_undoes(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines(opened(0), *map(step_record, range(1, 20_001))))
    with RunLog(path) as log:
        taken, parse = [], run_log.parse
        monkeypatch.setattr(run_log, "parse", lambda line, where: taken.append(where) or parse(line, where))
        log.write(opened(19_990))
        log.write(opened(0))
    assert len(taken) == 11
