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


def prepared_lines(folder, size):
    """Prepare about `size` bytes of JSONL, 2.5 KB a document."""
    folder.mkdir()
    text = LINE.replace("\n", "\\n") * 40
    with open(folder / "web.jsonl", "w") as file:
        write_lines(file, size, '{{"text": "' + text + '"}}\n')
    peak, report = peak_memory(
        "--out", folder / "out", "--tokenizer", word_tokenizer(folder / "t.json"), "--source", f"web={folder}/web.jsonl",
        "--holdout", "0.01", "--min-unique-lines", "0.01",
    )  # fmt: skip
    print(f"{size // MEGABYTE} MB of JSONL: peak {peak / MEGABYTE:.0f} MB")
    assert report["documents"] > size // 4000
    return peak


def prepared_document(folder, size, kind):
    """Prepare one document of about `size` bytes, as text, JSONL or gzip."""
    folder.mkdir()
    path = folder / ("book.txt" if kind == "text" else "book.jsonl")
    with open(path, "w") as file:
        if kind == "text":
            write_lines(file, size)
        else:
            file.write('{"meta": {"a": [1, "]"]}, "text": "')
            write_lines(file, size, LINE.replace("\n", "\\n"))
            file.write('"}\n')
    if kind == "gz":
        subprocess.run(["gzip", "-1", path], check=True)
        path = folder / "book.jsonl.gz"
    peak, report = peak_memory(
        "--out", folder / "out", "--tokenizer", byte_tokenizer(folder / "t.json"), "--source", f"book={path}", "--min-unique-lines", "0.9"
    )
    print(f"one document of {size // MEGABYTE} MB ({kind}): peak {peak / MEGABYTE:.0f} MB")
    assert report["corpora"][0]["documents"] == 1 and report["corpora"][0]["tokens"] > size * 9 // 10  # a line break is two bytes in JSON
    return peak


def test_one_large_jsonl_file(tmp_path):
    """Ten times the file, the same memory."""
    sizes = (60 * MEGABYTE, 3000 * MEGABYTE) if FULL else (6 * MEGABYTE, 60 * MEGABYTE)
    small, large = (prepared_lines(tmp_path / str(size), size) for size in sizes)
    assert large < LIMIT, f"expected less than {LIMIT} bytes, found {large}"
    assert large - small < 0.5 * (sizes[1] - sizes[0]), f"expected memory that does not grow with the file, found {small} and {large}"


def test_one_large_document(tmp_path):
    """Three times the document and more, the same memory: of its lines alone a few bytes each are kept, to count the different ones."""
    sizes = (45 * MEGABYTE, 500 * MEGABYTE) if FULL else (15 * MEGABYTE, 45 * MEGABYTE)
    small, large = (prepared_document(tmp_path / str(size), size, "text") for size in sizes)
    assert large < LIMIT, f"expected less than {LIMIT} bytes, found {large}"
    assert large - small < sizes[1] - sizes[0], f"expected memory that does not grow with the document, found {small} and {large}"


@pytest.mark.parametrize("kind", ["jsonl", "gz"])
def test_one_large_document_in_a_line_of_json(tmp_path, kind):
    peak = prepared_document(tmp_path / kind, (500 if FULL else 15) * MEGABYTE, kind)
    limit = LIMIT if FULL else LIMIT // 2
    assert peak < limit, f"expected less than {limit} bytes, found {peak}"
