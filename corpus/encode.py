"""Texts to tokens on every core: batches go out to worker processes and come back in order."""

import hashlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from types import FrameType
from typing import Any

import numpy as np

from ..errors import InputError
from .documents import Part
from .lines import count_lines
from .tokenizer import Encoder, TokenizerFile
from .write import smallest_dtype

_DIGESTED = 1 << 20  # tokens widened at a time
BATCH = 1 << 18  # characters: enough that handing it over costs nothing beside tokenizing it


@dataclass(frozen=True)
class Job:
    """What a worker does with a text. `eod`: string and id of the token that no text may give; digests and lines on demand."""

    tokenizer: TokenizerFile
    eod: tuple[str, int] | None
    digests: bool
    lines: bool


@dataclass(frozen=True, slots=True)
class Encoded:
    """What became of one text: its tokens, their digest (`content_digest`), its (different, all) lines."""

    tokens: np.ndarray[Any, Any]
    digest: bytes
    lines: tuple[int, int]


def content_digest(tokens: np.ndarray[Any, Any]) -> bytes:
    """Return the SHA-256 of a document's tokens as little-endian uint32, whatever their dtype, without an EOD."""
    digest = hashlib.sha256()
    for at in range(0, tokens.size, _DIGESTED):
        digest.update(tokens[at : at + _DIGESTED].astype("<u4").data)
    return digest.digest()


def encode(encoder: Encoder, job: Job, texts: list[str]) -> list[Encoded]:
    """Return what becomes of each text; raises InputError where the tokenizer gives an id outside its vocabulary."""
    dtype = np.dtype("<u2" if smallest_dtype(encoder.vocab_size) == "uint16" else "<u4")
    encoded = []
    for text, found in zip(texts, encoder.encode(texts), strict=True):
        tokens = found if job.eod is None or not (found == job.eod[1]).any() else _apart(encoder, text, *job.eod)
        if tokens.size and int(tokens.max()) >= encoder.vocab_size:
            raise InputError(f"expected ids below {encoder.vocab_size} from {job.tokenizer.name}, found {tokens.max()}")
        digest = content_digest(tokens) if job.digests else b""
        encoded.append(Encoded(tokens.astype(dtype), digest, count_lines(text) if job.lines else (0, 0)))
    return encoded


def _apart(encoder: Encoder, text: str, eod: str, eod_id: int) -> np.ndarray[Any, Any]:
    """Return the tokens of a text in which the end-of-document token is written, parted inside it each time."""
    head, *rest = text.split(eod)
    pieces = []
    for following in rest:
        pieces.append(head + eod[:1])
        head = eod[1:] + following
    tokens = np.concatenate(encoder.encode([*pieces, head]))
    if (tokens == eod_id).any():
        raise InputError(f"expected no text that gives the id {eod_id} of {eod!r}, found one; choose another with --eod")
    return tokens


class Pool:
    """Worker processes that encode; made by `workers_of`."""

    def __init__(self, executor: ProcessPoolExecutor, workers: int) -> None:
        self._executor, self._in_flight = executor, 2 * workers + 1

    def encoded(self, parts: Iterable[Part]) -> Iterator[tuple[Part, Encoded]]:
        """Yield every part with what became of it, in order; holds a few batches a worker in memory."""
        waiting: deque[tuple[list[Part], Future[list[Encoded]]]] = deque()
        try:
            for batch in _batches(parts):
                waiting.append((batch, self._executor.submit(_encode, [part.text for part in batch])))
                if len(waiting) > self._in_flight:
                    yield from _result(*waiting.popleft())
            while waiting:
                yield from _result(*waiting.popleft())
        except BrokenProcessPool as reason:
            raise InputError("a worker process was ended from outside; give it more memory or fewer --workers") from reason
        finally:
            for _, future in waiting:
                future.cancel()


def _result(batch: list[Part], future: "Future[list[Encoded]]") -> Iterator[tuple[Part, Encoded]]:
    return zip(batch, future.result(), strict=True)


@contextmanager
def workers_of(job: Job, workers: int) -> Iterator[Pool]:
    """Yield a pool of `workers` processes that do `job`; they end with the block, or with this process."""
    # a fresh interpreter each: forking beside the threads of a progress bar can hang
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(job,)) as executor:
        try:
            yield Pool(executor, workers)
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def _batches(parts: Iterable[Part]) -> Iterator[list[Part]]:
    batch: list[Part] = []
    size = 0
    for part in parts:
        batch.append(part)
        size += len(part.text) + 1
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_work: tuple[Encoder, Job]  # of this worker process


def _start(job: Job) -> None:
    global _work
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the processes are the parallelism
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    signal.signal(signal.SIGTERM, _leave_soon)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _work = job.tokenizer.open(), job


def _leave_soon(number: int, frame: FrameType | None) -> None:
    # Sent to all processes of a job at once: the parent ends in order, and takes a worker that is gone before it for a lost one.
    timer = threading.Timer(1, os._exit, (128 + number,))
    timer.daemon = True
    timer.start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _encode(texts: list[str]) -> list[Encoded]:
    return encode(*_work, texts)
