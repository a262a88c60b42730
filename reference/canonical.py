"""Canonical JSON and its SHA-256: the identity of manifests, plans and cuts (formats.md, F0; clause C3.5)."""

import hashlib
import json
from pathlib import Path
from typing import Any

from ..errors import FivepointError
from .guess import KIND, advice, seems


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of `value`: UTF-8, keys sorted by bytes, no white space.

    Raises TypeError for a float or None, ValueError for an integer outside 0 ... 2^64 - 1 or a lone surrogate.
    """
    _check(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value` as 64 lowercase hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def read_json(path: Path, error: type[FivepointError], wanted: str = "") -> Any:
    """Return the JSON value in the file at `path`, which should hold what the schema `wanted`, if one is named, describes.

    Floats, null, duplicate keys and what is not UTF-8 are refused here, because nothing that has a hash may hold them.
    Raises `error` with the file, the line where there is one, and what the file seems to be where it is of another kind.
    """
    try:
        data = path.read_bytes()
    except OSError as reason:
        raise error(f"cannot read {path}: {reason.strerror or reason}; {advice(wanted)}") from reason
    try:
        return parse_json(data.decode("utf-8"))
    except ValueError as reason:
        found = seems(data)
        if wanted and found not in {"", "JSON", KIND[wanted]}:
            raise error(f"{path}: expected {KIND[wanted]}, found what seems to be {found}; {advice(wanted, found)}") from reason
        if isinstance(reason, UnicodeDecodeError):
            raise error(f"{path} is not UTF-8 text (byte {reason.start}); write it again, or restore it from a copy") from reason
        raise error(f"{path} is not valid JSON: {reason}; write it again, or restore it from a copy") from reason


def parse_json(text: str) -> Any:
    """Return the JSON value in `text`; raises ValueError for malformed JSON, floats, null, lone surrogates and duplicate keys."""
    try:
        value = json.loads(text, parse_float=_no_float, parse_constant=_no_float, parse_int=_no_sign, object_pairs_hook=_no_duplicates)
        _expect_canonical(value)
    except RecursionError:
        raise ValueError("expected a few arrays and objects in one another, found too many") from None
    return value


def _check(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"expected text as an object's key, found {key!r}")
            _check(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check(item)
    elif isinstance(value, int):
        if not 0 <= value < 1 << 64:
            raise ValueError(f"expected an integer from 0 to 2^64 - 1, found {value}")
    elif not isinstance(value, str):
        raise TypeError(f"expected an object, array, text, boolean or integer, found {value!r}")


def _no_float(text: str) -> Any:
    raise ValueError(f"expected integers only, found {text}")


def _no_sign(text: str) -> int:
    # "-0" is the only number of its kind that is in range, and it is not canonical.
    if text.startswith("-"):
        raise ValueError(f"expected integers without a sign, found {text}")
    return int(text)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"expected each key once in an object, found {twice!r} twice")
    return found


def _expect_canonical(value: Any) -> None:
    if value is None:
        raise ValueError("expected no null, found one")
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"expected text without lone surrogates, found {value!r}") from None
    for item in (*value, *value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ():
        _expect_canonical(item)
