// A loader without Python, and its driver: serves the windows of one corpus in order, and speaks the messages of DRIVERS.md, no more of them.
import { openSync, readFileSync, readSync, writeSync } from "node:fs";

let run, file, size, windows, consumed = 0;
const requests = {
  declare: () => ({ ok: { promises: ["layout", "whole_steps", "resume"], stride: "L", version: process.version } }),
  prepare: () => ({ ok: null }),
  build({ corpus, settings, layout }, frames) {
    const folder = `${corpus}/data`;
    const [shard] = JSON.parse(readFileSync(`${folder}/manifest.json`, "utf8")).shards;
    run = { rows: layout.micro_batch, length: settings.phases[0].length };
    [file, size, windows] = [openSync(`${folder}/${shard.file}`), settings.seq_len, Math.floor((shard.tokens - 1) / settings.seq_len)];
    consumed = frames.length ? Number(frames[0].toString()) : 0;
    return { ok: null };
  },
  next() {
    if (consumed + run.rows > Math.min(run.length, windows)) return { ok: null };
    const rows = Buffer.alloc(run.rows * size * 4);
    for (let row = 0; row < run.rows; row++) readSync(file, rows, row * size * 4, size * 4, (consumed + row) * size * 4);
    return { ok: [{ inputs: 0 }], frames: [{ dtype: "uint32", shape: [run.rows, size] }], bytes: rows };
  },
  commit: () => ((consumed += run.rows), { ok: null }),
  save() {
    const bytes = Buffer.from(String(consumed));
    return { ok: null, frames: [{ dtype: "uint8", shape: [bytes.length] }], bytes };
  },
  close: () => ({ ok: null }),
};

let ahead = Buffer.alloc(0);
const more = () => {
  const part = Buffer.alloc(1 << 16);
  const count = readSync(0, part);
  if (!count) process.exit(0);
  ahead = Buffer.concat([ahead, part.subarray(0, count)]);
};
const taken = (count) => {
  while (ahead.length < count) more();
  const part = ahead.subarray(0, count);
  ahead = ahead.subarray(count);
  return part;
};
const written = (bytes) => {
  for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done);
};
for (;;) {
  while (!ahead.includes(10)) more();
  const request = JSON.parse(taken(ahead.indexOf(10) + 1).toString());
  const frames = (request.frames ?? []).map(({ shape }) => Buffer.from(taken(shape[0])));
  const known = Object.hasOwn(requests, request.do);
  const { bytes, ...reply } = known ? requests[request.do](request, frames) : { error: `knows no ${request.do}` };
  written(Buffer.from(JSON.stringify(reply) + "\n"));
  if (bytes) written(bytes);
}
