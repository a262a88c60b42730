"""From decimals that a person wrote to the integer weights of a phase, exactly (A3; C1.7)."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import gcd, lcm

from ..errors import ConfigError

LIMIT = 1 << 20
LARGEST_LIMIT = 1 << 22


def parse_decimal(text: str, where: str) -> Fraction:
    """Return the exact value of a non-negative decimal such as "0.6" or "1e-6"; raises ConfigError for anything else."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or number < 0 or (number and not -30 <= number.adjusted() <= 18):
        raise ConfigError(f"{where}: expected a weight of 0, or from 1e-30 to 1e18, found {text}")
    return Fraction(number)


def integer_weights(weights: Mapping[str, Fraction], length: int, where: str, limit: int = LIMIT) -> dict[str, int]:
    """Return the integers, with gcd 1 and zeros left out, whose sum is at most `limit`, sorted by name.

    `length` is the phase's in samples: a share that moves by less than one sample of it decides nothing.
    Raises ConfigError for no positive weight, and for one that rounding makes 0 or moves too far.
    """
    positive = {name: weights[name] for name in sorted(weights) if weights[name]}
    if not positive:
        raise ConfigError(f"{where}: expected at least one positive weight, found none")
    denominator = lcm(*(weight.denominator for weight in positive.values()))
    exact = _divide_by_gcd({name: int(weight * denominator) for name, weight in positive.items()})
    if sum(exact.values()) <= limit:
        return exact
    rounded = _largest_remainder(exact, limit)
    for name in exact:
        _expect_close(name, Fraction(exact[name], sum(exact.values())), Fraction(rounded[name], limit), length, where, limit)
    return _divide_by_gcd(rounded)


def _largest_remainder(weights: dict[str, int], limit: int) -> dict[str, int]:
    total = sum(weights.values())
    rounded = {name: weight * limit // total for name, weight in weights.items()}
    # sorted() is stable, so of equal remainders the earlier source comes first.
    by_remainder = sorted(weights, key=lambda name: weights[name] * limit % total, reverse=True)
    for name in by_remainder[: limit - sum(rounded.values())]:
        rounded[name] += 1
    return rounded


def _expect_close(name: str, wanted: Fraction, realised: Fraction, length: int, where: str, limit: int) -> None:
    error = abs(realised - wanted)
    if realised and (error * 100 <= wanted or error * length <= 1):
        return
    raise ConfigError(
        f"{where}: the share of {name!r} is {float(wanted):.3g}, and the nearest of {limit} parts is {float(realised):.3g}; "
        "form a union of small sources, or ask for a larger weight_resolution (at most 4194304)"
    )


def _divide_by_gcd(weights: dict[str, int]) -> dict[str, int]:
    divisor = gcd(*weights.values())
    return {name: weight // divisor for name, weight in weights.items()}
