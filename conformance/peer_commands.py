"""The commands `fivepoint peers ...`: loaders of other projects, each in an environment of its own."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from .peers import FOLDER, chosen
from .peers import build as build_environment

peers = typer.Typer(no_args_is_help=True, help="Loaders of other projects, each in an environment of its own.")

Names = Annotated[list[str] | None, typer.Argument(metavar="PEER", help="All, where none is named.")]
BUDGETS = {"quick": 120.0, "full": 1200.0}
"""Seconds for each loader."""


@peers.command()
def build(names: Names = None) -> None:
    """Make the environments of peers in .peers, some hundred megabytes each; what is there is left. Then: fivepoint conform PEER."""
    for peer in chosen(names or []):
        typer.echo(f"{peer.name}: {'made' if build_environment(peer) else 'is there'}, in {FOLDER / peer.environment}")


@peers.command()
def judge(
    names: Names = None,
    full: Annotated[bool, typer.Option("--full/--quick", help="Every case, or the small ones.")] = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the random cases.")] = 0,
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=1, help="Time for each loader: 120 in the quick mode, 1200 in the full one.")
    ] = None,
    beside: Annotated[
        list[str] | None, typer.Option(metavar="LOADER", help="A loader to judge beside them, fastpath where none is named; repeatable.")
    ] = None,
    into: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where reports go: one a loader, and report.json and index.html of all.")
    ] = Path("peers-report"),
) -> None:
    """Judge peers one after the other, and put their reports side by side. Exit code 1: a loader beside them is broken."""
    from .opening import opened
    from .report.comparison import read
    from .report.machine import write_json
    from .report.page import write_page
    from .report.terminal import print_comparison
    from .running import Outputs, judged
    from .suite import collected

    own, mode = beside or ["fastpath"], "full" if full else "quick"
    loaders = [*own, *(peer.name for peer in chosen(names or []))]
    # Whatever is missing is said before work is done.
    for name in loaders:
        opened([name]).door.close()
    files = [into / f"{name}.json" for name in loaders]
    into.mkdir(parents=True, exist_ok=True)
    broken = False
    for name, file in zip(loaders, files, strict=True):
        Outputs(file).expect_writable()
        outcome = judged(opened([name]), collected(), mode, seed, budget=budget or BUDGETS[mode])
        if outcome.stopped:
            raise outcome.stopped
        write_json(outcome, file)
        broken |= name in own and bool(outcome.broken)
        counts = Counter(verdict for _, verdict, _ in outcome.rows())
        seconds = sum(finding.seconds for finding in outcome.findings)
        typer.echo(f"{name}: {', '.join(f'{count} {verdict}' for verdict, count in counts.items())}, in {seconds:.0f} s")
    comparison = read(files)
    print_comparison(comparison)
    comparison.write(into / "report.json")
    write_page(comparison, into / "index.html", "Loaders and the contract")
    raise typer.Exit(1 if broken else 0)
