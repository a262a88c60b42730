// node check.mjs FOLDER: recomputes every case of every vector file in the folder, and exits with 1 where one differs.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Blend } from "../../examples/javascript/blend.mjs";
import { boundaries } from "./boundaries.mjs";
import { canonical, hash, parse } from "../../examples/javascript/canonical.mjs";
import { partition } from "../../examples/javascript/partition.mjs";
import { Permutation } from "../../examples/javascript/permutation.mjs";
import { Plan, cut, planHash } from "../../examples/javascript/plan.mjs";
import { Refused, refuseIf } from "../../examples/javascript/refused.mjs";
import { integerWeights } from "../../examples/javascript/weights.mjs";

const resolve = {
  input: ["plan", "positions"],
  compute({ plan, positions }) {
    const opened = new Plan(plan);
    return { samples: positions.map((p) => opened.resolve(p)) };
  },
};

// For each file the fields of its input, and the function from them to the result. All other fields of a case, but its
// id and comment, must be those of the result.
const FILES = {
  permutation: {
    input: ["seed", "key", "n", "x"],
    compute({ seed, key, n, x }) {
      const permutation = new Permutation(n, seed, ...key);
      const y = x.map((one) => permutation.perm(one));
      y.forEach((one, k) => {
        if (permutation.inverse(one) !== x[k]) throw new Error(`the inverse of ${one} is not ${x[k]}`);
      });
      return { y };
    },
  },
  weights: {
    input: ["decimals", "limit", "length"],
    compute: ({ decimals, limit, length }) => ({ weights: integerWeights(decimals, limit, length) }),
  },
  blend: {
    input: ["weights", "rule", "q"],
    compute({ weights, rule, q }) {
      const blend = new Blend(weights, rule);
      const pairs = q.map((one) => blend.blend(one));
      return {
        source: pairs.map(([source]) => BigInt(source)),
        draw: pairs.map(([, draw]) => draw),
        worst_deviation: blend.worstDeviation(),
      };
    },
  },
  resolve,
  skips: resolve,
  where: {
    input: ["plan", "source", "corpus", "first", "last"],
    compute: ({ plan, source, corpus, first, last }) => ({
      positions: new Plan(plan).where(source, corpus, first, last),
    }),
  },
  partition: { input: ["length", "batch_sizes", "dp_size", "micro_batch", "consumed"], compute: partition },
  boundaries: {
    input: ["documents", "seq_len", "rows"],
    compute: ({ documents, seq_len, rows }) => boundaries(documents, seq_len, rows),
  },
  canonical: {
    input: ["value", "text"],
    compute({ value, text }) {
      const read = text === undefined ? value : parse(text);
      return { canonical: canonical(read), sha256: hash(read) };
    },
  },
  plan_hash: { input: ["plan"], compute: ({ plan }) => ({ plan_hash: planHash(plan) }) },
  prefix_hash: {
    input: ["plan", "consumed"],
    compute({ plan, consumed }) {
      const past = cut(plan, consumed);
      return { cut: canonical(past), prefix_hash: hash(past) };
    },
  },
};

/** [expected, got] of a case, as text. */
function outcome({ input, compute }, { id, comment, ...fields }) {
  const given = Object.fromEntries(input.filter((name) => name in fields).map((name) => [name, fields[name]]));
  const expected = Object.fromEntries(Object.entries(fields).filter(([name]) => !input.includes(name)));
  return ["refused" in expected ? "refused" : canonical(expected), computed(compute, given)];
}

function computed(compute, given) {
  try {
    return canonical(compute(given));
  } catch (error) {
    return error instanceof Refused ? "refused" : error.stack;
  }
}

/** All of a short text; of a long one what lies around a difference. */
function excerpt(text, at) {
  return text.length <= 200 ? text : `... ${text.slice(Math.max(0, at - 80), at + 100)} ...`;
}

function check(name, bytes) {
  const file = parse(bytes);
  const { format, version } = file;
  refuseIf(format !== "fivepoint-vectors" || version !== 1n, `format ${format}, version ${version}`);
  refuseIf(file.of !== name, `of ${file.of}`);
  refuseIf(!Object.hasOwn(FILES, name), "vectors of no known algorithm");
  refuseIf(file.cases.length === 0, "no cases");
  refuseIf(new Set(file.cases.map(({ id }) => id)).size < file.cases.length, "two cases with one id");
  let failures = 0;
  for (const one of file.cases) {
    const [expected, got] = outcome(FILES[name], one);
    if (expected === got) continue;
    failures++;
    const difference = expected.split("").findIndex((c, at) => c !== got[at]);
    console.log(`${name} ${one.id}: expected ${excerpt(expected, difference)}, got ${excerpt(got, difference)}`);
  }
  console.log(`${name}: ${file.cases.length} cases, ${failures} failures`);
  return failures;
}

function main(folder) {
  const names = readdirSync(folder).filter((file) => file.endsWith(".json")).sort();
  let failures = names.length === 0 ? 1 : 0;
  for (const file of names) {
    try {
      failures += check(file.slice(0, -".json".length), readFileSync(join(folder, file)));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      failures++;
      console.log(`${file}: ${error.message}`);
    }
  }
  process.exitCode = failures === 0 ? 0 : 1;
}

main(process.argv[2]);
