"""The answers of `audit` as tables for people."""

from collections.abc import Sequence
from typing import Any

import typer

from ..errors import printable
from .console import print_table
from .supply import BESIDE, COLD, WARM

MOST = 40

SOURCE = {
    "source": "source",
    "served": "samples",
    "served_tokens": "tokens",
    "epochs": "epochs",
    "max_epochs": "at most",
    "passed_over": "skipped",
    "windows": "windows",
    "never_drawn_windows": "unread",
    "tail_tokens": "tail tokens",
    "deviation": "deviation",
}
SAMPLE = ("position", "step", "dp_rank", "micro_batch", "row", "source", "corpus", "epoch", "window", "first_token")
PLACE = ("position", "step", "dp_rank", "micro_batch", "row", "epoch", "window", "first_token", "asked_tokens", "seen")


def print_summary(summary: dict[str, Any]) -> None:
    """Print what a plan means: its sources, its phases, and what people should know before they run it."""
    typer.echo(f"plan {summary['plan_hash']}, seed {summary['seed']}: {summary['samples']:,} samples, {summary['tokens']:,} tokens")
    worst = summary["run_deviation"]
    print_table(
        "sources: what they serve, and what of them is never read",
        list(SOURCE.values()),
        [[worst[source["source"]] if key == "deviation" else source.get(key) for key in SOURCE] for source in summary["sources"]],
    )
    print_table(
        "phases; deviation is the largest distance of a source from its share at any prefix, in samples",
        ["phase", "start", "end", "seq len", "rule", "weights", "skipped", "deviation"],
        [
            [
                *(phase[key] for key in ("phase", "start", "end", "seq_len", "rule")),
                ", ".join(f"{name} {share:.2%}" for name, share in phase["shares"].items()),
                *(phase[key] for key in ("passed_over", "worst_deviation")),
            ]
            for phase in summary["phases"]
        ],
        MOST,
    )
    if "steps" in summary:
        print_table(
            "batch sizes",
            ["samples a step", "from sample", "first step"],
            [[entry[key] for key in ("batch_size", "from", "step")] for entry in summary["batch_sizes"]],
            MOST,
        )
        typer.echo(f"{summary['steps']:,} steps; {summary['unserved']:,} samples at the run's end fill no step and are not served")
        ends = summary["steps_with_epoch_end"]
        typer.echo(f"steps that hold an epoch's end of a source, where a sample can stand twice: {'not counted' if ends is None else ends}")
    if summary.get("ranks"):
        print_table(
            "shares that differ between dp ranks: harmless for averaged gradients, not for losses per rank",
            ["dp size", "phase", "source", "share", "lowest", "on rank", "highest", "on rank"],
            [
                [
                    *(entry[key] for key in ("dp_size", "phase", "source", "share")),
                    *(entry[end][key] for end in ("lowest", "highest") for key in ("share", "rank")),
                ]
                for entry in summary["ranks"]
            ],
            MOST,
        )


def print_samples(title: str, samples: Sequence[dict[str, Any]], columns: Sequence[str] = SAMPLE) -> None:
    """Print a row for each sample, with those of the columns that one of them has."""
    keys = [key for key in columns if any(key in sample for sample in samples)]
    print_table(title, [key.replace("_", " ") for key in keys], [[sample.get(key) for key in keys] for sample in samples], MOST)


def print_replay(found: dict[str, Any]) -> None:
    """Print a step as it was served: totals per source, documents by tokens, rows."""
    first = found["consumed"] - found["batch_size"]
    typer.echo(
        f"step {found['step']}: positions {first:,} to {found['consumed'] - 1:,} on {found['dp_size']} dp ranks, phase {found['phase']}"
        + ("" if found["applied"] else "; the optimizer skipped its update")
        + ("; a later start from an earlier checkpoint undid it" if found["undone"] else "")
    )
    keys = ("source", "samples", "tokens", "documents")
    print_table("sources", keys, [[source[key] for key in keys] for source in found["sources"]])
    columns = ("source", "corpus", "document", "tokens", "windows")
    said = any("origin" in document for document in found["documents"])
    print_table(
        "documents, by their tokens in this step",
        [*columns, *(["from"] if said else []), "preview"],
        [
            [
                *(document[key] for key in columns),
                *([printable(document.get("origin", ""))] if said else []),
                printable(document["preview"]["text"])
                if "text" in document["preview"]
                else " ".join(map(str, document["preview"]["tokens"])),
            ]
            for document in found["documents"]
        ],
        MOST,
    )
    print_samples("rows", found["rows"])


def print_where(found: dict[str, Any]) -> None:
    """Print every position that sees what was asked for, and what of it lies before the checkpoint."""
    positions = found["positions"]
    tokens = f"tokens {found['first_token']} to {found['last_token']}" if "first_token" in found else "of no tokens"
    place = f"of corpus {found['corpus']} of source {found['source']}"
    samples = f"{len(positions)} sample{'s' * (len(positions) != 1)}"
    if "document" in found:
        origin = f" ({found['origin']})" if "origin" in found else ""
        typer.echo(printable(f"document {found['document']}{origin} {place}, {tokens}, stands in {samples} of the run"))
    else:
        typer.echo(f"{tokens} {place} stand in {samples} of the run")
    if positions:
        print_samples("in order of service", positions, PLACE)
    if "consumed" in found:
        seen = sum(position["seen"] for position in positions)
        typer.echo(f"at consumed = {found['consumed']}, {seen} were seen and {len(positions) - seen} will be")


def print_supply(found: dict[str, Any]) -> None:
    """Print how fast batches come, beside what the machine gives, and what that means for the training."""
    named = [(name, found[key]) for name, key in ((COLD, "cold"), (WARM, "warm")) if found[key]]
    print_table(
        f"a rank's {found['tokens_per_step']:,} tokens a step, medians of {found['rounds']} x {found['steps']} steps",
        ["batches", "M tokens/s", "beside", "M tokens/s", "ratio", "+-"],
        [
            [
                name,
                f"{supply['tokens_per_second'] / 1e6:.1f}",
                BESIDE[name],
                f"{supply['beside_tokens_per_second'] / 1e6:.1f}",
                f"{supply['ratio']:.2f}",
                f"{supply['spread']:.2f}",
            ]
            for name, supply in named
        ],
    )
    if found["cold"] is None:
        typer.echo("the system keeps the corpora in memory although it was asked to forget them: nothing is said of a cold cache")
    else:
        typer.echo(f"the first batch is there {found['cold']['seconds_to_first_batch'] * 1e3:.1f} ms after a resume, from a cold cache")
    for name, supply in named:
        if "step_seconds" not in found:
            typer.echo(f"{name}: a step of {supply['seconds_per_step'] * 1e3:.2f} ms or more need not wait; give --step-seconds for yours")
        elif supply["headroom"] >= 1:
            typer.echo(f"{name}: {supply['headroom']:.1f} times what steps of {found['step_seconds']:g} s take")
        else:
            typer.echo(f"{name}: {supply['headroom']:.0%} of what steps of {found['step_seconds']:g} s take: the training would wait")
