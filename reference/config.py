"""From a run's TOML file to its plan (docs/run.md): everything a person decides, read exactly, nothing guessed."""

import tomllib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from ..errors import ConfigError, CorpusError
from . import admission, partition
from .blend import EARLIEST_DEADLINE
from .guess import GIVE, advice, seems
from .manifest import MANIFEST, Manifest
from .plan import Plan
from .quantities import Units
from .schema import validate
from .weights import LIMIT, integer_weights, parse_decimal

SIGN_OFFS = ("max_epochs", "repeats_signed_off", "repeats_in_step_signed_off", "tokenizer_signed_off")


def compile_run(path: str | Path) -> Plan:
    """Return the plan of the run that the TOML file at `path` describes; corpora are looked for relative to its folder.

    Raises ConfigError for the file, CorpusError for a corpus, PlanError (BudgetError) for a plan that may not be run.
    """
    path = Path(path)
    config = _read(path)
    where = str(path)
    batch_sizes = _batch_sizes(config, where)
    length = _length(config, Units(config["seq_len"], batch_sizes), where)
    _expect_reached(batch_sizes, length, where)
    sources = {name: _manifests(path.parent, name, source, where) for name, source in config["sources"].items()}
    value = {
        "format": "fivepoint-plan",
        "version": 1,
        "seed": config["seed"],
        "sources": [_source(name, config["sources"][name], sources[name]) for name in sorted(sources)],
        "phases": _phases(config, Units(config["seq_len"], batch_sizes, length), length, where),
        "skips": _skips(config),
        "paths": {name: source.get("union") or [source["path"]] for name, source in config["sources"].items()},
    }
    budgets = {
        name: {key: source[key] for key in SIGN_OFFS if key in source}
        for name, source in config["sources"].items()
        if any(key in source for key in SIGN_OFFS)
    }
    plan = Plan.from_json(
        value | ({"batch_sizes": [list(pair) for pair in batch_sizes]} if batch_sizes else {}) | ({"budgets": budgets} if budgets else {}),
        where,
        path.parent,
    )
    plan.admit()
    admission.check_tokenizers(plan, sources)
    return plan


