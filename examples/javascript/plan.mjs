// F3 and A5, A6: a plan, what it serves at a position, where it serves given tokens, its cut and its hashes.
import { Blend } from "./blend.mjs";
import { byBytes, hash } from "./canonical.mjs";
import { ceilDiv, divmod, gcd, min, sum } from "./integers.mjs";
import { word } from "./mix.mjs";
import { Permutation } from "./permutation.mjs";
import { refuseIf } from "./refused.mjs";

const LIMIT = 2n ** 48n;

const lengthOf = (plan) => sum(plan.phases.map((phase) => phase.length));

export const planHash = ({ paths, ...plan }) => hash(plan);

/** What of a plan decides the positions before c. */
export function cut(plan, c) {
  refuseIf(c > lengthOf(plan), `${c} is past the run's end`);
  let start = 0n;
  const phases = [];
  for (const phase of plan.phases) {
    if (start < c) phases.push({ ...phase, length: min(phase.length, c - start) });
    start += phase.length;
  }
  return {
    format: plan.format,
    version: plan.version,
    seed: plan.seed,
    sources: plan.sources.filter(({ name }) => phases.some(({ weights }) => Object.hasOwn(weights, name))),
    phases,
    skips: plan.skips.filter(([at]) => at < c),
  };
}

/** One phase: its blend, its skips, and the draws that each source had before it. */
class Phase {
  constructor({ length, weights, rule }, start, skips, names, base) {
    this.start = start;
    this.length = length;
    this.skips = skips.filter(([at]) => start <= at && at < start + length);
    this.taken = length + sum(this.skips.map(([, count]) => count));
    this.blend = new Blend(names.map((name) => (Object.hasOwn(weights, name) ? weights[name] : 0n)), rule);
    this.base = base;
    this.baseAfter = base.map((draws, i) => draws + this.blend.counts(this.taken, i));
  }

  /** The local position q(p) of position p. */
  local(p) {
    return p - this.start + sum(this.skips.filter(([at]) => at <= p).map(([, count]) => count));
  }

  /** The position served at local position q; undefined where q was passed over. */
  position(q) {
    let s = 0n;
    for (const [at, count] of this.skips) {
      const reached = at - this.start + s;
      if (q < reached) break;
      if (q < reached + count) return undefined;
      s += count;
    }
    return this.start + q - s;
  }
}

class Source {
  constructor({ name, corpora }, L, seed) {
    this.name = name;
    this.L = L;
    this.seed = seed;
    this.key = word(name);
    this.corpora = corpora;
    this.windows = corpora.map(({ tokens }) => (tokens - 1n) / L);
    this.n = sum(this.windows);
    refuseIf(this.n < 1n, `source ${name} has no whole window`);
    refuseIf(this.n > LIMIT, `source ${name} has ${this.n} windows`);
  }

  permutation(epoch) {
    return new Permutation(this.n, this.seed, this.key, epoch);
  }

  sample(draw) {
    const [epoch, offset] = divmod(draw, this.n);
    const window = this.permutation(epoch).perm(offset);
    let k = window;
    let c = 0;
    while (k >= this.windows[c]) k -= this.windows[c++];
    const spans = [[this.corpora[c].name, k * this.L, this.L + 1n]];
    return { source: this.name, epoch, offset, window, part: 0n, spans };
  }

  /** The draws below `draws` whose window holds a token of first ... last of a corpus. */
  *drawsOf(corpus, first, last, draws) {
    const c = this.corpora.findIndex(({ name }) => name === corpus);
    refuseIf(c < 0, `source ${this.name} has no corpus ${corpus}`);
    refuseIf(first > last || last >= this.corpora[c].tokens, `tokens ${first} to ${last} of corpus ${corpus}`);
    const before = sum(this.windows.slice(0, c));
    const from = first < this.L ? 0n : ceilDiv(first - this.L, this.L);
    const to = min(this.windows[c] - 1n, last / this.L);
    for (let epoch = 0n; epoch * this.n < draws; epoch++) {
      const permutation = this.permutation(epoch);
      for (let k = from; k <= to; k++) {
        const draw = epoch * this.n + permutation.inverse(before + k);
        if (draw < draws) yield draw;
      }
    }
  }
}

