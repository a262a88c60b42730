"""Cases of F0: canonical JSON and its hash."""

from typing import Any

from ..canonical import canonical, digest, parse_json
from .case import Case

CLAUSES = ["C3.5"]


def results(value: Any = None, text: str | None = None) -> dict[str, Any]:
    """Return the canonical text of a value, or of what a text holds, and its hash."""
    if text is not None:
        value = parse_json(text)
    return {"canonical": canonical(value).decode("utf-8"), "sha256": digest(value)}


def _case(id: str, comment: str, value: Any, canonical: str, **known: str) -> Case:
    return Case(f"canonical-{id}", comment, {"value": value}, known={"canonical": canonical, **known})


def _refused(id: str, refused: str, text: str) -> Case:
    return Case(f"canonical-refused-{id}", "has no canonical form", {"text": text}, refused)


VALUES = [
    _case("empty-object", "an empty object", {}, "{}", sha256="44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
    _case("empty-array", "an empty array", [], "[]", sha256="4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
    _case("empty-text", "empty text, and an empty key", {"": ""}, '{"":""}'),
    _case("booleans", "booleans are not integers", [True, False, 1, 0], "[true,false,1,0]"),
    _case("integers", "small integers", [0, 1, 9, 10, 4294967295, 4294967296], "[0,1,9,10,4294967295,4294967296]"),
    _case(
        "2-to-53",
        "integers that a float cannot tell apart",
        [2**53 - 1, 2**53, 2**53 + 1],
        "[9007199254740991,9007199254740992,9007199254740993]",
    ),
    _case("2-to-63", "around the largest signed integer", [2**63 - 1, 2**63], "[9223372036854775807,9223372036854775808]"),
    _case("2-to-64-less-1", "the largest integer", 2**64 - 1, "18446744073709551615"),
    _case("quote-and-backslash", "quote and backslash are escaped, the slash is not", 'a"b\\c/d', '"a\\"b\\\\c/d"'),
    _case("short-escapes", "the five control characters with an escape of their own", "\b\t\n\f\r", '"\\b\\t\\n\\f\\r"'),
    _case(
        "control-characters",
        "other control characters, with lowercase digits",
        "\x00\x01\x0b\x0e\x1b\x1f",
        '"\\u0000\\u0001\\u000b\\u000e\\u001b\\u001f"',
    ),
    _case("delete", "U+007F and the controls after it stand as themselves", "\x7f\x80\x9f", '"\x7f\x80\x9f"'),
    _case("line-separators", "U+2028 and U+2029 stand as themselves", "a\u2028b\u2029c", '"a\u2028b\u2029c"'),
    _case("latin", "characters of two bytes", "\u00e9\u00df", '"\u00e9\u00df"'),
    _case("not-normalized", "composed and decomposed letters stay what they are", ["\u00e9", "e\u0301"], '["\u00e9","e\u0301"]'),
    _case("byte-order-mark", "U+FEFF inside a string is a character", "\ufeffa", '"\ufeffa"'),
    _case("noncharacters", "U+FFFE and U+FFFF are characters too", "\ufffe\uffff", '"\ufffe\uffff"'),
    _case("non-bmp", "characters of four bytes stand as themselves, not as surrogates", "\U0001f600\U0010ffff", '"\U0001f600\U0010ffff"'),
    _case("html", "characters that some writers escape", "<a&b>'", '"<a&b>\'"'),
    _case(
        "key-order",
        "keys in the order of their bytes, capitals first",
        {"b": 1, "a": 2, "B": 3, "aa": 4, "": 5},
        '{"":5,"B":3,"a":2,"aa":4,"b":1}',
    ),
    _case("key-digits", "keys that look like numbers sort as text", {"10": 1, "9": 2, "1": 3, "01": 4}, '{"01":4,"1":3,"10":1,"9":2}'),
    _case(
        "key-utf-16",
        "U+FF5E before U+1F600, which UTF-16 units sort the other way",
        {"\U0001f600": 1, "\uff5e": 2, "z": 3, "\ue000": 4},
        '{"z":3,"\ue000":4,"\uff5e":2,"\U0001f600":1}',
    ),
    _case(
        "key-escaped",
        "keys sort by what they are, not by how they are escaped",
        {"\\": 1, "]": 2, "[": 3, "\n": 4, '"': 5, "!": 6},
        '{"\\n":4,"!":6,"\\"":5,"[":3,"\\\\":1,"]":2}',
    ),
    _case(
        "key-proto",
        "keys that some languages treat apart",
        {"__proto__": 1, "constructor": 2, "toString": 3},
        '{"__proto__":1,"constructor":2,"toString":3}',
    ),
    _case(
        "nested",
        "objects in arrays in objects, each sorted; arrays keep their order",
        {"z": [{"b": [], "a": {}}, [2, 1]], "a": {"y": True, "x": [[[]]]}},
        '{"a":{"x":[[[]]],"y":true},"z":[{"a":{},"b":[]},[2,1]]}',
    ),
    _case("no-white-space", "white space only inside strings", {"a b": [" ", "\u00a0", "c d"]}, '{"a b":[" ","\u00a0","c d"]}'),
]

REFUSED = [
    _refused("float", "a number with a fraction", "[1.5]"),
    _refused("float-whole", "a number with a fraction, although it is whole", "[1.0]"),
    _refused("exponent", "a number with an exponent", "[1e3]"),
    _refused("negative", "a negative integer", '{"a":-1}'),
    _refused("negative-zero", "a zero with a sign", "[-0]"),
    _refused("2-to-64", "an integer above 2^64 - 1", "18446744073709551616"),
    _refused("null", "null", '{"a":[null]}'),
    _refused("nan", "not a number", "[NaN]"),
    _refused("infinity", "not finite", "[Infinity]"),
    _refused("duplicate-key", "one key twice", '{"a":1,"b":2,"a":1}'),
    _refused("duplicate-key-escaped", "one key twice, once escaped", '{"a":1,"\\u0061":1}'),
    _refused("duplicate-key-nested", "one key twice, deeper down", '[{"b":{"a":1,"a":2}}]'),
    _refused("lone-high-surrogate", "a high surrogate alone", '["\\ud83d"]'),
    _refused("lone-low-surrogate", "a low surrogate alone", '["a\\ude00b"]'),
    _refused("surrogates-swapped", "a low surrogate before a high one", '["\\ude00\\ud83d"]'),
    _refused("lone-surrogate-key", "a lone surrogate in a key", '{"\\ud83d":1}'),
    _refused("leading-zero", "not JSON: a leading zero", "[01]"),
    _refused("plus-sign", "not JSON: a plus sign", "[+1]"),
    _refused("trailing-comma", "not JSON: a trailing comma", "[1,]"),
    _refused("raw-control-character", "not JSON: a control character that is not escaped", '["a\nb"]'),
    _refused("byte-order-mark", "a byte-order mark before the value", "\ufeff{}"),
    _refused("two-values", "something after the value", "{} {}"),
    _refused("empty", "no value", ""),
]

CASES = [*VALUES, *REFUSED]