def _read(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except OSError as reason:
        raise ConfigError(f"cannot read {path}: {reason.strerror or reason}; {GIVE['run']}") from reason
    try:
        # Decimals are kept exact: "0.6" is 3/5, never the nearest binary fraction.
        config = tomllib.loads(data.decode("utf-8"), parse_float=_decimal)
    except (ValueError, RecursionError) as reason:  # beside its own error: numbers of too many digits, tables too deep
        found = seems(data)
        if found not in {"", "a TOML file", "an empty file"}:
            raise ConfigError(f"{path}: expected a run's TOML file, found what seems to be {found}; {advice('run', found)}") from reason
        if isinstance(reason, UnicodeDecodeError):
            raise ConfigError(f"{path} is not UTF-8 text (byte {reason.start}); save it as UTF-8") from reason
        raise ConfigError(f"{path} is not valid TOML: {reason}; correct it") from reason
    validate(config, "run", str(path), ConfigError)
    return config


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as reason:
        raise ValueError(f"expected numbers with exponents of a few digits, found {text[:40]}") from reason


def _batch_sizes(config: Mapping[str, Any], where: str) -> list[tuple[int, int]]:
    if "global_batch" in config and "batch" in config:
        raise ConfigError(f"{where}: expected global_batch or [[batch]], found both; keep one")
    if "global_batch" in config:
        return [(0, config["global_batch"])]
    units = Units(config["seq_len"])
    return [(units.samples(pair["from"], f"{where}: batch {i}: from"), pair["size"]) for i, pair in enumerate(config.get("batch", []))]


def _length(config: Mapping[str, Any], units: Units, where: str) -> int:
    given = [unit for unit in ("tokens", "samples", "steps") if unit in config]
    if len(given) != 1:
        raise ConfigError(f"{where}: expected one of tokens, samples and steps, found {' and '.join(given) or 'none'}")
    length = units.samples(config[given[0]], f"{where}: {given[0]}", given[0])
    if length < 1:
        raise ConfigError(
            f"{where}: expected a run of at least one sample of {units.seq_len} tokens, found {given[0]} = {config[given[0]]}"
        )
    return length


def _expect_reached(batch_sizes: list[tuple[int, int]], length: int, where: str) -> None:
    """Raise ConfigError for a batch size that no step of the run has."""
    for start, size in batch_sizes:
        if start >= length:
            raise ConfigError(
                f"{where}: batch of {size}: expected it to begin within the run, before sample {length}, found it from sample {start}"
            )
    if batch_sizes and partition.step_count(batch_sizes, length)[0] == 0:
        raise ConfigError(
            f"{where}: expected a run of at least one step, {batch_sizes[0][1]} samples, found {length}; lengthen it, or take a smaller "
            "batch"
        )


def _manifests(folder: Path, name: str, source: Mapping[str, Any], where: str) -> list[Manifest]:
    if ("path" in source) == ("union" in source):
        raise ConfigError(f"{where}: sources.{name}: expected path or union, found {'both' if 'path' in source else 'neither'}")
    paths = source.get("union") or [source["path"]]
    if remote := [path for path in paths if "://" in path]:
        raise ConfigError(f"{where}: sources.{name}: expected a local folder, found {remote[0]}; this version reads no object store")
    for path in paths:
        if not (folder / path / MANIFEST).exists():
            found = "a folder that holds no" if (folder / path).is_dir() else "no folder with a"
            raise CorpusError(
                f"{where}: sources.{name}: expected a corpus at {folder / path}, found {found} {MANIFEST}; correct the path, or prepare it"
            )
    return [Manifest.load(folder / path) for path in paths]


def _source(name: str, source: Mapping[str, Any], manifests: list[Manifest]) -> dict[str, Any]:
    corpora = [
        {"name": manifest.name, "manifest": manifest.manifest_hash, "content": manifest.content_hash, "tokens": manifest.tokens}
        for manifest in manifests
    ]
    return {"name": name, "corpora": corpora, "documents": source.get("documents", "stored"), "windows": source.get("windows", "permuted")}


def _phases(config: Mapping[str, Any], units: Units, length: int, where: str) -> list[dict[str, Any]]:
    sources = config["sources"]
    if "phases" not in config and len(sources) > 1:
        raise ConfigError(f"{where}: expected [[phases]] that weigh {', '.join(sources)}, found none")
    phases, start = [], 0
    for number, phase in enumerate(config.get("phases") or [{"until": length, "weights": dict.fromkeys(sources, 1)}]):
        here = f"{where}: phase {number}"
        end = units.samples(phase["until"], f"{here}: until")
        if not start < end <= length:
            raise ConfigError(
                f"{here}: expected until to lie after sample {start} and at most at {length}, the run's end, found "
                f"{phase['until']!r} = {end}"
            )
        if unknown := sorted(set(phase["weights"]) - set(sources)):
            raise ConfigError(f"{here}: expected weights of the sources {', '.join(sources)}, found {unknown[0]!r}")
        decimals = {name: parse_decimal(str(weight), f"{here}: weights.{name}") for name, weight in phase["weights"].items()}
        phases.append(
            {
                "length": end - start,
                "grid": config["seq_len"],
                "seq_len": config["seq_len"],
                "rule": phase.get("rule", EARLIEST_DEADLINE),
                "weights": integer_weights(decimals, end - start, f"{here}: weights", config.get("weight_resolution", LIMIT)),
            }
        )
        start = end
    if start != length:
        raise ConfigError(f'{where}: expected the last phase to end with the run, at sample {length}, found {start}; write until = "100%"')
    return phases


def _skips(config: Mapping[str, Any]) -> list[list[int]]:
    """Skips in ascending order; several at one position are added into one."""
    counts: dict[int, int] = {}
    for skip in config.get("skips", []):
        counts[skip["at"]] = counts.get(skip["at"], 0) + skip["count"]
    return [[at, counts[at]] for at in sorted(counts)]
