"""How fast `fivepoint prepare` is, against the tokenizer library alone in as many processes.

Text: the Python files of the standard library and of the installed packages, a file a document, up to --megabytes.
Library: every process holds the texts in memory and only calls `encode_batch` (or `encode_batch_fast`, whichever was faster
in a trial), batches handed out as processes get free. prepare: all of it, from starting processes to the manifest on disk.
Runs alternate within one run of this script; the figure is the median of the pairs' ratios.

    .venv/bin/python benchmarks/prepare.py --megabytes 40 --pairs 5
"""

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tokenizers import Tokenizer

from fivepoint.corpus.encode import BATCH
from fivepoint.corpus.prepare import TokenizerChoice, prepare
from fivepoint.corpus.settings import Settings, available_cores
from fivepoint.corpus.train import train


def main() -> None:
    """Print the ratio, and as JSON with --json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=40)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--workers", type=int, default=available_cores())
    parser.add_argument("--vocabulary", type=int, default=16_384)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = collect(folder / "text", options.megabytes * 1_000_000)
        size = sum(len(text.encode()) for text in texts)
        tokenizer = folder / "tokenizer.json"
        train(options.vocabulary, iter(texts[:: max(1, len(texts) * 10_000_000 // size)])).save(str(tokenizer))
        ratios, library, ours = [], [], []
        with library_pool(tokenizer, texts, options.workers) as pool:
            method = min(("encode_batch", "encode_batch_fast"), key=lambda method: library_seconds(pool, texts, method))
            for _ in range(options.pairs):
                library.append(library_seconds(pool, texts, method))
                ours.append(prepare_seconds(folder, tokenizer, options.workers))
                ratios.append(library[-1] / ours[-1])
                if not options.json:
                    print(f"{method} {size / library[-1] / 1e6:.2f} MB/s, prepare {size / ours[-1] / 1e6:.2f} MB/s, ratio {ratios[-1]:.3f}")
    figures = {
        "megabytes": round(size / 1e6, 1),
        "documents": len(texts),
        "workers": options.workers,
        "library": method,
        "library_mb_per_s": round(size / statistics.median(library) / 1e6, 2),
        "prepare_mb_per_s": round(size / statistics.median(ours) / 1e6, 2),
        "ratio": round(statistics.median(ratios), 3),
    }
    print(json.dumps(figures) if options.json else f"median ratio {figures['ratio']} of {options.pairs} pairs: {figures}")


def collect(folder: Path, most: int) -> list[str]:
    """Copy Python files into `folder` until there are `most` bytes, and return their texts."""
    folder.mkdir()
    texts, size = [], 0
    roots = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    for path in sorted({path for root in roots for path in root.rglob("*.py")}):
        data = path.read_bytes()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        if not text or size + len(data) > most:
            continue
        (folder / f"{len(texts):06d}.py").write_bytes(data)
        texts.append(text)
        size += len(data)
    return texts


def batches(texts: list[str]) -> Iterator[slice]:
    """Yield slices of about BATCH characters."""
    start = size = 0
    for at, text in enumerate(texts, 1):
        size += len(text)
        if size >= BATCH or at == len(texts):
            yield slice(start, at)
            start, size = at, 0


def library_pool(tokenizer: Path, texts: list[str], workers: int) -> ProcessPoolExecutor:
    """Return processes that hold the texts and an open tokenizer."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_hold, initargs=(str(tokenizer), texts))


def library_seconds(pool: ProcessPoolExecutor, texts: list[str], method: str) -> float:
    """Return how long the library takes for all texts."""
    list(pool.map(_encode, [(slice(0, 1), method)] * 64))  # all processes are up
    begun = time.perf_counter()
    list(pool.map(_encode, [(part, method) for part in batches(texts)]))
    return time.perf_counter() - begun


def prepare_seconds(folder: Path, tokenizer: Path, workers: int) -> float:
    """Return how long prepare takes for the same texts."""
    out = folder / "out"
    begun = time.perf_counter()
    prepare(out, TokenizerChoice(tokenizer), [f"text={folder / 'text'}"], Settings(workers=workers), progress=lambda *_: None)
    seconds = time.perf_counter() - begun
    shutil.rmtree(out)
    return seconds


def _hold(tokenizer: str, texts: list[str]) -> None:
    global _tokenizer, _texts
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _tokenizer, _texts = Tokenizer.from_file(tokenizer), texts


def _encode(task: tuple[slice, str]) -> int:
    part, method = task
    return sum(len(encoded.ids) for encoded in getattr(_tokenizer, method)(_texts[part], add_special_tokens=False))


if __name__ == "__main__":
    main()
