"""The run log: what a crash leaves of it, what is refused, and who may write it."""

import errno
import os
import subprocess
import sys
import tracemalloc

import pytest
from logs import lines, opened, step_record

from fivepoint.audit import run_log
from fivepoint.audit.log_lines import find_step, read
from fivepoint.audit.run_log import RunLog
from fivepoint.errors import OutputError, RunLogError, UsageError

pytestmark = pytest.mark.clause("C4.11")

RECORDS = [opened(0), step_record(1), step_record(2, samples={"bücher": 4})]


def test_what_is_written_is_read(tmp_path):
    with RunLog(tmp_path / "run.jsonl") as log:
        for record in RECORDS:
            log.write(record)
    assert list(read(tmp_path / "run.jsonl")) == RECORDS


def test_a_log_cut_at_any_byte_of_its_last_line_is_read_and_written_on(tmp_path, caplog):
    whole = lines(*RECORDS)
    rest = lines(*RECORDS[:2])
    path = tmp_path / "run.jsonl"
    for size in range(len(rest), len(whole) + 1):
        path.write_bytes(whole[:size])
        caplog.clear()
        kept = RECORDS if size == len(whole) else RECORDS[:2]
        assert list(read(path)) == kept, f"read, cut at byte {size}"
        with RunLog(path) as log:
            log.write(step_record(3))
        torn = 0 if size == len(whole) else size - len(rest)
        assert log.torn == torn, f"cut at byte {size}"
        assert len(caplog.records) == (torn > 0), f"a torn line is reported, cut at byte {size}"
        assert list(read(path)) == [*kept, step_record(3)], f"written on, cut at byte {size}"


@pytest.mark.parametrize("size", [0, 1, 5, 12, 60])
def test_a_log_torn_in_its_first_line_is_begun_again(tmp_path, size):
    path = tmp_path / "run.jsonl"
    for torn in (lines(opened(0))[:size], lines(step_record(1))[:size], bytes(size)):
        path.write_bytes(torn)
        with RunLog(path) as log:
            log.write(opened(0))
        assert (log.torn, list(read(path))) == (size, [opened(0)])


@pytest.mark.parametrize(
    "content", [b"a thesis of one line", b'{"format":"fivepoint-plan"}', b"\x80\x04K\x01."], ids=["text", "JSON", "bytes"]
)
def test_one_line_that_is_no_log_is_left_alone(tmp_path, content):
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(RunLogError, match="expected a run log or no file"):
        RunLog(path)
    assert path.read_bytes() == content


def test_a_torn_line_longer_than_a_block_is_cut_off(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines(RECORDS[0]) + b"\0" * (2 * run_log.BLOCK + 5))
    RunLog(path).close()
    assert path.read_bytes() == lines(RECORDS[0])


CORRUPT = pytest.mark.parametrize(
    "corrupt",
    [
        b"\n",
        b"{}\n",
        b"\0\0\0\n",
        b'{"step": 1}\n',
        b"\xff\xfe\n",
        lines(step_record(1))[:40] + b"\n",
        lines(step_record(1) | {"step": 1.5}),
        lines(step_record(1) | {"prefix_hash": "c"}),
        lines(step_record(1) | {"consumed": 3}),
        lines(step_record(1) | {"micro_batch": 3}),
    ],
    ids=["empty", "no fields", "zeros", "fields missing", "not UTF-8", "cut", "a float", "hash", "before the start", "does not divide"],
)


@CORRUPT
def test_a_corrupt_line_in_the_middle_is_refused_by_its_number(tmp_path, corrupt):
    path = tmp_path / "run.jsonl"
    content = lines(*RECORDS) + corrupt + lines(step_record(3)) + b"torn"
    path.write_bytes(content)
    for use in (lambda: list(read(path)), lambda: find_step(path, 3)):
        with pytest.raises(RunLogError, match=r"line 4: expected .* restore the log from a copy"):
            use()
    assert path.read_bytes() == content, "a refused log stays as it is"


@CORRUPT
def test_a_corrupt_last_line_is_not_written_on(tmp_path, corrupt):
    path = tmp_path / "run.jsonl"
    content = lines(*RECORDS) + corrupt + b"torn"
    path.write_bytes(content)
    with pytest.raises(RunLogError, match=r"the last line: expected .* restore the log from a copy"):
        RunLog(path)
    assert path.read_bytes() == content, "a refused log stays as it is"


@pytest.mark.clause("C4.10")
def test_opening_reads_the_end_alone(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines(*map(step_record, range(1, 20_001))))
    taken, pread = [], os.pread
    monkeypatch.setattr(os, "pread", lambda file, size, at: taken.append(size) or pread(file, size, at))
    RunLog(path).close()
    assert 0 < sum(taken) < 1 << 18 < path.stat().st_size


