// A7: steps and ranks.
import { ceilDiv, max } from "./integers.mjs";
import { refuseIf } from "./refused.mjs";

/** B(c): the size of the last pair [from, size] with from <= c. */
const batchSize = (pairs, c) => pairs.filter(([from]) => from <= c).at(-1)[1];

/** The number, from 0, of the step that begins at c. */
function stepNumber(pairs, length, c) {
  let begin = 0n;
  let number = 0n;
  for (const [i, [, size]] of pairs.entries()) {
    const until = i + 1 < pairs.length ? pairs[i + 1][0] : length;
    const steps = max(0n, ceilDiv(until - begin, size));
    if (c <= begin + steps * size) {
      refuseIf((c - begin) % size !== 0n, `no step begins at ${c}`);
      return number + (c - begin) / size;
    }
    begin += steps * size;
    number += steps;
  }
  refuseIf(true, `${c} is past the run's end`);
}

/** For each rank the positions [from, to) of each of its micro-batches, in the step of B samples that begins at c. */
export function ranksOf(c, B, dpSize, microBatch) {
  refuseIf(dpSize < 1n || microBatch < 1n, "no ranks or no rows");
  refuseIf(B % (dpSize * microBatch) !== 0n, `${dpSize} ranks in micro-batches of ${microBatch} do not divide ${B}`);
  const perRank = B / dpSize;
  return range(dpSize).map((r) =>
    range(perRank / microBatch).map((a) => {
      const first = c + r * perRank + a * microBatch;
      return [first, first + microBatch];
    }),
  );
}

export function partition({ length, batch_sizes: pairs, dp_size: dpSize, micro_batch: microBatch, consumed: c }) {
  const B = batchSize(pairs, c);
  const ranks = ranksOf(c, B, dpSize, microBatch);
  if (c + B > length) return { complete: true };
  return { step: stepNumber(pairs, length, c), batch_size: B, accumulation: B / (dpSize * microBatch), ranks };
}

const range = (length) => Array.from({ length: Number(length) }, (_, i) => BigInt(i));
