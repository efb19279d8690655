/** Bytes in chunks, in order. They can be read once. */
export type Pieces = AsyncIterable<Buffer>;

/** Returns the first bytes (at least `bytesMin` if there are as many), and a stream of all bytes including them. */
export async function withFirstPieces(
  pieces: Pieces,
  bytesMin: number,
): Promise<{ readonly head: Buffer; readonly all: AsyncGenerator<Buffer> }> {
  const iterator = pieces[Symbol.asyncIterator]();
  const first: Buffer[] = [];
  let bytes = 0;
  let isWhole = false;
  while (bytes < bytesMin && !isWhole) {
    const { value, done } = await iterator.next();
    if (done === true) isWhole = true;
    else {
      first.push(value);
      bytes += value.length;
    }
  }
  async function* all(): AsyncGenerator<Buffer> {
    try {
      yield* first;
      first.length = 0;
      for (let next = isWhole ? null : await iterator.next(); next !== null && next.done !== true;) {
        yield next.value;
        next = await iterator.next();
      }
    } finally {
      await iterator.return?.();
    }
  }
  return { head: first.length === 1 ? (first[0] ?? Buffer.alloc(0)) : Buffer.concat(first), all: all() };
}
