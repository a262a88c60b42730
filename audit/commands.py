"""The commands `fivepoint plan`, `show`, `run`, `replay` and `where`."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OptionError, RangeError, UsageError

if TYPE_CHECKING:
    from ..reference.loader import Loader

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="The plan's file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
DpSize = Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of data-parallel ranks.")]
MicroBatch = Annotated[int | None, typer.Option(metavar="M", min=1, help="Rows of a micro-batch.")]
Accumulation = Annotated[
    int | None,
    typer.Option(metavar="A", min=1, help="Micro-batches of a rank in a step; where the plan has batch sizes it follows from them."),
]
LogFile = Annotated[Path | None, typer.Option("--run-log", metavar="FILE", help="The run log.")]


class LoaderName(StrEnum):
    """The loaders that `run` may be asked for."""

    reference = "reference"
    fastpath = "fastpath"


class Device(StrEnum):
    """Where batches are asked for."""

    cpu = "cpu"
    cuda = "cuda"


def plan(
    run: Annotated[Path, typer.Argument(metavar="RUN.toml", help="The run's configuration.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="PLAN", help="Where the plan goes, whole or not at all.")],
    dp_size: Annotated[
        list[int] | None, typer.Option(metavar="N", min=1, help="Ranks that the plan is looked at for; may be repeated.")
    ] = None,
    micro_batch: MicroBatch = None,
    as_json: Json = False,
) -> None:
    """Compile a run's configuration to its plan, write it, and print what it means."""
    from ..reference.config import compile_run
    from ..reference.summary import summarize
    from .asked import expect_apart
    from .console import print_json
    from .layout import Layout
    from .tables import print_summary

    expect_apart("--out", out, run)
    compiled = compile_run(run)
    for size in dp_size or [1]:
        Layout.of(compiled, size, micro_batch)
    summary = summarize(compiled, dp_size or ())
    compiled.save(out)
    if as_json:
        print_json({"out": str(out), **summary})
    else:
        print_summary(summary)
        typer.echo(f"written to {out}")


def show(
    plan: PlanFile,
    position: Annotated[int | None, typer.Option(metavar="P", help="Show what stands at this position.")] = None,
    step: Annotated[int | None, typer.Option(metavar="K", help="Show what step number K, from 1, serves.")] = None,
    dp_size: DpSize = None,
    micro_batch: MicroBatch = None,
    accumulation: Accumulation = None,
    as_json: Json = False,
) -> None:
    """Print what a plan means, or what it serves at a position or in a step."""
    from ..reference.plan import Plan
    from ..reference.summary import summarize
    from .console import print_json
    from .layout import Layout
    from .samples import describe
    from .tables import print_samples, print_summary

    if position is not None and step is not None:
        raise UsageError("expected at most one of --position and --step, found both")
    opened = Plan.load(plan)
    layout = Layout.of(opened, dp_size, micro_batch, accumulation)
    found: Any
    if position is not None:
        found = describe(opened.resolve(position), layout.place(position))
    elif step is not None:
        positions = layout.positions(step)
        samples = [describe(opened.resolve(each), layout.place(each)) for each in positions]
        found = {"step": step, "consumed": positions.stop, "batch_size": len(positions), "samples": samples}
    else:
        found = summarize(opened, [dp_size] if dp_size else ())
    if as_json:
        print_json(found)
    elif position is not None:
        print_samples(f"position {position} of {plan}", [found])
        if layout.batch_sizes and layout.place(position) is None:
            typer.echo("it lies after the last whole step of the run, and is never served")
    elif step is not None:
        print_samples(f"step {step} of {plan}", found["samples"])
    else:
        print_summary(found)


