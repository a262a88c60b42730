"""The commands `fivepoint prepare` and `fivepoint verify`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import CorpusError, InputError, OptionError, UsageError
from .ending import ended_in_order

Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, for machines, and no progress.")]


def prepare(
    out: Annotated[Path, typer.Option("--out", help="Folder in which each source becomes a corpus folder.")],
    source: Annotated[
        list[str],
        typer.Option("--source", metavar="NAME=PATH", help="A file or folder of text, JSONL (.gz, .zst) or Parquet. Once per corpus."),
    ],
    tokenizer: Annotated[
        Path | None,
        typer.Option("--tokenizer", metavar="FILE", help="tokenizers JSON, sentencepiece .model, .tiktoken ranks, tekken JSON."),
    ] = None,
    encoding: Annotated[str | None, typer.Option(metavar="NAME", help="Of tiktoken's encodings, the one that the ranks are for.")] = None,
    train_bpe: Annotated[
        int | None, typer.Option("--train-bpe", metavar="N", help="Train a byte-level BPE of N ids on the sources, and keep it in --out.")
    ] = None,
    train_characters: Annotated[int, typer.Option(metavar="N", help="About how much text the BPE is trained on.")] = 100_000_000,
    eod: Annotated[str | None, typer.Option(metavar="TOKEN", help="The token that ends each document; found by its usual names.")] = None,
    no_eod: Annotated[bool, typer.Option("--no-eod", help="End documents with no token.")] = False,
    glob: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Of folders, only files whose relative path matches, such as '*.py'.")
    ] = None,
    text_field: Annotated[str, typer.Option(metavar="NAME", help="Field of JSONL, or column of Parquet, with the text.")] = "text",
    invalid_utf8: Annotated[
        str, typer.Option(metavar="WHAT", help="Text that is not UTF-8: refuse it, replace wrong bytes by U+FFFD, or skip the document.")
    ] = "refuse",
    min_unique_lines: Annotated[
        str, typer.Option(metavar="SHARE", help="Drop documents of which a smaller share of lines is different, such as 0.3.")
    ] = "0",
    holdout: Annotated[
        str, typer.Option(metavar="FRACTION", help="Share of documents that goes to the corpus NAME-holdout instead, such as 0.01.")
    ] = "0",
    seed: Annotated[int, typer.Option(help="Seed of the choice of the holdout.")] = 0,
    shard_bytes: Annotated[int, typer.Option(metavar="BYTES", help="Size of shards, which end where documents end.")] = 256 << 20,
    workers: Annotated[int | None, typer.Option(help="Processes that tokenize; all cores by default. Decides nothing.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write anew what was prepared here before from other inputs.")] = False,
    as_json: Json = False,
) -> None:
    """Tokenize text into corpora: shards, document indexes, and a manifest that is written last.

    Run again after an interruption, it finishes what is missing; finished sources are kept as they are.
    """
    from . import prepare as work
    from .documents import Reading
    from .settings import Settings, available_cores, decimal

    if eod is not None and no_eod:
        raise UsageError("expected a token for --eod, or --no-eod, found both; give one")
    if eod == "":
        raise OptionError("expected a token for --eod, found an empty one; name the token, or give --no-eod")
    settings = Settings(
        reading=Reading(text_field, invalid_utf8),
        globs=tuple(glob or ()),
        min_unique_lines=decimal(min_unique_lines, "--min-unique-lines"),
        holdout=decimal(holdout, "--holdout"),
        seed=seed,
        shard_bytes=shard_bytes,
        workers=available_cores() if workers is None else workers,
    )
    choice = work.TokenizerChoice(tokenizer, encoding, train_bpe, train_characters, "" if no_eod else eod)
    with ended_in_order("interrupted; run it again to finish"), _progress(as_json) as progress:
        try:
            reports = work.prepare(out, choice, source, settings, force=force, progress=progress)
        except ModuleNotFoundError as reason:
            raise InputError(f"these inputs need the package {reason.name}: pip install 'fivepoint[prepare]'") from reason
    if as_json:
        typer.echo(json.dumps({"out": str(out), "sources": reports}, ensure_ascii=False))
    else:
        _print_reports(out, reports, train_bpe)


def verify(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Corpora, or folders that hold corpora.")],
    disjoint: Annotated[bool, typer.Option("--disjoint", help="Prove as well that no document is in two of the corpora.")] = False,
    as_json: Json = False,
) -> None:
    """Read every byte of corpora and compare it with their manifests.

    Leaves with exit code 4 where anything is wrong, after printing a sentence for each problem.
    """
    from ..reference.manifest import Manifest
    from .verify import corpora_in, problems

    corpora = [corpus for folder in folders for corpus in corpora_in(folder)]
    if disjoint:
        _expect_different(corpora)
    sizes = {corpus: sum(path.stat().st_size for path in corpus.glob("*.bin") if path.is_file()) for corpus in corpora}
    found: list[tuple[Path, str]] = []
    with _progress(as_json) as progress:
        for corpus in corpora:
            count = _Count(progress, f"{corpus.name}: reading", sizes[corpus])
            found += [(corpus, problem) for problem in problems(corpus, count)]
        # Corpora with problems are not compared: what is shared is then unknown, not nothing.
        shared = _shared(corpora, sizes, progress) if disjoint and not found else None
    documents = [] if found else [Manifest.load(corpus) for corpus in corpora]
    if as_json:
        summary: dict[str, Any] = {
            "corpora": [str(corpus) for corpus in corpora],
            "tokens": sum(manifest.tokens for manifest in documents),
            "documents": sum(manifest.documents for manifest in documents),
            "problems": [{"corpus": str(corpus), "problem": problem} for corpus, problem in found],
        }
        typer.echo(json.dumps(summary | ({"shared": shared} if shared is not None else {}), ensure_ascii=False))
    for _, problem in [] if as_json else found:
        typer.echo(problem)
    if found:
        held = "1 corpus as its manifest says" if len(corpora) == 1 else f"{len(corpora)} corpora as their manifests say"
        raise CorpusError(f"expected {held}, found {len(found)} problem{'s' * (len(found) > 1)}; see the list")
    if shared:
        one = shared[0]
        raise CorpusError(
            f"expected no document in two corpora, found {len(shared)}, the first being {_named(one, 'first')} and "
            f"{_named(one, 'second')}; drop it from one"
        )
    if not as_json:
        for corpus, manifest in zip(corpora, documents, strict=True):
            typer.echo(f"{corpus}: {manifest.tokens:,} tokens in {manifest.documents:,} documents, every byte as its manifest says")
        if disjoint:
            typer.echo(f"no document is in two of these {len(corpora)} corpora")


def _expect_different(corpora: list[Path]) -> None:
    """Raise UsageError unless there are two corpora to compare, and none of them is there twice."""
    if len(corpora) < 2:
        raise UsageError(f"expected at least two corpora for --disjoint, found {len(corpora)}; name another")
    names: dict[Path, Path] = {}
    for corpus in corpora:
        if (other := names.setdefault(corpus.resolve(), corpus)) is not corpus:
            raise UsageError(f"expected each corpus once for --disjoint, found {other} and {corpus}, which are one; take one out")


def _named(shared: dict[str, Any], side: str) -> str:
    origin = f" ({shared[f'{side}_origin']})" if f"{side}_origin" in shared else ""
    return f"document {shared[f'{side}_document']}{origin} of {shared[side]}"


def _shared(corpora: list[Path], sizes: dict[Path, int], progress: Callable[[str, int, int], None]) -> list[dict[str, Any]]:
    """Return which documents are in two of `corpora`."""
    from .disjoint import shared_documents
    from .origins import origins

    found: list[dict[str, Any]] = []
    for at, first in enumerate(corpora):
        for second in corpora[at + 1 :]:
            count = _Count(progress, f"{first.name} and {second.name}: comparing", sizes[first] + sizes[second])
            pairs = list(shared_documents(first, second, count))
            from_first = origins(first, (one for one, _ in pairs))
            from_second = origins(second, (two for _, two in pairs))
            for one, two in pairs:
                entry = {"first": str(first), "first_document": one, "second": str(second), "second_document": two}
                entry |= {"first_origin": from_first[one]} if one in from_first else {}
                found.append(entry | ({"second_origin": from_second[two]} if two in from_second else {}))
    return found


class _Count:
    """Adds up bytes for a progress bar."""

    def __init__(self, progress: Callable[[str, int, int], None], what: str, total: int) -> None:
        self._progress, self._what, self._total, self._done = progress, what, total, 0

    def __call__(self, read: int) -> None:
        self._done += read
        self._progress(self._what, self._done, self._total)


@contextmanager
def _progress(as_json: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield what moves a bar per kind of work; there are bars where standard error is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=as_json or not console.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def move(what: str, done: int, total: int) -> None:
            if bars.disable:
                return
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield move


def _print_reports(out: Path, reports: list[dict[str, Any]], train_bpe: int | None) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"corpora in {out}")
    for heading in ("corpus", "documents", "tokens", "shards", "dtype", "dropped"):
        table.add_column(heading, justify="left" if heading in {"corpus", "dtype", "dropped"} else "right")
    for report in reports:
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in report["dropped"].items()) or "none"
        for corpus in report["corpora"]:
            name = corpus["name"] + (" (as it was)" if report["reused"] else "")
            figures = [f"{corpus[key]:,}" for key in ("documents", "tokens", "shards")]
            table.add_row(name, *figures, corpus["dtype"], dropped if corpus["name"] == report["source"] else "")
    Console().print(table)
    ids = reports[0]["inputs"]["tokenizer"]["vocab_size"]
    if train_bpe is not None and ids < train_bpe:
        typer.echo(
            f"{out / 'tokenizer.json'}: {ids:,} ids of the {train_bpe:,} that were asked for; there is no more to learn from the text"
        )
    for report in reports:
        for note in _notes(out, report):
            typer.echo(f"{report['source']}: {note}")


def _notes(out: Path, report: dict[str, Any]) -> Iterator[str]:
    """Yield what a person should know beside the figures."""
    if report["dropped"]:
        yield f"what was dropped, and why, is listed in {out / report['source'] / 'dropped.jsonl'}"
    if report["replaced"]:
        yield f"{report['replaced']:,} documents had bytes that are not UTF-8, now U+FFFD"
    if report["inexact"]:
        yield f"long documents were cut {report['inexact']:,} times at no joint; tokens there may differ from the whole's"
    if report["inputs"]["holdout"] != "0" and not report["held_out"]:
        yield f"no document fell into the holdout, so there is no corpus {report['source']}-holdout; ask for a larger share"
