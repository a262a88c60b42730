"""The commands `fivepoint peers ...`: loaders of other projects, each in an environment of its own."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from .peers import FOLDER, chosen, missing
from .peers import build as build_environment

peers = typer.Typer(no_args_is_help=True, help="Loaders of other projects, each in an environment of its own.")

Names = Annotated[list[str] | None, typer.Argument(metavar="PEER", help="All, where none is named.")]
BUDGETS = {"quick": 120.0, "full": 1200.0}
"""Seconds for each loader."""
MOST_MEGATOKENS = 4294
"""Each token of the corpus has a number of its own, in four bytes."""


@peers.command()
def build(names: Names = None) -> None:
    """Make the environments of peers in .peers; what is there is left. Then: fivepoint conform PEER.

    An environment takes minutes and 1 to 1.6 GB, that of grain 0.2 GB, all of them 9 GB: more where pip's own torch is the one for CUDA.
    """
    asked = chosen(names or [])
    for peer in missing(asked):
        typer.echo(f"making {FOLDER / peer.environment}, which takes minutes and about {peer.megabytes / 1e3:.1f} GB")
        build_environment(peer)
    for peer in asked:
        typer.echo(f"{peer.name}: in {FOLDER / peer.environment}")


@peers.command()
def judge(
    names: Names = None,
    full: Annotated[bool, typer.Option("--full/--quick", help="Every case, or the small ones.")] = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the random cases.")] = 0,
    select: Annotated[
        list[str] | None, typer.Option(metavar="CLAUSE", help="A clause (C2.1), a chapter (C2) or a check; may be repeated.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=1, help="Time for each loader: 120 in the quick mode, 1200 in the full one.")
    ] = None,
    beside: Annotated[
        list[str] | None, typer.Option(metavar="LOADER", help="A loader to judge beside them, fastpath where none is named; repeatable.")
    ] = None,
    into: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Where reports go: one a loader, report.json and index.html of all, and the cases that fail."),
    ] = Path("peers-report"),
) -> None:
    """Judge peers one after the other, and put their reports side by side.

    Exit code 1: a loader beside them is broken; others: what was asked could not be done, or not for every loader.
    """
    from . import console
    from .opening import opened
    from .suite import selected
    from .turns import Place, finish, in_turn

    own, mode, asked = beside or ["fastpath"], "full" if full else "quick", chosen(names or [])
    checks = selected(select or [])
    # Whatever is missing is said before work is done; to import all libraries for that would take minutes.
    for name in own:
        opened([name]).door.close()
    for peer in asked:
        peer.python()
    loaders, place = list(dict.fromkeys([*own, *(peer.name for peer in asked)])), Place(into)
    place.expect_writable(loaders)

    turns = in_turn(loaders, checks, mode, seed, budget or BUDGETS[mode], place, console.say)
    finish(turns, place)
    if turns.broken(own):
        raise typer.Exit(1)
    if turns.missing:
        raise UsageError(f"expected to judge {len(loaders)} loaders, {len(turns.missing)} could not be judged: {'; '.join(turns.missing)}")


@peers.command()
def bench(
    names: Names = None,
    alone: Annotated[bool, typer.Option("--alone", help="No peers: what --beside and --process name.")] = False,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LOADER", help="A loader to compare the peers with, as `conform` takes it; fastpath where none is named; repeatable."
        ),
    ] = None,
    process: Annotated[
        list[str] | None, typer.Option(metavar="COMMAND", help="A command that speaks for one, in any language; repeatable.")
    ] = None,
    rounds: Annotated[int, typer.Option(metavar="N", min=1, help="Rounds, of which the medians count.")] = 5,
    seconds: Annotated[float, typer.Option(metavar="S", min=0.05, help="Time of one measurement of supply, at the most.")] = 2.0,
    megatokens: Annotated[
        float, typer.Option(metavar="N", min=1, max=MOST_MEGATOKENS, help="Size of the corpus; a token takes four bytes.")
    ] = 64.0,
    demand: Annotated[
        float, typer.Option(metavar="TOKENS_PER_SECOND", min=1000, help="What a rank demands, in the measures of a stated demand.")
    ] = 250_000.0,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write all figures here (spec/schemas/supply.schema.json).")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw them here, PNG or SVG.")] = None,
    folder: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where the corpora go: the disk that is measured.")] = None,
) -> None:
    """Measure how peers supply a rank, in turn and beside what the machine gives: warm, cold, from slow files, and resumed.

    `fivepoint bench` measures your corpora and your plan; this measures loaders, over a corpus of its own.
    """
    from ..errors import OutputError
    from ..reference.files import expect_writable, written
    from .console import progress
    from .opening import opened
    from .supply.measures import Effort
    from .supply.plot import draw, expect_matplotlib
    from .supply.run import measured, room, steps
    from .supply.table import print_result

    own = beside or ([] if process else ["fastpath"])
    named = [(name, opened([name], forks=False).door, True) for name in own]
    named += [(command, opened([], process=command).door, True) for command in process or []]
    named += [] if alone else [(peer.name, opened([peer.name], forks=False).door, False) for peer in chosen(names or [])]
    for _, door, _ in named:
        # Each is measured in processes of its own.
        door.close()
    for file in (json, plot):
        if file:
            expect_writable(file)
    if plot:
        expect_matplotlib()
    effort = Effort(rounds, seconds, demand)
    with room(folder) as place, progress(steps(len(named), effort)) as heard:
        result = measured(named, round(megatokens * 1e6), effort, place, heard)
    # Whoever reads the table may leave, and what took hours is written by then.
    failed: list[OutputError] = []
    for file, write in ((json, result.write), (plot, partial(draw, result))):
        try:
            if file:
                with written(file):
                    write(file)
        except OutputError as reason:
            failed.append(reason)
    print_result(result)
    if failed:
        raise failed[0]
