// F0: JSON with exact integers, its canonical form and hashes.
//
// JSON.parse is of no use here: it rounds integers above 2^53, takes floats and null, and lets the last of two equal
// keys win. Every integer becomes a BigInt, every object one without a prototype, so that "__proto__" is a key like any
// other.
import { createHash } from "node:crypto";
import { Refused, refuseIf } from "./refused.mjs";

const LARGEST = 2n ** 64n - 1n;
const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y;
const INTEGER = /^(0|[1-9]\d*)$/;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const LONE_SURROGATE = /\p{Surrogate}/u;
const UNESCAPED = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const ESCAPED = { '"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The value that a text, or the bytes of a file, holds. */
export function parse(textOrBytes) {
  const reader = new Reader(typeof textOrBytes === "string" ? textOrBytes : decode(textOrBytes));
  const value = reader.value();
  reader.match(SPACE);
  refuseIf(reader.at < reader.text.length, `something follows the value at character ${reader.at}`);
  return value;
}

function decode(bytes) {
  try {
    // "ignore" means: leave a byte-order mark in the text, where it is refused
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refused("not UTF-8");
  }
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found && found[0];
  }

  takes(token) {
    this.match(SPACE);
    if (!this.text.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  expect(token) {
    refuseIf(!this.takes(token), `expected ${token} at character ${this.at}`);
  }

  value() {
    if (this.takes("{")) return this.object();
    if (this.takes("[")) return this.array();
    if (this.takes('"')) return this.string();
    if (this.takes("true")) return true;
    if (this.takes("false")) return false;
    const number = this.match(NUMBER);
    refuseIf(number === null, `no value that may stand here at character ${this.at}`);
    refuseIf(!INTEGER.test(number), `${number} is not an integer without sign or leading zeros`);
    const integer = BigInt(number);
    refuseIf(integer > LARGEST, `${number} is above 2^64 - 1`);
    return integer;
  }

  object() {
    const object = Object.create(null);
    if (this.takes("}")) return object;
    do {
      this.expect('"');
      const key = this.string();
      refuseIf(key in object, `key ${key} stands twice`);
      this.expect(":");
      object[key] = this.value();
    } while (this.takes(","));
    this.expect("}");
    return object;
  }

  array() {
    const array = [];
    if (this.takes("]")) return array;
    do array.push(this.value());
    while (this.takes(","));
    this.expect("]");
    return array;
  }

  string() {
    let string = "";
    for (;;) {
      string += this.match(PLAIN);
      const end = this.text[this.at++];
      if (end === '"') break;
      refuseIf(end !== "\\", `a string is not ended at character ${this.at - 1}`);
      const escape = this.text[this.at++];
      if (escape === "u") {
        const digits = this.text.slice(this.at, this.at + 4);
        refuseIf(!/^[0-9a-fA-F]{4}$/.test(digits), `\\u${digits} is not an escape`);
        string += String.fromCharCode(parseInt(digits, 16));
        this.at += 4;
      } else {
        refuseIf(!Object.hasOwn(UNESCAPED, escape), `\\${escape} is not an escape`);
        string += UNESCAPED[escape];
      }
    }
    refuseIf(LONE_SURROGATE.test(string), "a string holds a lone surrogate");
    return string;
  }
}

/** Order of names and keys: by UTF-8 bytes, which JavaScript's own order, by UTF-16 units, is not. */
export const byBytes = (a, b) => Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));

/** The canonical text of a value that `parse` could have returned. */
export function canonical(value) {
  if (typeof value === "boolean") return String(value);
  if (typeof value === "bigint") {
    refuseIf(value < 0n || value > LARGEST, `${value} is not in 0 ... 2^64 - 1`);
    return String(value);
  }
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") throw new Refused(`${value} has no canonical form`);
  const members = Object.keys(value).sort(byBytes).map((key) => `${quoted(key)}:${canonical(value[key])}`);
  return `{${members.join(",")}}`;
}

function quoted(string) {
  refuseIf(LONE_SURROGATE.test(string), "a string holds a lone surrogate");
  const escape = (c) => ESCAPED[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `"${string.replace(/["\\\u0000-\u001f]/g, escape)}"`;
}

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

export const hash = (value) => sha256(Buffer.from(canonical(value), "utf8"));
