// A loader: one number, `consumed`, and a plan that decides everything else. Its state is a checkpoint of F4.
import { canonical, hash, parse } from "./canonical.mjs";
import { Corpus } from "./corpus.mjs";
import { ranksOf } from "./partition.mjs";
import { Plan, cut, planHash } from "./plan.mjs";
import { refuseIf } from "./refused.mjs";

export class Loader {
  /**
   * `description` is a plan as F3 says, `folders` has for each source the folders of its corpora, `layout` the numbers
   * dpRank, and as BigInts dpSize, microBatch and batchSize; `state` is what `state()` returned.
   */
  constructor(description, folders, layout, state) {
    this.description = description;
    this.plan = new Plan(description);
    this.layout = layout;
    this.consumed = 0n;
    this.steps = 0n;
    this.begun = false;
    this.shares(); // sizes that do not divide are refused here
    if (state !== undefined) this.resume(parse(state));
    this.corpora = new Map();
    for (const { name, corpora } of description.sources)
      corpora.forEach((corpus, c) => this.corpora.set(`${name}/${corpus.name}`, new Corpus(folders[name][c])));
  }

  /** The micro-batches of this rank's next step, {inputs, targets} each, rows of tokens; null at the end of the run. */
  next() {
    if (this.begun) throw new Error("expected commit() before the next step");
    if (this.consumed + this.layout.batchSize > this.plan.length) return null;
    this.begun = true;
    return this.shares()[this.layout.dpRank].map(([first, end]) => {
      const rows = [];
      for (let position = first; position < end; position++) rows.push(this.row(position));
      return { inputs: rows.map((row) => row.subarray(0, -1)), targets: rows.map((row) => row.subarray(1)) };
    });
  }

  /** A7: the positions of each rank's micro-batches in the step at `consumed`. */
  shares() {
    const { dpSize, microBatch, batchSize } = this.layout;
    return ranksOf(this.consumed, batchSize, dpSize, microBatch);
  }

  row(position) {
    const { source, spans } = this.plan.resolve(position);
    const [[corpus, first, count]] = spans; // a sample is one whole window in this version of plans
    return this.corpora.get(`${source}/${corpus}`).tokens(Number(first), Number(count));
  }

  commit() {
    if (!this.begun) throw new Error("expected a step before commit()");
    this.consumed += this.layout.batchSize;
    this.steps++;
    this.begun = false;
  }

  state() {
    const plan = cut(this.description, this.consumed);
    return canonical({
      format: "fivepoint-checkpoint",
      version: 1n,
      consumed: this.consumed,
      step: this.steps,
      plan_hash: planHash(this.description),
      plan,
      prefix_hash: hash(plan),
    });
  }

  /** Goes on from a checkpoint of the same past, whatever the plan says of the future. */
  resume({ format, version, consumed, step, plan, prefix_hash }) {
    refuseIf(format !== "fivepoint-checkpoint" || version !== 1n, `a state of format ${format}, version ${version}`);
    refuseIf(hash(plan) !== prefix_hash, "the state is damaged: its prefix_hash is not that of its plan");
    refuseIf([consumed, step].some((number) => typeof number !== "bigint"), "the state has no consumed, or no step");
    const differ = differences(plan, cut(this.description, consumed));
    refuseIf(differ.length > 0, `the state is of another past: ${differ.join(", ")}`);
    this.consumed = consumed;
    this.steps = step;
  }

  close() {
    for (const corpus of this.corpora.values()) corpus.close();
  }
}

/** The places, such as `phases.0.weights.web`, in which two JSON values differ. */
function differences(a, b, path = []) {
  if (typeof a !== "object" || typeof b !== "object") return a === b ? [] : [path.join(".")];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].flatMap((key) => differences(a[key], b[key], [...path, key]));
}