def run(
    plan: PlanFile,
    dp_size: Annotated[int, typer.Option(metavar="N", min=1, help="Number of data-parallel ranks, all of them in this process.")],
    micro_batch: Annotated[int, typer.Option(metavar="M", min=1, help="Rows of a micro-batch.")],
    accumulation: Accumulation = None,
    steps: Annotated[int | None, typer.Option(metavar="K", min=0, help="How many steps; all that are left where not given.")] = None,
    start: Annotated[int | None, typer.Option(metavar="CONSUMED", help="Begin at this position.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="CHECKPOINT", help="Go on from this checkpoint.")] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="CHECKPOINT", help="Write a checkpoint after the last step, whole or not at all.")
    ] = None,
    run_log: LogFile = None,
    override: Annotated[
        str | None, typer.Option(metavar="REASON", help="Go on from a checkpoint of another past; the run log keeps the reason.")
    ] = None,
    loader: Annotated[LoaderName, typer.Option(help="The loader.")] = LoaderName.reference,
    device: Annotated[Device, typer.Option(help="The device that the batches go to.")] = Device.cpu,
    as_json: Json = False,
) -> None:
    """Serve a plan's steps on every rank, and print the digest of each: the same for any ranks, loader and machine."""
    from ..reference.files import expect_writable
    from ..reference.plan import Plan
    from .asked import expect_apart, read_checkpoint
    from .console import note, print_json, progress
    from .run_log import RunLog
    from .serve import loader_class, save_checkpoint, serve, state_at

    if start is not None and resume is not None:
        raise UsageError("expected at most one of --start and --resume, found both")
    if override is not None and (resume is None or not override.strip()):
        raise UsageError(
            "expected --override with a reason, beside --resume, found " + ("no --resume" if override.strip() else "no reason")
        )
    if save is not None:
        expect_apart("--save", save, plan, run_log)
    kind = loader_class(loader.value)
    opened = Plan.load(plan)
    state: Any = None
    if resume is not None:
        state = read_checkpoint(resume)
    elif start is not None:
        state = state_at(opened, start, dp_size * micro_batch * (accumulation or 1))

    def rank(number: int, log: Callable[[Any], None] | None = None) -> Loader:
        return kind(opened, number, dp_size, micro_batch, accumulation, state, device.value, log=log, override=override)

    # What is refused is refused before a log is begun, and before steps are served whose checkpoint has no place.
    first = rank(0)
    first.close()
    if first.complete and not first.steps:
        raise RangeError(f"expected a run of at least one step of {first.batch_size} samples, found {opened.length}; take a smaller one")
    if save is not None:
        expect_writable(save)
    with RunLog(run_log) if run_log else nullcontext() as log, progress() as bars:
        ranks = [rank(number, log.write if log and number == 0 else None) for number in range(dp_size)]
        bar = bars.add_task("steps", total=steps)
        for line in serve(ranks, steps):
            bars.advance(bar)
            if as_json:
                print_json(line)
            else:
                typer.echo(f"step {line['step']}  consumed {line['consumed']}  {line['digest']}")
    if save is not None:
        save_checkpoint(save, ranks[-1].state_dict())
    if ranks[0].complete:
        note(f"the run is complete after step {ranks[0].steps}; {ranks[0].unserved} samples at its end fill no step and are not served")


def bench(
    plan: PlanFile,
    micro_batch: Annotated[int, typer.Option(metavar="M", min=1, help="Rows of a micro-batch.")],
    dp_size: Annotated[int, typer.Option(metavar="N", min=1, help="Number of data-parallel ranks of the run.")] = 1,
    dp_rank: Annotated[int, typer.Option(metavar="R", min=0, help="The rank that is measured.")] = 0,
    accumulation: Accumulation = None,
    step_seconds: Annotated[
        float | None, typer.Option(metavar="S", min=1e-6, help="What a step of your training takes; says how much headroom it has.")
    ] = None,
    steps: Annotated[int, typer.Option(metavar="K", min=1, help="Steps that are served at a time.")] = 50,
    rounds: Annotated[int, typer.Option(metavar="N", min=1, help="How often, each time elsewhere in the run.")] = 5,
    threads: Annotated[int, typer.Option(metavar="N", min=1, max=1024, help="Reads at a time.")] = 16,
    steps_ahead: Annotated[int, typer.Option(metavar="N", min=1, max=1024, help="Steps that are read ahead.")] = 2,
    gate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What --json printed three times or more: exit code 1 where a ratio fell by more than noise."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure how fast a rank's batches come from your corpora and disk, beside plain reads and copies, and what your training takes."""
    from ..reference.plan import Plan
    from .console import note, print_json
    from .gate import Baseline
    from .layout import Layout
    from .serve import loader_class
    from .supply import Share, extent, headroom, measure
    from .tables import print_supply

    if step_seconds is not None and not math.isfinite(step_seconds):
        raise OptionError(f"expected --step-seconds S to be what a step takes, found {step_seconds}")
    opened = Plan.load(plan)
    share = Share(Layout.of(opened, dp_size, micro_batch, accumulation), dp_rank)
    baseline = Baseline.read(gate) if gate else None
    if baseline:
        baseline.expect_alike(extent(opened, share, steps, rounds))
    kind: Any = loader_class("fastpath")

    def measured() -> dict[str, Any]:
        with kind(opened, dp_rank, dp_size, micro_batch, accumulation, steps_ahead=steps_ahead, threads=threads) as loader:
            found = measure(loader, share, steps, rounds, threads)
        if step_seconds is not None:
            found = headroom(found, step_seconds)
        print_json(found) if as_json else print_supply(found)
        return found

    if baseline is None:
        measured()
    elif not baseline.held(measured, note if as_json else typer.echo):
        raise typer.Exit(1)


def replay(
    plan: PlanFile,
    run_log: Annotated[Path, typer.Argument(metavar="RUN_LOG", help="The run log.")],
    step: Annotated[int, typer.Option(metavar="K", min=1, help="The step, as the run log numbers it.")],
    tokenizer: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="The tokenizer of the corpora, for previews in text; may be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Name the documents that a step of a run trained on, with counts and previews, from the plan and the run log alone."""
    from ..reference.plan import Plan
    from .console import print_json
    from .preview import Decoders
    from .replay import replay as look_up
    from .tables import print_replay

    decoders = Decoders(tokenizer or ())
    found = look_up(Plan.load(plan), run_log, step, decoders)
    decoders.expect_used()
    print_json(found) if as_json else print_replay(found)


def where(
    plan: PlanFile,
    source: Annotated[str, typer.Option(metavar="S", help="The source.")],
    corpus: Annotated[str | None, typer.Option(metavar="C", help="The corpus, where the source has several.")] = None,
    document: Annotated[int | None, typer.Option(metavar="D", help="Number of a document of the corpus, from 0.")] = None,
    tokens: Annotated[str | None, typer.Option(metavar="FIRST:LAST", help="Numbers of tokens of the corpus, both ends included.")] = None,
    dp_size: DpSize = None,
    micro_batch: MicroBatch = None,
    accumulation: Accumulation = None,
    run_log: LogFile = None,
    checkpoint: Annotated[Path | None, typer.Option(metavar="FILE", help="Say which positions were seen when this was written.")] = None,
    as_json: Json = False,
) -> None:
    """Name every position, step and dp rank that sees a document, or a range of tokens."""
    from ..corpus.origins import origins
    from ..reference.checkpoint import accept
    from ..reference.plan import Plan
    from .asked import read_checkpoint, wanted_tokens
    from .console import print_json
    from .layout import Layout
    from .samples import open_corpus, the_corpus
    from .tables import print_where
    from .where import where as look_up

    opened = Plan.load(plan)
    named = the_corpus(opened, source, corpus)
    wanted = wanted_tokens(opened, source, named, document, tokens)
    layout = Layout.of(opened, dp_size, micro_batch, accumulation)
    consumed = accept(opened, read_checkpoint(checkpoint))[0] if checkpoint else None
    found = look_up(opened, source, named, wanted, layout, run_log, consumed)
    if document is not None:
        came_from = origins(open_corpus(opened, source, named).folder, [document])
        found = {**found, "document": document, **({"origin": came_from[document]} if document in came_from else {})}
    print_json(found) if as_json else print_where(found)
