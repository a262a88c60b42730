// A loader: one number, `consumed`, and a plan that decides everything else. Its state is a checkpoint of F4.
import { canonical, hash, parse } from "./canonical.mjs";
import { Corpus } from "./corpus.mjs";
import { partition } from "./partition.mjs";
import { Plan, cut, planHash } from "./plan.mjs";
import { refuseIf } from "./refused.mjs";

export class Loader {
  /** `folders` has, for each source, the folder of each corpus that the plan names; `layout` dp_rank, dp_size, micro_batch and the batch size. */
  constructor(description, folders, layout, state) {
    this.description = description;
    this.plan = new Plan(description);
    this.layout = layout;
    this.consumed = 0n;
    this.steps = 0n;
    this.begun = false;
    this.share(); // sizes that do not divide are refused here
    if (state !== undefined) this.resume(parse(state));
    this.corpora = new Map();
    for (const { name, corpora } of description.sources)
      corpora.forEach((corpus, c) => this.corpora.set(`${name}/${corpus.name}`, new Corpus(folders[name][c])));
  }

  /** The micro-batches of this rank's next step, {inputs, targets} each, rows of tokens; null at the end of the run. */
  next() {
    if (this.begun) throw new Error("expected commit() before the next step");
    const { complete, ranks } = this.share();
    if (complete) return null;
    this.begun = true;
    return ranks[this.layout.dpRank].map(([first, end]) => {
      const rows = [];
      for (let position = first; position < end; position++) rows.push(this.row(position));
      return { inputs: rows.map((row) => row.slice(0, -1)), targets: rows.map((row) => row.slice(1)) };
    });
  }

  /** A7: which positions of the step at `consumed` each rank reads. */
  share() {
    const { dpSize: dp_size, microBatch: micro_batch, batchSize } = this.layout;
    const { length } = this.plan;
    return partition({ length, batch_sizes: [[0n, batchSize]], dp_size, micro_batch, consumed: this.consumed });
  }

  row(position) {
    const { source, spans } = this.plan.resolve(position);
    return spans.flatMap(([corpus, first, count]) => this.corpora.get(`${source}/${corpus}`).tokens(Number(first), Number(count)));
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
  resume({ format, version, consumed, step, plan }) {
    refuseIf(format !== "fivepoint-checkpoint" || version !== 1n, `a state of format ${format}, version ${version}`);
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
