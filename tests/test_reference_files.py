"""Files that appear only when whole, and what is left where they cannot be written (D0.11)."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from fivepoint.errors import OutputError
from fivepoint.reference.files import write_whole

pytestmark = pytest.mark.clause("D0.11")

REWRITE = """
import sys
from pathlib import Path
from fivepoint.reference.files import write_whole
print("begun", flush=True)
while True:
    for letter in (b"a", b"b"):
        write_whole(Path(sys.argv[1]), letter * 4_000_000)
"""


def test_a_killed_writer_leaves_the_old_file_or_the_new(tmp_path):
    path = tmp_path / "plan.json"
    for moment in range(8):
        writer = subprocess.Popen([sys.executable, "-c", REWRITE, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout.readline() == b"begun\n"
        try:
            writer.wait(0.05 + moment * 0.013)
        except subprocess.TimeoutExpired:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        if path.exists():
            content = path.read_bytes()
            assert content in (b"a" * 4_000_000, b"b" * 4_000_000), f"{len(content)} bytes"
    assert path.exists(), "no writer came to its first rename"


def test_what_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "plan.json"
    write_whole(path, b"before")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"cannot write .*plan\.json: No space left on device; free space there"):
        write_whole(path, b"after")
    assert [(item.name, item.read_bytes()) for item in tmp_path.iterdir()] == [("plan.json", b"before")]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(OutputError, match=r"cannot write .*nowhere/plan\.json: No such file or directory"):
        write_whole(tmp_path / "nowhere" / "plan.json", b"x")


def test_files_have_the_rights_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "plan.json", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "plan.json").stat().st_mode & 0o777 == 0o640
