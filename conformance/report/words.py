"""A case in words, for people who read a proof."""

from collections.abc import Iterator

from ...errors import printable
from ..case import SAVE, Case, Leg
from ..corpora import CorpusSpec
from ..driver import Settings


def plain(text: str) -> str:
    """Return a text as any terminal can show it: what would steer one, which a loader may say, is escaped."""
    return "\n".join(map(printable, text.split("\n")))


def describe(case: Case) -> list[str]:
    """Return what a case serves, one sentence a line."""
    lines = [_corpus(spec) for spec in case.corpora]
    unions = [f"source {name} joins {', '.join(held)}" for name, held in case.settings.sources.items() if held != [name]]
    return [*lines, *unions, *_settings(case.settings), *(_leg(number, leg) for number, leg in enumerate(case.legs))]


def _corpus(spec: CorpusSpec) -> str:
    documents = f"documents of {_some(spec.documents)}" if len(spec.documents) > 1 else "1 document"
    extra = "" if spec.dtype == "uint32" else f", {spec.dtype}"
    extra += "" if spec.first is None else f", the first is {spec.first}"
    return f"corpus {spec.name}: {spec.tokens} tokens, {documents}{extra}"


def _some(numbers: tuple[int, ...], most: int = 8) -> str:
    shown = ", ".join(map(str, numbers[:most]))
    return shown if len(numbers) <= most else f"{shown} and {len(numbers) - most} more"


def _settings(settings: Settings) -> Iterator[str]:
    yield f"seed {settings.seed}, seq_len {settings.seq_len}, {settings.length} samples"
    for phase in settings.phases if len(settings.sources) > 1 or len(settings.phases) > 1 else ():
        yield f"{phase.length} samples by the weights {', '.join(f'{name} {weight}' for name, weight in phase.weights.items())}"
    for at, count in settings.skips:
        yield f"{count} samples are skipped before position {at}"
    if settings.max_epochs:
        yield f"at most {', '.join(f'{count} epochs of {name}' for name, count in settings.max_epochs.items())}"
    if settings.batch_size is not None:
        yield f"a batch size of {settings.batch_size} is asked for"


def _leg(number: int, leg: Leg) -> str:
    parts = [_many(leg.dp_size, "dp rank"), f"{_many(leg.micro_batch, 'row')} a micro-batch"]
    if leg.accumulation > 1:
        parts.append(f"{leg.accumulation} micro-batches a step")
    if leg.tp * leg.pp * leg.cp > 1:
        parts.append(f"tp {leg.tp} x pp {leg.pp} x cp {leg.cp}")
    if leg.workers:
        parts.append(_many(leg.workers, "worker"))
    parts.append("to the end" if leg.steps is None else f"{_many(leg.steps, 'step')}")
    if leg.stop != SAVE:
        ahead = f" after {_many(leg.ahead, 'step')} more" if leg.ahead else ""
        parts.append(f"{'stopped inside the next step' if leg.stop == 'inside' else 'killed'}{ahead}")
    if leg.state_of is not None:
        parts.append(f"the next leg gets the state of process {leg.state_of}")
    parts += [f"{name}={value}" for name, value in leg.environment.items()]
    parts += [f"{name} is now {value}" for name, value in leg.settings.items()]
    return f"leg {number}: {', '.join(parts)}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
