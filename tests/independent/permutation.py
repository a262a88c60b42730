"""The order of a source's windows in an epoch (A1, A2): every index is moved once, then cycles are walked."""

import hashlib

import numpy as np

G = 0x9E3779B97F4A7C15
TWO_64 = 2**64


def mix64(z: int) -> int:
    """Return the 64 mixed bits of `z`."""
    z = (z ^ z // 2**30) * 0xBF58476D1CE4E5B9 % TWO_64
    z = (z ^ z // 2**27) * 0x94D049BB133111EB % TWO_64
    return z ^ z // 2**31


def word(name: str) -> int:
    """Return the word that stands for `name` in a key."""
    return sum(byte * 256**place for place, byte in enumerate(hashlib.sha256(name.encode()).digest()[:8]))


def absorb(seed: int, *words: int) -> int:
    """Return the hash of a seed and the words of a key."""
    h = mix64((seed + G) % TWO_64)
    for each in words:
        h = mix64(((h ^ each) + G) % TWO_64)
    return h


def order(n: int, seed: int, *words: int) -> list[int]:
    """Return perm(0), ..., perm(n - 1)."""
    if n == 1:
        return [0]
    a = even_side(next_root(n))
    b = even_side(-(-n // a))
    moved = shuffled_rectangle(a, b, absorb(seed, *words))
    result = moved[:n].copy()
    while (outside := result >= n).any():
        result[outside] = moved[result[outside]]
    return result.tolist()


def next_root(n: int) -> int:
    """Return the smallest s with s * s >= n, found by trying."""
    s = max(0, int(n**0.5) - 2)
    while s * s < n:
        s += 1
    return s


def even_side(at_least: int) -> int:
    """Return the smallest even integer that is at least 16 and `at_least`."""
    side = 16
    while side < at_least:
        side += 2
    return side


def shuffled_rectangle(a: int, b: int, h: int) -> np.ndarray:
    """Return where the eight rounds take each of 0 ... a*b - 1."""
    right, left = np.divmod(np.arange(a * b, dtype=np.uint64), np.uint64(a))
    for r in range(8):
        key = np.uint64(mix64((h + (r + 1) * G) % TWO_64))
        side = np.uint64(a if r in (0, 2, 4, 6) else b)
        shift = (mix64_of_each(right ^ key) // np.uint64(2**32)) * side // np.uint64(2**32)
        left, right = right, (left + shift) % side
    return (right * np.uint64(a) + left).astype(np.int64)


def mix64_of_each(z: np.ndarray) -> np.ndarray:
    """Return mix64 of each element; numpy's unsigned arithmetic is modulo 2^64."""
    z = (z ^ z // np.uint64(2**30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z // np.uint64(2**27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z // np.uint64(2**31)
