"""Peak memory of `fivepoint prepare`, all its processes together: below 1 GB, however large the file or the document.

`make test` runs it scaled down; `make test-size` (FIVEPOINT_FULL_SIZE=1) makes the inputs of the requirement, 3 GB and 500 MB.
"""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from preparing import byte_tokenizer, command, word_tokenizer

FULL = os.environ.get("FIVEPOINT_FULL_SIZE") == "1"
MEGABYTE = 1_000_000
LIMIT = 1000 * MEGABYTE
LINE = "a line of text, number {0:08d}, that is not like the others\n"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]


def peak_memory(*arguments):
    """Run prepare and return (peak of the resident memory of all its processes in bytes, its report)."""
    peak = 0
    with subprocess.Popen(command("prepare", "--json", "--workers", "2", *arguments), stdout=subprocess.PIPE) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(resident, family(process.pid))))
            time.sleep(0.02)
        assert process.returncode == 0
        return peak, json.loads(process.stdout.read())["sources"][0]


def family(pid):
    """Return `pid` and all its descendants."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def resident(pid):
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def write_lines(file, size, line=LINE):
    """Write `line` with rising numbers until there are about `size` bytes."""
    written = number = 0
    while written < size:
        block = "".join(line.format(number + at) for at in range(10_000))
        file.write(block)
        written += len(block)
        number += 10_000


def test_one_large_jsonl_file(tmp_path):
    size = (3000 if FULL else 60) * MEGABYTE
    text = LINE.replace("\n", "\\n") * 40
    with open(tmp_path / "web.jsonl", "w") as file:
        write_lines(file, size, '{{"text": "' + text + '"}}\n')
    peak, report = peak_memory(
        "--out", tmp_path / "out", "--tokenizer", word_tokenizer(tmp_path / "t.json"), "--source", f"web={tmp_path}/web.jsonl",
        "--holdout", "0.01", "--min-unique-lines", "0.01",
    )  # fmt: skip
    print(f"{size // MEGABYTE} MB of JSONL: peak {peak / MEGABYTE:.0f} MB")
    assert report["documents"] > size // 4000
    assert peak < LIMIT, f"expected less than {LIMIT} bytes, found {peak}"


@pytest.mark.parametrize("kind", ["text", "jsonl", "gz"])
def test_one_large_document(tmp_path, kind):
    size = (500 if FULL else 15) * MEGABYTE
    path = tmp_path / ("book.txt" if kind == "text" else "book.jsonl")
    with open(path, "w") as file:
        if kind == "text":
            write_lines(file, size)
        else:
            file.write('{"meta": {"a": [1, "]"]}, "text": "')
            write_lines(file, size, LINE.replace("\n", "\\n"))
            file.write('"}\n')
    if kind == "gz":
        subprocess.run(["gzip", "-1", path], check=True)
        path = tmp_path / "book.jsonl.gz"
    peak, report = peak_memory(
        "--out", tmp_path / "out", "--tokenizer", byte_tokenizer(tmp_path / "t.json"), "--source", f"book={path}",
        "--min-unique-lines", "0.9",
    )  # fmt: skip
    print(f"one document of {size // MEGABYTE} MB ({kind}): peak {peak / MEGABYTE:.0f} MB")
    assert report["corpora"][0]["documents"] == 1 and report["corpora"][0]["tokens"] > size * 9 // 10  # a line break is two bytes in JSON
    assert peak < LIMIT, f"expected less than {LIMIT} bytes, found {peak}"
