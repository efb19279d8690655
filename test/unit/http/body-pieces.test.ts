import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { TrustedProxies } from '../../../src/http/trusted-proxies.ts';
import { listenUws } from '../../../src/http/uws.ts';
import { fakeUws } from '../../support/fake-uws.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Passes a body in pieces as uWebSockets.js does, in memory that is overwritten afterwards. */
async function receive(body: Uint8Array, pieceBytes: number, bytesMax: number): Promise<Buffer | null> {
  const { uws, request } = fakeUws();
  const read: (Buffer | null)[] = [];
  await listenUws(uws, {
    host: '',
    port: 0,
    tls: null,
    trustedProxies: new TrustedProxies([]),
    onRequest: (_head, exchange) =>
      exchange.readBody(bytesMax, (bytes) => read.push(bytes === null ? null : Buffer.from(bytes))),
    onCrash: (error) => {
      throw error;
    },
  });
  const { onData } = request({ 'content-length': String(body.length) });
  for (let at = 0; at < body.length; at += pieceBytes) {
    const chunk = new Uint8Array(body.subarray(at, at + pieceBytes));
    onData(chunk.buffer, at + pieceBytes >= body.length);
    chunk.fill(0);
  }
  expect(read).toHaveLength(1);
  return read[0] ?? null;
}

describe('a body in pieces', () => {
  test.each([1, 1_000, 4_096, 4_097, 70_000])('A body arrives unchanged in pieces of %i bytes', async (pieceBytes) => {
    const body = randomBytes(9_000);
    expect(await receive(body, pieceBytes, 9_000)).toEqual(body);
  });

  test('A body is refused as soon as it is too long', async () => {
    expect(await receive(randomBytes(9_000), 1_000, 8_999)).toBeNull();
  });

  test('A body allocates a few times its own size, however small its pieces are', async () => {
    let allocated = 0;
    const concat = Buffer.concat.bind(Buffer);
    vi.spyOn(Buffer, 'concat').mockImplementation((list, length) => {
      const joined = concat(list, length);
      allocated += joined.length;
      return joined;
    });
    const allocate = Buffer.allocUnsafeSlow.bind(Buffer);
    vi.spyOn(Buffer, 'allocUnsafeSlow').mockImplementation((size) => {
      allocated += size;
      return allocate(size);
    });
    const body = randomBytes(1_048_576);
    expect((await receive(body, 1_024, body.length))?.equals(body)).toBe(true);
    expect(allocated).toBeLessThanOrEqual(4 * body.length);
  });
});
