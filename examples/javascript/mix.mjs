// A1: mixing and keys, modulo 2^64.
import { createHash } from "node:crypto";

const u64 = (x) => BigInt.asUintN(64, x);

export const G = 0x9e3779b97f4a7c15n;

export function mix64(z) {
  z = u64((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = u64((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

export const word = (name) => createHash("sha256").update(name, "utf8").digest().readBigUInt64LE(0);

export const absorb = (seed, ...words) => words.reduce((h, w) => mix64(u64((h ^ w) + G)), mix64(u64(seed + G)));

/** key[r] of A2, for r = 0 ... count - 1. */
export const roundKeys = (h, count) => Array.from({ length: count }, (_, r) => mix64(u64(h + BigInt(r + 1) * G)));
