"""What goes wrong while `fivepoint prepare` runs: full disks, lost workers, inputs that change; nothing is left half-written."""

import fcntl
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest
from preparing import byte_tokenizer, command, fivepoint, many, refused, write_jsonl

from fivepoint.corpus.prepare import TokenizerChoice, prepare
from fivepoint.corpus.settings import Settings
from fivepoint.errors import InputError


@pytest.fixture
def tokenizer(tmp_path):
    return byte_tokenizer(tmp_path / "tokenizer.json")


def test_two_at_once_in_one_folder(tmp_path, tokenizer):
    write_jsonl(tmp_path / "a.jsonl", many(10))
    (tmp_path / "out").mkdir()
    handle = os.open(tmp_path / "out", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    arguments = ["--out", tmp_path / "out", "--tokenizer", tokenizer, "--source", f"a={tmp_path}/a.jsonl"]
    assert "written by another process" in refused(3, "prepare", *arguments)
    os.close(handle)
    assert fivepoint("prepare", *arguments).returncode == 0


@pytest.mark.slow
def test_a_file_size_limit_leaves_nothing(tmp_path, tokenizer):
    write_jsonl(tmp_path / "a.jsonl", many(20_000))
    arguments = ["--tokenizer", tokenizer, "--source", f"a={tmp_path}/a.jsonl", "--holdout", "0.1"]
    limit = {"before": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))}
    assert "File too large; free space" in refused(10, "prepare", "--out", tmp_path / "out", *arguments, **limit)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["short documents", "one long document"])
def test_a_full_disk_leaves_nothing(tmp_path, tokenizer, kind):
    full = tmp_path / "full"
    full.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", full], capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        write_jsonl(tmp_path / "a.jsonl", many(20_000) if kind == "short documents" else ["".join(many(20_000))])
        arguments = ["--out", full / "out", "--tokenizer", tokenizer, "--source", f"a={tmp_path}/a.jsonl"]
        assert "No space left on device; free space" in refused(10, "prepare", *arguments)
        assert not (full / "out").exists()
        assert refused(10, "prepare", *arguments, "--shard-bytes", "100000")
        assert not (full / "out").exists()
    finally:
        subprocess.run(["umount", full], check=True)


def running(tmp_path, tokenizer):
    """Start prepare on a long input and return (the process, the ids of its worker processes)."""
    write_jsonl(tmp_path / "a.jsonl", many(400_000))
    arguments = ["prepare", "--out", tmp_path / "out", "--tokenizer", tokenizer, "--source", f"a={tmp_path}/a.jsonl", "--workers", "2"]
    process = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True)
    begun = time.monotonic()
    while time.monotonic() < begun + 60:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        workers = [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        if len(workers) == 2 and any((tmp_path / "out").glob("a/.a-*.tmp")):
            return process, workers
        time.sleep(0.05)
    raise AssertionError("expected two workers at work")


@pytest.mark.slow
def test_a_lost_worker_is_one_sentence_and_leaves_nothing(tmp_path, tokenizer):
    process, workers = running(tmp_path, tokenizer)
    os.kill(workers[0], signal.SIGKILL)
    assert "a worker process was ended from outside" in process.communicate()[1]
    assert process.returncode == 7 and not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("to_all", [False, True], ids=["the command alone", "all its processes"])
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interruption_is_one_sentence_and_leaves_nothing(tmp_path, tokenizer, sign, to_all):
    process, workers = running(tmp_path, tokenizer)
    for pid in [*workers, process.pid] if to_all else [process.pid]:
        os.kill(pid, sign)
    assert process.communicate(timeout=60)[1] == "fivepoint: interrupted; run it again to finish\n"
    assert process.returncode == 128 + sign and not (tmp_path / "out").exists()
    assert not any(map(alive, workers))


@pytest.mark.slow
def test_workers_end_with_their_parent(tmp_path, tokenizer):
    process, workers = running(tmp_path, tokenizer)
    process.kill()
    process.wait()  # workers that stayed would hold its standard error open
    process.stderr.close()
    begun = time.monotonic()
    while time.monotonic() < begun + 30 and any(map(alive, workers)):
        time.sleep(0.05)
    assert not any(map(alive, workers))


def alive(pid):
    """Whether the process runs; one that nobody has waited for yet has no command line."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def test_an_input_that_changes_meanwhile_is_refused(tmp_path, tokenizer):
    path = write_jsonl(tmp_path / "a.jsonl", many(10))

    def change(what, done, total):
        if what == "a" and done == total:
            path.write_text(path.read_text() + "\n")

    with pytest.raises(InputError, match=r"a\.jsonl was changed while it was read"):
        prepare(tmp_path / "out", TokenizerChoice(tokenizer), [f"a={path}"], Settings(), progress=change)
    assert not (tmp_path / "out").exists()
