// A3: decimals to integers.
import { byBytes } from "./canonical.mjs";
import { divmod, gcd, sum } from "./integers.mjs";
import { refuseIf } from "./refused.mjs";

/** [numerator, denominator] of a decimal as written. */
function fraction(text) {
  const found = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text);
  refuseIf(!found, `${text} is not a non-negative decimal`);
  const [, whole, decimals = "", exponent = "0"] = found;
  const digits = BigInt(whole + decimals);
  const shift = Number(exponent) - decimals.length;
  return shift < 0 ? [digits, 10n ** BigInt(-shift)] : [digits * 10n ** BigInt(shift), 1n];
}

function divideByGcd(integers) {
  const common = integers.reduce(gcd, 0n);
  return integers.map((x) => x / common);
}

const distance = (a, b) => (a < b ? b - a : a - b);

/** name -> positive integer, for name -> decimal as text. */
export function integerWeights(decimals, limit, length) {
  refuseIf(limit < 1n || limit > 2n ** 22n, `a limit of ${limit}`);
  const positive = Object.keys(decimals)
    .sort(byBytes)
    .map((name) => [name, fraction(decimals[name])])
    .filter(([, [numerator]]) => numerator > 0n);
  refuseIf(positive.length === 0, "no source has a positive weight");
  const fractions = positive.map(([, f]) => f);
  // the least common denominator is not needed: a larger one goes with the gcd
  const product = fractions.reduce((all, [, denominator]) => all * denominator, 1n);
  const exact = divideByGcd(fractions.map(([numerator, denominator]) => (numerator * product) / denominator));
  const weights = sum(exact) > limit ? reduced(exact, limit) : exact;
  refuseWhereMoved(positive.map(([name]) => name), exact, weights, length);
  return Object.fromEntries(positive.map(([name], i) => [name, weights[i]]));
}

function reduced(exact, limit) {
  const W = sum(exact);
  const parts = exact.map((weight) => divmod(weight * limit, W));
  const missing = Number(limit - sum(parts.map(([quotient]) => quotient)));
  const largestFirst = parts
    .map(([, remainder], i) => [remainder, i])
    .sort(([a, i], [b, j]) => (a === b ? i - j : a > b ? -1 : 1));
  const raised = new Set(largestFirst.slice(0, missing).map(([, i]) => i));
  return divideByGcd(parts.map(([quotient], i) => quotient + (raised.has(i) ? 1n : 0n)));
}

function refuseWhereMoved(names, exact, weights, length) {
  const W = sum(exact);
  const w = sum(weights);
  exact.forEach((before, i) => {
    refuseIf(weights[i] === 0n, `the weight of ${names[i]} would become 0`);
    const moved = distance(weights[i] * W, before * w); // the change of the share, times w * W
    refuseIf(moved * 100n > before * w && moved * length > w * W, `the share of ${names[i]} would move too far`);
  });
}
