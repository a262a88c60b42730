// A8: boundaries of the rows of one micro-batch, from the lengths of a corpus's documents.
import { refuseIf } from "../../examples/javascript/refused.mjs";

export function boundaries(lengths, seqLen, rows) {
  const documents = []; // of every token
  lengths.forEach((length, document) => {
    for (let token = 0n; token < length; token++) documents.push(BigInt(document));
  });
  const l = Number(seqLen);
  const result = { document_ids: [], position_ids: [], loss_mask: [], cu_seqlens: [] };
  rows.map(Number).forEach((x, row) => {
    refuseIf(x + l >= documents.length, `tokens ${x} to ${x + l} of ${documents.length}`);
    const doc = documents.slice(x, x + l + 1); // with that of the last target
    let start = 0;
    const positions = [];
    for (let t = 0; t < l; t++) {
      if (t > 0 && doc[t] !== doc[t - 1]) start = t;
      if (start === t) result.cu_seqlens.push(BigInt(row * l + t));
      positions.push(BigInt(t - start));
    }
    result.document_ids.push(doc.slice(0, l));
    result.position_ids.push(positions);
    result.loss_mask.push(positions.map((_, t) => doc[t + 1] === doc[t]));
  });
  const bounds = result.cu_seqlens;
  bounds.push(BigInt(rows.length * l));
  const lengthsOfRuns = bounds.slice(1).map((bound, i) => Number(bound - bounds[i]));
  return { ...result, max_seqlen: BigInt(Math.max(...lengthsOfRuns)) };
}
