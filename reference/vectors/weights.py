"""Cases of A3: decimals to integers, reduction, and refusals."""

from typing import Any

from ..weights import LIMIT, integer_weights, parse_decimal
from .case import Case

CLAUSES = ["C1.7"]


def results(decimals: dict[str, str], limit: int, length: int) -> dict[str, Any]:
    """Return the integer weights."""
    exact = {name: parse_decimal(text, name) for name, text in decimals.items()}
    return {"weights": integer_weights(exact, length, "the case", limit)}


def _case(
    id: str, comment: str, decimals: dict[str, str], *, limit: int = LIMIT, length: int = 10**9, refused: str = "", **known: Any
) -> Case:
    return Case(f"weights-{id}", comment, {"decimals": decimals, "limit": limit, "length": length}, refused, known)


EXACT = [
    _case(
        "printed",
        "printed in A4: tenths and hundredths by their least common denominator",
        {"a": "0.6", "b": "0.15", "c": "0.1", "d": "0.1", "e": "0.05"},
        weights={"a": 12, "b": 3, "c": 2, "d": 2, "e": 1},
    ),
    _case("tenths", "0.1, 0.2 and 0.7 are exact, although no binary fraction is", {"a": "0.1", "b": "0.2", "c": "0.7"}),
    _case("one", "one source, whatever its weight", {"a": "0.3"}, weights={"a": 1}),
    _case("equal", "equal weights", {"a": "2.5", "b": "2.5", "c": "2.5"}, weights={"a": 1, "b": 1, "c": 1}),
    _case("integers", "integers need not sum to one", {"a": "4", "b": "6"}, weights={"a": 2, "b": 3}),
    _case("trailing-zeros", "trailing zeros change nothing", {"a": "0.60", "b": "0.400"}, weights={"a": 3, "b": 2}),
    _case("permille", "one in a thousand", {"rare": "0.001", "rest": "0.999"}, weights={"rare": 1, "rest": 999}),
    _case("millionth", "one in a million is served exactly", {"rare": "1e-6", "rest": "0.999999"}, weights={"rare": 1, "rest": 999999}),
    _case("exponents", "exponents of either sign and case", {"a": "1e2", "b": "5E+1", "c": "2.5e1", "d": "250E-1"}),
    _case(
        "zero-left-out",
        "zeros of any form are left out",
        {"a": "0", "b": "1", "c": "0.000", "d": "3", "e": "0e5"},
        weights={"b": 1, "d": 3},
    ),
    _case("at-the-limit", "a sum of exactly 2^20 is not reduced", {"a": "1048575", "b": "1"}, weights={"a": 1048575, "b": 1}),
    _case(
        "gcd-before-limit", "above the limit only before the division by the gcd", {"a": "1572864", "b": "524288"}, weights={"a": 3, "b": 1}
    ),
    _case(
        "names-by-bytes",
        "the names order by UTF-8 bytes: U+FF5E before U+1F600, which by UTF-16 units comes first",
        {"\U0001f600": "0.3", "\uff5e": "0.3", "z": "0.2", "\u00e9": "0.2"},
        limit=5,
        length=10,
    ),
]

REDUCED = [
    _case("reduced-thirds", "0.3333333 of 2^20 parts", {"a": "0.3333333", "b": "0.6666667"}),
    _case("reduced-one-above", "a sum of 2^20 + 1", {"a": "1048575", "b": "2"}),
    _case(
        "reduced-to-gcd",
        "what is reduced is divided by its gcd again: 33 and 968 of 1001",
        {"a": "100", "b": "2903"},
        limit=1001,
        weights={"a": 3, "b": 88},
    ),
    _case(
        "reduced-tie",
        "of two equal remainders the earlier source gets the part",
        {"d": "2", "c": "2", "b": "3", "a": "3"},
        limit=5,
        length=10,
        weights={"a": 2, "b": 1, "c": 1, "d": 1},
    ),
    _case(
        "reduced-ties",
        "five equal remainders for two parts",
        {"a": "6", "b": "6", "c": "6", "d": "6", "e": "6"} | {"f": "5"},
        limit=7,
        length=1,
    ),
    _case("reduced-five", "five sources of long decimals", {"a": "0.61234567", "b": "0.2", "c": "0.1", "d": "0.08", "e": "0.00765433"}),
    _case(
        "reduced-limit-2-to-22", "the largest limit that a configuration may ask for", {"a": "0.12345678", "b": "0.87654322"}, limit=1 << 22
    ),
    _case("reduced-limit-1000", "a limit of 1000, as ramps use", {"a": "0.123456", "b": "0.876544"}, limit=1000),
    _case(
        "reduced-exactly-one-percent",
        "off by exactly 1 % of itself, which is allowed",
        {"a": "100", "b": "2903"},
        limit=1001,
        length=10**12,
    ),
    _case(
        "reduced-exactly-one-sample", "off by more than 1 %, and by exactly one sample", {"a": "97", "b": "2906"}, limit=1001, length=3003
    ),
    _case(
        "reduced-off-by-less-than-a-sample",
        "a tie that moves a share by exactly one sample of ten",
        {"a": "3", "b": "3", "c": "2", "d": "2"},
        limit=5,
        length=10,
    ),
    _case("reduced-many", "a hundred sources whose weights are no multiples of a part", {f"s{i:02}": f"{i + 1}.0003" for i in range(100)}),
    _case("reduced-wide", "numbers past 2^64 on the way", {"a": "123456789012345678", "b": "98765432109876543.21", "c": "1e17"}),
]

REFUSED = [
    _case("refused-vanishing", "0.000000001 beside 1", {"a": "1", "b": "0.000000001"}, refused="the weight of b would become 0"),
    _case(
        "refused-vanishing-short",
        "also where the phase is short",
        {"a": "1", "b": "1e-9"},
        length=1,
        refused="the weight of b would become 0",
    ),
    _case(
        "refused-moved",
        "one sample more than may be off",
        {"a": "97", "b": "2906"},
        limit=1001,
        length=3004,
        refused="the share of a moves by more than 1 % and more than one sample",
    ),
    _case(
        "refused-tie-moved",
        "eleven samples, and a share off by a tenth",
        {"a": "3", "b": "3", "c": "2", "d": "2"},
        limit=5,
        length=11,
        refused="the share of a moves by more than 1 % and more than one sample",
    ),
    _case("refused-all-zero", "no positive weight", {"a": "0", "b": "0.0"}, refused="no weight is positive"),
    _case("refused-none", "no source", {}, refused="no weight is positive"),
    _case("refused-negative", "a negative weight", {"a": "1", "b": "-0.1"}, refused="a weight is negative"),
    _case("refused-nan", "no number", {"a": "1", "b": "nan"}, refused="a weight is not a number"),
    _case("refused-infinite", "not finite", {"a": "1", "b": "inf"}, refused="a weight is not finite"),
    _case("refused-text", "no decimal", {"a": "1", "b": "half"}, refused="a weight is not a number"),
    _case("refused-fraction", "a fraction is no decimal", {"a": "1", "b": "1/2"}, refused="a weight is not a number"),
    _case("refused-empty", "empty text", {"a": "1", "b": ""}, refused="a weight is not a number"),
]

CASES = [*EXACT, *REDUCED, *REFUSED]
