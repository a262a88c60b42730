// Integer arithmetic on BigInts that the language lacks. `/` on BigInts cuts towards zero, which is the floor for what
// is not negative; nothing else is divided here.
export const ceilDiv = (a, b) => (a + b - 1n) / b;

export const divmod = (a, b) => [a / b, a % b];

export const gcd = (a, b) => (b === 0n ? a : gcd(b, a % b));

export const max = (...values) => values.reduce((a, b) => (a > b ? a : b));

export const min = (...values) => values.reduce((a, b) => (a < b ? a : b));

export const sum = (values) => values.reduce((a, b) => a + b, 0n);

/** The smallest s with s * s >= n, for n below 2^53. */
export function ceilSqrt(n) {
  let s = BigInt(Math.floor(Math.sqrt(Number(n))));
  while (s * s < n) s++;
  return s;
}
