// node --test: the values that the text prints, and what it says of all values, by brute force.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Blend } from "../../examples/javascript/blend.mjs";
import { boundaries } from "./boundaries.mjs";
import { canonical, parse } from "../../examples/javascript/canonical.mjs";
import { ceilSqrt } from "../../examples/javascript/integers.mjs";
import { absorb, mix64, word } from "../../examples/javascript/mix.mjs";
import { partition } from "../../examples/javascript/partition.mjs";
import { Permutation } from "../../examples/javascript/permutation.mjs";
import { Plan, cut } from "../../examples/javascript/plan.mjs";
import { Refused } from "../../examples/javascript/refused.mjs";
import { integerWeights } from "../../examples/javascript/weights.mjs";

const count = (n) => Array.from({ length: Number(n) }, (_, i) => BigInt(i));
const digits = (text) => text.split(" ").map(BigInt);
const small = (n) => count(n).map(Number);

test("A1: the examples", () => {
  assert.equal(mix64(1n), 0x5692161d100b05e5n);
  assert.equal(word("web"), 0xb9422febf6575e4bn);
  assert.equal(absorb(12345n, 7n, 3n), 0x18c4cda5d7fad75dn);
});

test("A2: the values", () => {
  for (const [n, y] of [
    [5n, "3 1 2 4 0"],
    [1000n, "586 661 820 519 47"],
    [10n ** 9n, "663734589 487902421 222842992 996753701 714506690"],
  ]) {
    const permutation = new Permutation(n, 12345n, 7n, 3n);
    assert.deepEqual(count(5).map((x) => permutation.perm(x)), digits(y));
  }
});

test("A2: a bijection, and its inverse", () => {
  const around = [2n, 4n, 6n, 8n, 10n, 12n].flatMap((k) => [2n ** k - 1n, 2n ** k, 2n ** k + 1n]);
  for (const n of [...count(70).slice(1), ...around, 288n, 289n, 324n, 325n]) {
    const permutation = new Permutation(n, 1n, n);
    const seen = new Set();
    for (const x of count(n)) {
      const y = permutation.perm(x);
      assert.equal(permutation.inverse(y), x);
      seen.add(y);
    }
    assert.equal(seen.size, Number(n));
  }
  for (const n of [2n ** 32n + 1n, 2n ** 48n - 1n, 2n ** 48n]) {
    const permutation = new Permutation(n, 2n ** 64n - 1n, 2n ** 64n - 1n, n);
    for (const x of [0n, 1n, n / 2n, n - 1n]) assert.equal(permutation.inverse(permutation.perm(x)), x);
  }
});

test("A2: the integer square root is exact", () => {
  for (const s of [...count(300), 2n ** 24n - 1n, 2n ** 24n])
    for (const n of [s * s - 1n, s * s, s * s + 1n].filter((n) => n >= 0n)) {
      const root = ceilSqrt(n);
      assert(root * root >= n && (root === 0n || (root - 1n) * (root - 1n) < n));
    }
});

test("A3: exact and reduced", () => {
  const weights = (decimals, limit = 2n ** 20n, length = 1000n) => ({ ...integerWeights(decimals, limit, length) });
  assert.deepEqual(weights({ a: "0.6", b: "0.4" }), { a: 3n, b: 2n });
  assert.deepEqual(weights({ a: "1", z: "0", b: "0.000001" }), { a: 10n ** 6n, b: 1n });
  assert.throws(() => weights({ a: "1", b: "0.000000001" }), Refused);
  const equal = { b: "0.2", a: "0.2", c: "0.2", d: "0.1" };
  // d has the largest remainder, and of the others a is the earliest
  assert.deepEqual(weights(equal, 5n, 1n), { a: 2n, b: 1n, c: 1n, d: 1n });
  assert.throws(() => weights(equal, 5n, 1000n), Refused, "a would move by more than a sample");
  assert.throws(() => weights({ a: "1", b: "1", c: "1" }, 2n, 1n), Refused, "c would vanish");
});

