// Messages with the suite: a line of JSON, then the bytes of its frames (conformance/DRIVERS.md, "A process").

const STRING_OR_LARGE = /"(?:[^"\\]|\\.)*"|(?<![\d.])\d{16,}(?![\d.eE])/g;

/** Yields [request, frames] for each message of a stream; frames are the raw bytes. */
export async function* messages(stream) {
  const chunks = stream[Symbol.asyncIterator]();
  let held = Buffer.alloc(0);
  const more = async () => {
    const { value, done } = await chunks.next();
    if (!done) held = Buffer.concat([held, value]);
    return !done;
  };
  const take = (size) => {
    const taken = held.subarray(0, size);
    held = held.subarray(size);
    return taken;
  };
  for (;;) {
    let newline;
    while ((newline = held.indexOf("\n")) < 0) if (!(await more())) return;
    const request = JSON.parse(exact(take(newline + 1).toString()));
    const frames = [];
    for (const { shape } of request.frames ?? []) {
      const size = shape.reduce((a, b) => a * b, 1); // states, which are uint8
      while (held.length < size) if (!(await more())) return;
      frames.push(take(size));
    }
    yield [request, frames];
  }
}

/** JSON in which integers that JSON.parse would round are text: BigInt takes both. Strings stay as they are. */
const exact = (line) => line.replace(STRING_OR_LARGE, (found) => (found.startsWith('"') ? found : `"${found}"`));

/** Writes a message; its frames are {dtype, shape, bytes}. */
export function send(stream, message, frames = []) {
  const described = frames.map(({ dtype, shape }) => ({ dtype, shape }));
  stream.write(`${JSON.stringify({ ...message, frames: described })}\n`);
  for (const { bytes } of frames) stream.write(bytes);
}
