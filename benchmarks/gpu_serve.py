"""Steps served on a device and held to the host's: what sanitizers watch, what a CUDA graph replays."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from gpu_table import Row
from random_ids import VOCABULARY, plan_of, write_corpus
from torch import Tensor

from fivepoint.fastpath import _C, Loader
from fivepoint.reference.plan import Plan

KINDS = ["document_ids", "position_ids", "loss_mask", "cu_seqlens"]
LENGTHS = (1, 33, 4097)
"""Odd sequences: every other row of their int64 tensors lies between two multiples of 16 bytes."""
AHEAD = 2
"""Steps that a loader reads ahead, besides the one that is taken, where `settled` is asked about it."""
DTYPES = (["uint16"], ["uint32"], ["uint16", "uint32"])


def plans(folder: Path) -> Iterator[Plan]:
    """Write small corpora, and yield a plan for each length and dtype, and for both in one batch."""
    for dtype in DTYPES[-1]:
        write_corpus(folder, dtype, dtype, 200_000)
    for seq_len in LENGTHS:
        for dtypes in DTYPES:
            yield plan_of(folder, dtypes, 64, seq_len=seq_len)


def serve(device: str) -> None:
    """Serve steps with every kind of boundary, beside the host's; the second micro-batch begins within a slot."""
    with tempfile.TemporaryDirectory() as folder:
        for number, plan in enumerate(plans(Path(folder)), 1):
            asked = (plan, 0, 1, 3, 2)
            with Loader(*asked, device=device, boundaries=KINDS) as loader, Loader(*asked, boundaries=KINDS) as host:
                for _ in range(4):
                    for batch, other in zip(next(loader), next(host), strict=True):
                        for name in ("inputs", "targets", *KINDS):
                            same = torch.equal(getattr(batch, name).cpu(), getattr(other, name))
                            assert same, f"{name} of plan {number}, positions {other.positions.tolist()}: not what the host has"
                    loader.commit()
                    host.commit()
    print(f"{number} plans served on {device} by {_C.__file__}")


def planted(device: str) -> None:
    """Widen rows into memory that is a token too short."""
    with tempfile.TemporaryDirectory() as folder:
        plan = next(plans(Path(folder)))
        with Loader(plan, 0, 1, 3, device=device) as loader:
            (batch,) = next(loader)
            size = batch.inputs.numel()
            short, other = torch.empty(size - 1, dtype=torch.int64, device=device), torch.empty(size, dtype=torch.int64, device=device)
            to = _C.DeviceBatch([short.data_ptr(), other.data_ptr(), 0, 0, 0, 0, 0], 0)
            loader._reader._prefetch.widen(0, len(batch.inputs), to, torch.cuda.current_stream().cuda_stream)
            torch.cuda.synchronize()


def cuda_graph(folder: Path, steps: int = 20, rows: int = 64) -> Iterator[Row]:
    """Capture a consumer's step while the loader's threads read and send, then replay it over batches copied into its inputs."""
    here = folder / "graph"
    write_corpus(here, "uint16", "uint16", 1_000_000)
    plan = plan_of(here, ["uint16"], 1 << 20)
    table = torch.randn(VOCABULARY, 16, generator=torch.Generator("cuda").manual_seed(1), device="cuda")

    def consume(inputs: Tensor, targets: Tensor) -> Tensor:
        return (table[inputs] * table[targets]).sum((1, 2))

    with Loader(plan, 0, 1, rows) as host:
        eager = []
        for _ in range(steps):
            (batch,) = next(host)
            eager.append(consume(batch.inputs.cuda(), batch.targets.cuda()))
            host.commit()
    with Loader(plan, 0, 1, rows, device="cuda", steps_ahead=AHEAD) as loader:
        (batch,) = next(loader)
        inputs, targets = batch.inputs.clone(), batch.targets.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):  # what is set up at the first call is no part of the graph
                consume(inputs, targets)
        torch.cuda.current_stream().wait_stream(side)
        graph, found = torch.cuda.CUDAGraph(), []
        before = settled(loader, rows)
        with torch.cuda.graph(graph):
            out = consume(inputs, targets)
            loader.commit()
            during = settled(loader, rows) - before
        for number in range(steps):
            if number:
                (batch,) = next(loader)
            inputs.copy_(batch.inputs)
            targets.copy_(batch.targets)
            graph.replay()
            found.append(out.clone())
            if number:
                loader.commit()
    same = all(map(torch.equal, found, eager))
    note = f"{steps} steps; {during} rows were read during the capture"
    yield Row("CUDA graph of a consumer's step, captured and replayed", "same" if same and during else "differs", "same", note=note)


def settled(loader: Any, rows: int, seconds: float = 20.0) -> int:
    """Wait until all the steps that a loader reads ahead are read, and return how many rows it has read."""
    until = time.monotonic() + seconds
    while (read := loader.rows_read) < (loader.steps + AHEAD + 1) * rows:
        if time.monotonic() > until:
            raise TimeoutError(f"expected the rows of {loader.steps + AHEAD + 1} steps within {seconds:g} s, found {read} rows")
        time.sleep(1e-4)
    return int(read)
