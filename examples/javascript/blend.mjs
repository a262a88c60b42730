// A4: which source serves each local position of a phase.
import { ceilDiv, divmod, gcd, max, sum } from "./integers.mjs";
import { refuseIf } from "./refused.mjs";

// One period is tabulated, in ordinary numbers: t, c_i and W are at most 2^22, so that W_i * t is below 2^53. Only the
// products of `earliest-deadline` can be larger; they are taken in BigInts, once a draw.
const LARGEST_SUM = 2n ** 22n;

const RULES = { "earliest-deadline": earliestDeadline, "furthest-behind": furthestBehind };

/** The function that names the source of t = 1, 2, ..., W when it is called once for each, in order. */
function earliestDeadline(weights, W) {
  const D = max(1n, 2n * BigInt(weights.length) - 2n);
  const draws = weights.map(() => 0n);
  const release = weights.map(() => 0);
  const deadline = weights.map(() => 0);
  const next = (i) => {
    // eligible if D * (W_i * t - c_i * W) >= W, that is from this t on
    release[i] = Number(ceilDiv(W * (1n + D * draws[i]), D * weights[i]));
    deadline[i] = Number((W * (D * draws[i] + D - 1n)) / (D * weights[i]));
  };
  weights.forEach((_, i) => next(i));
  return (t) => {
    let first = -1;
    for (let i = 0; i < release.length; i++)
      if (release[i] <= t && (first < 0 || deadline[i] < deadline[first])) first = i;
    draws[first]++;
    next(first);
    return first;
  };
}

function furthestBehind(weights, W) {
  const total = Number(W);
  const weight = weights.map(Number);
  const behind = weight.map(() => 0); // W_i * t - c_i * W
  return () => {
    let first = 0;
    for (let i = 0; i < weight.length; i++) {
      behind[i] += weight[i];
      if (behind[i] > behind[first]) first = i;
    }
    behind[first] -= total;
    return first;
  };
}

export class Blend {
  /** `weights` has one for each source of the plan, 0 for those that take no part: sources keep their numbers. */
  constructor(weights, rule) {
    const part = weights.map((_, i) => i).filter((i) => weights[i] > 0n);
    this.weights = weights;
    this.W = sum(weights);
    refuseIf(!Object.hasOwn(RULES, rule), `rule ${rule}`);
    refuseIf(part.length === 0, "no source has a positive weight");
    refuseIf(this.W > LARGEST_SUM, `weights with the sum ${this.W}`);
    const W = Number(this.W);
    this.source = new Uint32Array(W);
    this.count = new Uint32Array(W);
    this.rows = weights.map((weight) => new Uint32Array(Number(weight))); // rows[i][k]: the r of draw k of source i
    const drawn = weights.map(() => 0);
    const next = RULES[rule](part.map((i) => weights[i]), this.W);
    for (let r = 0; r < W; r++) {
      const i = part.length === 1 ? part[0] : part[next(r + 1)];
      this.source[r] = i;
      this.count[r] = drawn[i];
      this.rows[i][drawn[i]++] = r;
    }
  }

  /** [source, draw] of local position q. */
  blend(q) {
    const [c, r] = divmod(q, this.W);
    const i = this.source[r];
    return [i, c * this.weights[i] + BigInt(this.count[r])];
  }

  /** The local position of draw d of source i. */
  position(i, d) {
    const [c, k] = divmod(d, this.weights[i]);
    return c * this.W + BigInt(this.rows[i][k]);
  }

  /** The number of draws of source i before local position q. */
  counts(q, i) {
    const [c, r] = divmod(q, this.W);
    return c * this.weights[i] + BigInt(countBelow(this.rows[i], Number(r)));
  }

  /** The largest |c_i(t) - W_i * t / W| over sources i and t = 1 ... W, as [numerator, denominator] in lowest terms. */
  worstDeviation() {
    const total = Number(this.W);
    const weight = this.weights.map(Number);
    const behind = weight.map(() => 0); // W_i * t - c_i * W, below 2^53
    let worst = 0;
    for (const i of this.source) {
      behind[i] -= total;
      for (let j = 0; j < weight.length; j++) {
        behind[j] += weight[j];
        worst = Math.max(worst, Math.abs(behind[j]));
      }
    }
    const common = gcd(BigInt(worst), this.W);
    return [BigInt(worst) / common, this.W / common];
  }
}

/** How many of the ascending numbers are below a bound. */
function countBelow(ascending, bound) {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle] < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
