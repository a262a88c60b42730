// fivepoint conform --process "node examples/javascript/driver.mjs": a loader in another language, and its driver.
//
// The order comes from spec/algorithms.md alone: nothing of fivepoint runs in this process. What it does not promise
// (budgets, boundaries, a run log and so on) the suite does not ask for.
import { join } from "node:path";
import { byBytes } from "./canonical.mjs";
import { Corpus } from "./corpus.mjs";
import { Loader } from "./loader.mjs";
import { planHash } from "./plan.mjs";
import { Refused, refuseIf } from "./refused.mjs";
import { integerWeights } from "./weights.mjs";
import { messages, send } from "./wire.mjs";

const DECLARED = {
  promises: [
    ..."order rows shuffle epochs whole_epochs mixture mixed_epochs prefix phases skips layout any_batch batch_size whole_steps peers".split(" "),
    ..."resume rebatch amend elastic one_state commit identity hash where".split(" "),
  ],
  stride: "L",
  version: "1.0",
};
const LARGEST_SUM = 2n ** 20n; // A3

/** F3: the plan that the suite's settings describe. */
function planOf(corpus, { seed, seq_len, sources, phases, skips, rule, batch_size }) {
  const grid = BigInt(seq_len);
  const planned = phases.map(({ length, weights }) => ({
    length: BigInt(length),
    grid,
    seq_len: grid,
    rule,
    weights: integerWeights(weights, LARGEST_SUM, BigInt(length)),
  }));
  const names = Object.keys(sources).filter((name) => planned.some(({ weights }) => Object.hasOwn(weights, name)));
  return {
    format: "fivepoint-plan",
    version: 1n,
    seed: BigInt(seed),
    sources: names.sort(byBytes).map((name) => ({
      name,
      corpora: sources[name].map((folder) => pin(join(corpus, folder))),
      documents: "stored",
      windows: "permuted",
    })),
    phases: planned,
    skips: skips.map((skip) => skip.map(BigInt)),
    ...(batch_size ? { batch_sizes: [[0n, BigInt(batch_size)]] } : {}),
  };
}

function pin(folder) {
  const corpus = new Corpus(folder);
  corpus.close();
  return corpus.pin;
}

function build({ corpus, settings, layout }, states) {
  const { dp_rank, dp_size, micro_batch, accumulation } = layout;
  const batchSize = dp_size * micro_batch * accumulation;
  const asked = settings.batch_size ?? batchSize;
  refuseIf(asked !== batchSize, `a batch size of ${asked} is asked for, and the layout makes ${batchSize}`);
  const folders = {};
  for (const [name, corpora] of Object.entries(settings.sources))
    folders[name] = corpora.map((folder) => join(corpus, folder));
  const [dpSize, microBatch] = [BigInt(dp_size), BigInt(micro_batch)];
  const sizes = { dpRank: dp_rank, dpSize, microBatch, batchSize: BigInt(batchSize) };
  return new Loader(planOf(corpus, settings), folders, sizes, states[0]); // any rank's state resumes all
}

/** Rows of tokens as a frame of int64. */
function frame(rows) {
  const shape = [rows.length, rows[0].length];
  const bytes = Buffer.alloc(8 * shape[0] * shape[1]);
  let at = 0;
  for (const row of rows) for (const token of row) at = bytes.writeUInt32LE(token, at) + 4; // the upper half stays 0
  return { dtype: "int64", shape, bytes };
}

let loader;

/** For each request the function from it, and its frames, to [what is answered, the answer's frames]. */
const ANSWERS = {
  declare: () => [DECLARED],
  prepare: () => [null], // the corpora are read where they lie
  build(request, states) {
    loader = build(request, states);
    return [null];
  },
  next() {
    const step = loader.next();
    if (step === null) return [null];
    const frames = step.flatMap(({ inputs, targets }) => [frame(inputs), frame(targets)]);
    return [step.map((_, i) => ({ inputs: 2 * i, targets: 2 * i + 1 })), frames];
  },
  commit() {
    loader.commit(); // a step whose update was skipped counts all the same
    return [null];
  },
  save() {
    const bytes = Buffer.from(loader.state());
    return [null, [{ dtype: "uint8", shape: [bytes.length], bytes }]];
  },
  where({ source, corpus, first, last }) {
    return [loader.plan.where(source, corpus, BigInt(first), BigInt(last)).map(Number)];
  },
  identity: () => [planHash(loader.description)],
  close() {
    loader.close();
    return [null];
  },
};

for await (const [request, frames] of messages(process.stdin)) {
  try {
    refuseIf(!Object.hasOwn(ANSWERS, request.do), `has no ${request.do}`);
    const [ok, given] = ANSWERS[request.do](request, frames);
    send(process.stdout, { ok }, given);
  } catch (error) {
    send(process.stdout, error instanceof Refused ? { refused: error.message } : { error: error.stack });
  }
}
