// A2: a keyed bijection on [0, n).
import { ceilDiv, ceilSqrt, divmod, max } from "./integers.mjs";
import { absorb, mix64, roundKeys } from "./mix.mjs";
import { refuseIf } from "./refused.mjs";

const ROUNDS = 8;
const evenFrom = (x) => x + (x % 2n);

export class Permutation {
  constructor(n, seed, ...words) {
    refuseIf(n < 1n || n > 2n ** 48n, `a permutation of ${n} numbers`);
    this.n = n;
    this.a = evenFrom(max(16n, ceilSqrt(n)));
    this.b = evenFrom(max(16n, ceilDiv(n, this.a)));
    this.keys = roundKeys(absorb(seed, ...words), ROUNDS);
  }

  side(r) {
    return r % 2 === 0 ? this.a : this.b;
  }

  f(r, v) {
    return ((mix64(this.keys[r] ^ v) >> 32n) * this.side(r)) >> 32n;
  }

  perm(x) {
    return this.walk(x, (left, right) => {
      for (let r = 0; r < ROUNDS; r++) [left, right] = [right, (left + this.f(r, right)) % this.side(r)];
      return [left, right];
    });
  }

  inverse(y) {
    return this.walk(y, (left, right) => {
      // f is below side(r), so adding side(r) first keeps the difference from being negative
      for (let r = ROUNDS - 1; r >= 0; r--)
        [left, right] = [(right + this.side(r) - this.f(r, left)) % this.side(r), left];
      return [left, right];
    });
  }

  /** Along the cycle of one pass over [0, a * b) until it falls below n. */
  walk(x, pass) {
    refuseIf(x < 0n || x >= this.n, `${x} is not below ${this.n}`);
    if (this.n === 1n) return x;
    do {
      let [right, left] = divmod(x, this.a);
      [left, right] = pass(left, right);
      x = this.a * right + left;
    } while (x >= this.n);
    return x;
  }
}