export class Plan {
  constructor(plan) {
    refuseUnlessSound(plan);
    const names = plan.sources.map(({ name }) => name);
    this.sources = plan.sources.map((source) => new Source(source, plan.phases[0].grid, plan.seed));
    this.length = lengthOf(plan);
    this.phases = [];
    let start = 0n;
    let base = names.map(() => 0n);
    for (const description of plan.phases) {
      const phase = new Phase(description, start, plan.skips, names, base);
      this.phases.push(phase);
      start += phase.length;
      base = phase.baseAfter;
    }
    this.draws = base;
  }

  resolve(p) {
    refuseIf(p >= this.length, `${p} is past the run's end`);
    const phase = this.phases.find(({ start, length }) => p < start + length);
    const [i, draw] = phase.blend.blend(phase.local(p));
    return this.sources[i].sample(phase.base[i] + draw);
  }

  where(source, corpus, first, last) {
    const i = this.sources.findIndex(({ name }) => name === source);
    refuseIf(i < 0, `no source ${source}`);
    const positions = [];
    for (const draw of this.sources[i].drawsOf(corpus, first, last, this.draws[i])) {
      const phase = this.phases.find(({ baseAfter }) => draw < baseAfter[i]);
      const p = phase.position(phase.blend.position(i, draw - phase.base[i]));
      if (p !== undefined) positions.push(p);
    }
    return positions.sort((a, b) => (a < b ? -1 : 1));
  }
}

/** What F3 says of a plan beyond its schema. */
function refuseUnlessSound(plan) {
  const { format, version } = plan;
  refuseIf(format !== "fivepoint-plan" || version !== 1n, `format ${format}, version ${version}`);
  refuseUnlessAscending(plan.sources.map(({ name }) => name), byBytes, "sources");
  for (const { name, corpora } of plan.sources) {
    const distinct = new Set(corpora.map((corpus) => corpus.name));
    refuseIf(distinct.size < corpora.length, `two corpora of ${name} share a name`);
    refuseIf(!plan.phases.some(({ weights }) => Object.hasOwn(weights, name)), `${name} has no weight in any phase`);
  }
  const length = lengthOf(plan);
  refuseIf(length < 1n || length > LIMIT, `a run of ${length} positions`);
  const { grid } = plan.phases[0];
  for (const phase of plan.phases) {
    const weights = Object.values(phase.weights);
    refuseIf(phase.length < 1n, "a phase of no samples");
    refuseIf(grid < 1n || phase.grid !== grid || phase.seq_len !== grid, "grid and seq_len are not one number");
    refuseIf(weights.includes(0n) || weights.reduce(gcd, 0n) !== 1n, "weights have a common divisor, or are 0");
    for (const name of Object.keys(phase.weights))
      refuseIf(!plan.sources.some((source) => source.name === name), `weight of ${name}, which is no source`);
  }
  refuseUnlessAscending(plan.skips.map(([at]) => at), byValue, "skips");
  refuseIf(plan.skips.some(([at, count]) => at >= length || count < 1n), "a skip past the run's end, or of no samples");
  if (Object.hasOwn(plan, "batch_sizes")) {
    const pairs = plan.batch_sizes;
    refuseUnlessAscending(pairs.map(([from]) => from), byValue, "batch_sizes");
    refuseIf(pairs[0]?.[0] !== 0n || pairs.some(([, size]) => size < 1n), "batch_sizes do not begin at 0, or hold a 0");
  }
}

const byValue = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

function refuseUnlessAscending(values, order, what) {
  refuseIf(values.some((value, i) => i > 0 && order(values[i - 1], value) >= 0), `${what} do not ascend strictly`);
}
