"""The mixing function and the keys made from it (algorithms.md, A1)."""

import hashlib

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix64(z: int) -> int:
    """Return the 64-bit mix of `z`, itself taken modulo 2^64: a bijection of which every output bit depends on every input bit."""
    z &= MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def word(name: str) -> int:
    """Return the key word of a name: the first 8 bytes, little-endian, of the SHA-256 of its UTF-8 bytes."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8")).digest()[:8], "little")


def absorb(seed: int, *words: int) -> int:
    """Return a hash of the seed and the words, in their order.

    Words are absorbed one by one, never added: with a sum, epoch e + 1 of one seed would be epoch e of the next (C3.4).
    """
    state = mix64(seed + GOLDEN)
    for item in words:
        state = mix64((state ^ item) + GOLDEN)
    return state