test("A4: the printed periods", () => {
  const period = (rule) => [...new Blend([12n, 3n, 2n, 2n, 1n], rule).source].join(" ");
  assert.equal(period("earliest-deadline"), "0 0 1 0 2 0 0 3 0 1 0 0 4 0 2 0 0 3 0 1");
  assert.equal(period("furthest-behind"), "0 1 0 0 2 0 3 0 4 0 1 0 0 0 2 0 3 0 1 0");
});

/** Rule `earliest-deadline` word by word, for all q and without a period. */
function literal(weights, length) {
  const part = small(weights.length).filter((i) => weights[i] > 0n);
  const W = weights.reduce((a, b) => a + b);
  const m = BigInt(part.length);
  const D = m === 1n ? 1n : 2n * m - 2n;
  const c = weights.map(() => 0n);
  return small(length).map((q) => {
    const t = BigInt(q) + 1n;
    const eligible = part.filter((i) => m === 1n || D * (weights[i] * t - c[i] * W) >= W);
    const deadline = (i) => (W * (D * c[i] + D - 1n)) / (D * weights[i]);
    const i = eligible.reduce((best, i) => (deadline(i) < deadline(best) ? i : best));
    c[i]++;
    return i;
  });
}

test("A4: the tables, the inverse, the counts and the bound of C1.1", () => {
  let random = 1n;
  const next = (below) => Number((random = mix64(random)) % BigInt(below));
  for (let round = 0; round < 300; round++) {
    const weights = Array.from({ length: 1 + next(7) }, () => BigInt(next(2) ? next(40) : next(4)));
    if (weights.every((weight) => weight === 0n)) weights[0] = 1n;
    const m = BigInt(weights.filter((weight) => weight > 0n).length);
    for (const rule of ["earliest-deadline", "furthest-behind"]) {
      const blend = new Blend(weights, rule);
      const drawn = weights.map(() => 0n);
      const expected = rule === "earliest-deadline" && literal(weights, 3n * blend.W);
      for (const q of count(3n * blend.W)) {
        weights.forEach((_, i) => assert.equal(blend.counts(q, i), drawn[i]));
        const [i, draw] = blend.blend(q);
        if (expected) assert.equal(i, expected[q]);
        assert.equal(draw, drawn[i]++);
        assert.equal(blend.position(i, draw), q);
      }
      const [numerator, denominator] = blend.worstDeviation();
      if (rule === "earliest-deadline")
        assert(m === 1n ? numerator === 0n : numerator * (2n * m - 2n) <= denominator * (2n * m - 3n));
    }
  }
});

const corpus = (name, tokens) => ({ name, manifest: "0".repeat(64), content: "1".repeat(64), tokens });
const source = (name, ...corpora) => ({ name, corpora, documents: "stored", windows: "permuted" });
const phase = (length, weights, rule = "earliest-deadline") => ({ length, grid: 4n, seq_len: 4n, rule, weights });
const PLAN = {
  format: "fivepoint-plan",
  version: 1n,
  seed: 7n,
  sources: [source("a", corpus("x", 21n), corpus("y", 4n), corpus("z", 18n)), source("b", corpus("x", 14n))],
  phases: [phase(30n, { a: 2n, b: 1n }), phase(11n, { b: 1n }), phase(40n, { a: 1n, b: 4n }, "furthest-behind")],
  skips: [[0n, 2n], [29n, 3n], [30n, 5n], [41n, 1n], [44n, 7n], [80n, 9n]],
};

test("A5: whole epochs over phases and skips", () => {
  const bare = new Plan({ ...PLAN, skips: [], phases: [phase(80n, { a: 2n, b: 1n })] });
  const windows = count(80).map((p) => bare.resolve(p)).filter(({ source }) => source === "a");
  for (let epoch = 0; epoch < 5; epoch++)
    assert.equal(new Set(windows.slice(9 * epoch, 9 * (epoch + 1)).map(({ window }) => window)).size, 9);
  const skipped = new Plan({ ...PLAN, skips: [[10n, 3n]], phases: [phase(77n, { a: 2n, b: 1n })] });
  for (const p of count(77)) assert.deepEqual(skipped.resolve(p), bare.resolve(p < 10n ? p : p + 3n));
});