def test_of_several_lines_with_one_step_the_last_counts(tmp_path):
    path = tmp_path / "run.jsonl"
    again = step_record(2, batch_size=6)
    path.write_bytes(lines(opened(0), step_record(1), step_record(2), step_record(3), opened(1), again))
    assert find_step(path, 1) == (step_record(1), False)
    assert find_step(path, 2) == (again, False)
    assert find_step(path, 3) == (step_record(3), True), "undone by the start at step 1, and never served again"


def test_a_step_that_no_line_names_is_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines(opened(4), step_record(5), step_record(6)))
    with pytest.raises(RunLogError, match=r"step 7 .* found steps between 5 and 6"):
        find_step(path, 7)
    with pytest.raises(RunLogError, match="cannot read"):
        find_step(tmp_path / "missing.jsonl", 1)


def test_two_writers_at_once_are_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    other = f"from fivepoint.audit.run_log import RunLog; RunLog({str(path)!r})"
    with RunLog(path):
        with pytest.raises(RunLogError, match="written by another process"):
            RunLog(path)
        done = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True)
        assert "written by another process" in done.stderr
    RunLog(path).close()


def test_a_log_that_cannot_be_cut_back_is_closed_and_its_part_of_a_line_cut_off_later(tmp_path, monkeypatch):
    path, system_write = tmp_path / "run.jsonl", os.write

    def fails(*_):
        raise OSError(errno.EIO, "Input/output error")

    log = RunLog(path)
    log.write(RECORDS[0])
    with monkeypatch.context() as broken:
        broken.setattr(os, "write", lambda file, data: system_write(file, data[:10]) if bytes(data).startswith(b"{") else fails())
        broken.setattr(os, "ftruncate", fails)
        with pytest.raises(OutputError, match="Input/output error"):
            log.write(RECORDS[1])
    with pytest.raises(OutputError, match="the log is closed"):
        log.write(RECORDS[1])
    assert path.read_bytes().endswith(b'\n{"step":1,')
    with RunLog(path) as log:
        log.write(RECORDS[1])
    assert list(read(path)) == RECORDS[:2]


@pytest.mark.parametrize("use", ["write", "close"])
def test_a_flush_that_fails_is_one_sentence(tmp_path, monkeypatch, use):
    path = tmp_path / "run.jsonl"
    log = RunLog(path, fsync_every=2)
    log.write(RECORDS[0])

    def fails(_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OutputError, match=r"cannot write .*Input/output error"):
        log.write(RECORDS[1]) if use == "write" else log.close()
    monkeypatch.undo()
    log.close()
    assert list(read(path)) == RECORDS[:1]


def test_a_log_that_is_never_flushed_is_refused(tmp_path):
    with pytest.raises(UsageError, match="fsync_every"):
        RunLog(tmp_path / "run.jsonl", fsync_every=0)
    assert not (tmp_path / "run.jsonl").exists()


def test_a_record_that_is_none_is_not_written(tmp_path):
    with RunLog(tmp_path / "run.jsonl") as log, pytest.raises(RunLogError):
        log.write(step_record(0))
    assert (tmp_path / "run.jsonl").read_bytes() == b""


def test_a_full_disk_leaves_the_log_as_it_was(tmp_path, monkeypatch):
    path, system_write = tmp_path / "run.jsonl", os.write

    def full(file: int, data: memoryview) -> int:
        if len(data) < 100:
            raise OSError(28, "No space left on device")
        return system_write(file, data[:50])

    with RunLog(path) as log:
        log.write(RECORDS[0])
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", full)
            with pytest.raises(OutputError, match="No space left"):
                log.write(RECORDS[1])
        log.write(RECORDS[1])
    assert list(read(path)) == RECORDS[:2]


@pytest.mark.parametrize(("every", "flushes"), [(1, 7), (3, 3), (100, 1)])
def test_lines_reach_the_disk_as_often_as_asked(tmp_path, monkeypatch, every, flushes):
    log = RunLog(tmp_path / "run.jsonl", fsync_every=every)
    flushed, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (flushed.append(file), fsync(file)))
    for step in range(1, 8):
        log.write(step_record(step))
    log.close()
    assert len(flushed) == flushes


def test_memory_does_not_grow_with_the_log(tmp_path):
    path = tmp_path / "run.jsonl"
    peaks = []
    for steps in (100, 1000):
        path.write_bytes(lines(*(step_record(step) for step in range(1, steps + 1))))
        tracemalloc.start()
        assert find_step(path, steps)[0] == step_record(steps)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + (1 << 17), f"bytes at 100 and 1,000 lines: {peaks}"
