// F1: a corpus, whose tokens are read from its shards where they lie.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { hash, parse } from "./canonical.mjs";
import { refuseIf } from "./refused.mjs";

const SIZES = { uint16: 2, uint32: 4 };

export class Corpus {
  constructor(folder) {
    this.manifest = parse(readFileSync(join(folder, "manifest.json")));
    const { format, version, dtype, shards } = this.manifest;
    refuseIf(format !== "fivepoint-corpus" || version !== 1n, `${folder} has format ${format}, version ${version}`);
    refuseIf(!Object.hasOwn(SIZES, dtype), `tokens of ${dtype}`);
    this.size = SIZES[dtype];
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
    const found = [];
    for (const shard of this.shards) {
      const from = Math.max(first, shard.first);
      const length = Math.min(first + count, shard.end) - from;
      if (length > 0) this.read(shard, from - shard.first, length, found);
    }
    return found;
  }

  read({ descriptor }, first, length, found) {
    const bytes = Buffer.alloc(length * this.size);
    const got = readSync(descriptor, bytes, 0, bytes.length, first * this.size);
    refuseIf(got < bytes.length, `expected ${bytes.length} bytes of corpus ${this.manifest.name}, found ${got}`);
    for (let at = 0; at < bytes.length; at += this.size) found.push(bytes.readUIntLE(at, this.size));
  }

  close() {
    for (const { descriptor } of this.shards) closeSync(descriptor);
  }
}
