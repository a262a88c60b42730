"""From text to corpora: the work behind `fivepoint prepare`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import ConfigError, InputError, UsageError
from ..reference.manifest import Manifest
from .cut import exact_joints
from .documents import Part, read_parts
from .encode import Job, Pool, workers_of
from .lock import locked
from .outputs import FORMAT, Output, expect_apart, folder_for
from .settings import HOLDOUT, Settings
from .sort_out import SortOut, Tally
from .sources import Source, parse_sources
from .tokenizer import EOD_NAMES, Encoder, TokenizerFile, find_eod
from .write import DOCUMENTS, CorpusWriter

Progress = Callable[[str, int, int], None]  # (what is done, bytes done, bytes in all)


@dataclass(frozen=True)
class TokenizerChoice:
    """Which tokenizer: a file (`encoding` names one of tiktoken's), or a vocabulary size to train from `characters`.

    `eod`: the token that ends documents, found by its usual names where None; "" for no such token.
    """

    path: Path | None = None
    encoding: str | None = None
    train_bpe: int | None = None
    train_characters: int = 0
    eod: str | None = None


def prepare(
    out: Path, choice: TokenizerChoice, sources: list[str], settings: Settings, *, force: bool = False, progress: Progress
) -> list[dict[str, Any]]:
    """Make a corpus in the folder `out` from each of `sources` ("NAME=PATH"), and return their reports.

    A source that is finished is reused if it was made from the same inputs, and refused otherwise, unless `force` is set.
    Raises ConfigError for settings that do not fit, UsageError for options that do not go together, InputError for inputs that cannot
    be used, CorpusError where a folder of output holds other files, OutputError where one cannot be written; no half-written corpus
    stays, and no folder that would be empty.
    """
    if (choice.path is None) == (choice.train_bpe is None):
        raise UsageError("expected either --tokenizer FILE or --train-bpe N, found " + ("both" if choice.path else "none") + "; give one")
    if choice.encoding is not None and choice.path is None:
        raise UsageError("expected --encoding beside --tokenizer, found --train-bpe; leave --encoding out")
    found = parse_sources(sources, list(settings.globs), HOLDOUT)
    expect_apart(out, found)
    with folder_for(out), locked(out):
        for leftover in out.glob(".tokenizer*.tmp"):
            leftover.unlink()
        fingerprints = _fingerprints(found, progress)
        file = _tokenizer(out, choice, found, settings, fingerprints, force)
        encoder = file.open()
        eod = None if choice.eod == "" else find_eod(encoder, choice.eod, file.name)
        settings = replace(settings, reading=replace(settings.reading, joints=exact_joints(encoder)))
        run = _Run(out, file, encoder, eod, settings, progress)
        return run.all(found, fingerprints, force)


def _fingerprints(sources: list[Source], progress: Progress) -> dict[str, str]:
    found = {}
    for source in sources:
        found[source.name] = source.fingerprint(partial(progress, f"{source.name}: hashing"))
    return found


def _tokenizer(
    out: Path, choice: TokenizerChoice, sources: list[Source], settings: Settings, fingerprints: dict[str, str], force: bool
) -> TokenizerFile:
    if choice.path is not None:
        return TokenizerFile.read(choice.path, choice.encoding)
    from .train import FILE, trained_tokenizer

    # Training takes minutes: what would be refused after it is refused now.
    if choice.eod not in {None, "", EOD_NAMES[0]}:
        raise UsageError(f"expected documents of a trained BPE to end with {EOD_NAMES[0]}, found --eod {choice.eod}; leave it out")
    finished = [source.name for source in sources if Output(out, source.name).finished()]
    if finished and not force and not (out / FILE).exists():
        raise ConfigError(
            f"{out / finished[0]} was prepared with another tokenizer than the one to be trained; choose another folder, or write "
            "it anew with --force"
        )
    inputs = [[source.name, fingerprints[source.name]] for source in sources]
    size, characters = choice.train_bpe or 0, choice.train_characters
    return trained_tokenizer(out, size, characters, sources, settings.reading, inputs, force)


@dataclass(frozen=True)
class _Run:
    """One run of prepare: what all its sources share."""

    out: Path
    file: TokenizerFile
    encoder: Encoder
    eod: tuple[str, int] | None
    settings: Settings
    progress: Progress

    def all(self, sources: list[Source], fingerprints: dict[str, str], force: bool) -> list[dict[str, Any]]:
        inputs = {source.name: self._inputs(fingerprints[source.name]) for source in sources}
        reports: dict[str, dict[str, Any]] = {}
        for source in sources:  # every refusal comes before any work
            output = Output(self.out, source.name)
            if output.finished() and not force:
                reports[source.name] = {**output.reused(inputs[source.name]), "reused": True}
        job = Job(self.file, self.eod, digests=self.settings.holdout > 0, lines=self.settings.min_unique_lines > 0)
        todo = [source for source in sources if source.name not in reports]
        if todo:
            with workers_of(job, self.settings.workers) as pool:
                for source in todo:
                    output = Output(self.out, source.name)
                    output.clear()
                    reports[source.name] = {**self._one(source, output, pool, inputs[source.name]), "reused": False}
        return [reports[source.name] for source in sources]

    def _inputs(self, fingerprint: str) -> dict[str, Any]:
        """Return what decides the output of a source."""
        eod: dict[str, Any] = {} if self.eod is None else {"eod": self.eod[0], "eod_id": self.eod[1]}
        tokenizer = {**asdict(self.file.identity), "vocab_size": self.encoder.vocab_size, **eod}
        joints = [joint.value for joint in self.settings.reading.joints]
        return {"files": fingerprint, "tokenizer": tokenizer, "joints": joints, **self.settings.to_json()}

    def _one(self, source: Source, output: Output, pool: Pool, inputs: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._write(source, output, pool, inputs)
        except BaseException:
            output.clear()
            raise

    def _write(self, source: Source, output: Output, pool: Pool, inputs: dict[str, Any]) -> dict[str, Any]:
        with ExitStack() as stack:
            train = stack.enter_context(self._writer(output.train, source.name))
            held_out = f"{source.name}{HOLDOUT}"
            holdout = stack.enter_context(self._writer(output.holdout, held_out)) if self.settings.holdout else None
            sort_out = SortOut(self.settings, None if self.eod is None else self.eod[1], train, holdout)
            stack.callback(sort_out.discard)
            for part, encoded in pool.encoded(self._parts(source)):
                sort_out.take(part, encoded)
            source.check_unchanged()
            tally = sort_out.tally
            if not tally.kept:
                raise InputError(_nothing_kept(source, tally))
            writers = [train] if holdout is None or not tally.held_out else [holdout, train]
            sort_out.finish(writers)
            report = {
                **FORMAT,
                "source": source.name,
                "inputs": inputs,
                "input_files": len(source.files),
                "input_bytes": source.bytes,
                **tally.to_json(),
                "corpora": [_figures(writer.manifest()) for writer in reversed(writers)],
            }
            # the holdout first: the manifest of the source itself says that all of it is finished
            for writer in writers:
                output.write_report(writer.folder, report)
                writer.finish()
            return report

    def _writer(self, folder: Path, name: str) -> CorpusWriter:
        return CorpusWriter(
            folder,
            name,
            self.encoder.vocab_size,
            self.file.identity,
            eod_id=None if self.eod is None else self.eod[1],
            shard_bytes=self.settings.shard_bytes,
        )

    def _parts(self, source: Source) -> Iterator[Part]:
        before = 0
        for file in source.files:
            for part in read_parts(file, self.settings.reading):
                self.progress(source.name, before + part.position, source.bytes)
                yield part
            before += file.bytes
        self.progress(source.name, source.bytes, source.bytes)


def _nothing_kept(source: Source, tally: Tally) -> str:
    dropped = ", ".join(f"{count} {reason}" for reason, count in sorted(tally.dropped.items()))
    found = f"{tally.documents} documents ({dropped or 'none dropped'}, {tally.held_out} held out)"
    return f"expected documents to keep in source {source.name}, found none of {found}; give it more text"


def _figures(manifest: Manifest) -> dict[str, Any]:
    return {
        "name": manifest.name,
        "dtype": manifest.dtype,
        "tokens": manifest.tokens,
        "documents": manifest.documents,
        "origins": DOCUMENTS,
        "shards": len(manifest.shards),
        "manifest_hash": manifest.manifest_hash,
    }
