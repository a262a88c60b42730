// F1: a corpus, whose tokens are read from its shards where they lie.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { hash, parse } from "./canonical.mjs";
import { refuseIf } from "./refused.mjs";

const READ = {
  uint16: { size: 2, token: (bytes, at) => bytes.readUInt16LE(at) },
  uint32: { size: 4, token: (bytes, at) => bytes.readUInt32LE(at) },
};

export class Corpus {
  constructor(folder) {
    this.manifest = parse(readFileSync(join(folder, "manifest.json")));
    const { format, version, dtype, shards } = this.manifest;
    refuseIf(format !== "fivepoint-corpus" || version !== 1n, `${folder} has format ${format}, version ${version}`);
    refuseIf(!Object.hasOwn(READ, dtype), `tokens of ${dtype}`);
    this.dtype = READ[dtype];
    this.shards = [];
    let first = 0;
    for (const { file, tokens, bytes } of shards) {
      const descriptor = openSync(join(folder, file));
      this.shards.push({ descriptor, first, end: first + Number(tokens) });
      first += Number(tokens);
      const found = fstatSync(descriptor).size;
      refuseIf(BigInt(found) !== bytes, `expected ${bytes} bytes in ${file} of ${folder}, found ${found}`);
    }
  }

  /** What a plan says of the corpus (F3). */
  get pin() {
    const { name, tokens, shards } = this.manifest;
    return { name, manifest: hash(this.manifest), content: hash(shards.map(({ sha256 }) => sha256)), tokens };
  }

  /** Tokens `first` to `first + count - 1`, which may lie in several shards. */
  tokens(first, count) {
    const found = new Uint32Array(count);
    for (const shard of this.shards) {
      const from = Math.max(first, shard.first);
      const length = Math.min(first + count, shard.end) - from;
      if (length > 0) this.read(shard, from - shard.first, found.subarray(from - first, from - first + length));
    }
    return found;
  }

  /** Fills an array with the tokens of a shard from `first` on. */
  read({ descriptor }, first, found) {
    const { size, token } = this.dtype;
    const bytes = Buffer.alloc(found.length * size);
    const got = readSync(descriptor, bytes, 0, bytes.length, first * size);
    refuseIf(got < bytes.length, `expected ${bytes.length} bytes of corpus ${this.manifest.name}, found ${got}`);
    for (let i = 0; i < found.length; i++) found[i] = token(bytes, i * size);
  }

  close() {
    for (const { descriptor } of this.shards) closeSync(descriptor);
  }
}