test("A6: the way back against a search through the run", () => {
  const plan = new Plan(PLAN);
  const samples = count(81).map((p) => plan.resolve(p));
  for (const [source, corpus, tokens] of [["a", "x", 21n], ["a", "y", 4n], ["a", "z", 18n], ["b", "x", 14n]])
    for (const first of count(tokens))
      for (const last of [first, first + 1n, first + 6n, tokens - 1n].filter((last) => last < tokens)) {
        const expected = count(81).filter((p) => {
          const [name, from, length] = samples[p].spans[0];
          return samples[p].source === source && name === corpus && from <= last && first < from + length;
        });
        assert.deepEqual(plan.where(source, corpus, first, last), expected);
      }
});

test("F3: a cut serves what the plan serves", () => {
  const plan = new Plan(PLAN);
  for (const c of count(82).slice(1)) {
    const past = new Plan(cut(PLAN, c));
    assert.equal(past.length, c);
    assert.deepEqual(past.resolve(c - 1n), plan.resolve(c - 1n));
  }
  assert.deepEqual(cut(PLAN, 0n).sources, []);
});

test("A7: numbers of steps, and every position once", () => {
  const length = 100n;
  for (const batch_sizes of [[[0n, 4n]], [[0n, 4n], [6n, 8n]], [[0n, 8n], [1n, 4n], [2n, 12n], [200n, 4n]]]) {
    let consumed = 0n;
    for (let step = 0n; ; step++) {
      const got = partition({ length, batch_sizes, dp_size: 2n, micro_batch: 1n, consumed });
      if (got.complete) break;
      assert.equal(got.step, step);
      const positions = got.ranks.flat().flatMap(([from, to]) => count(to - from).map((k) => from + k));
      assert.deepEqual(positions, count(got.batch_size).map((k) => consumed + k));
      consumed += got.batch_size;
    }
    assert(consumed + 12n > length);
  }
  const ten = { length, batch_sizes: [[0n, 10n]], dp_size: 4n, micro_batch: 1n, consumed: 0n };
  assert.throws(() => partition(ten), Refused);
});

test("A8: token by token", () => {
  const got = boundaries([3n, 0n, 1n, 5n], 4n, [0n, 4n]);
  assert.deepEqual(got.document_ids, [digits("0 0 0 2"), digits("3 3 3 3")]);
  assert.deepEqual(got.position_ids, [digits("0 1 2 0"), digits("0 1 2 3")]);
  assert.deepEqual(got.loss_mask, [[true, true, false, false], [true, true, true, true]]);
  assert.deepEqual(got.cu_seqlens, digits("0 3 4 8"));
  assert.equal(got.max_seqlen, 4n);
});

test("F0: canonical text and what has none", () => {
  const text = '{ "\\uffff": 18446744073709551615, "\\ud83d\\ude00": [true, {}], "__proto__": "\\u001F\\/\\t\u007f" }';
  const expected = '{"__proto__":"\\u001f/\\t\u007f","\uffff":18446744073709551615,"\u{1f600}":[true,{}]}';
  assert.equal(canonical(parse(text)), expected);
  const numbers = "1.0 1e2 -1 01 18446744073709551616".split(" ");
  const others = 'null NaN [1,] {"a":1,"a":2} {"a":1,"\\u0061":2} "\\ud800" "\t" [1]] ""x'.split(" ");
  for (const bad of ["", "\ufeff1", ...numbers, ...others]) assert.throws(() => parse(bad), Refused, bad);
  assert.throws(() => parse(Buffer.from([0x22, 0xff, 0x22])), Refused);
  assert.throws(() => parse(Buffer.from([0xef, 0xbb, 0xbf, 0x31])), Refused);
});
