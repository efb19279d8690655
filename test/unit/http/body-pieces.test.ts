import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Exchange } from '../../../src/base/exchange.ts';
import type { UwsApp, UwsModule, UwsRequest, UwsResponse } from '../../../src/http/uws-types.ts';
import { listenUws } from '../../../src/http/uws.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Hands over a body in pieces as uWebSockets.js does, in memory that is overwritten afterwards. */
async function receive(body: Uint8Array, pieceBytes: number, bytesMax: number): Promise<Buffer | null> {
  let handle: (res: UwsResponse, req: UwsRequest) => void = () => {};
  const app: Partial<UwsApp> = {
    any(_pattern, handler) {
      handle = handler;
      return app as UwsApp;
    },
    listen(_host, _port, _options, done) {
      done({});
      return app as UwsApp;
    },
  };
  const uws: Partial<UwsModule> = { App: () => app as UwsApp, us_socket_local_port: () => 1 };
  let read: Buffer | null = null;
  await listenUws(uws as UwsModule, {
    host: '',
    port: 0,
    tls: null,
    onRequest: (_head, exchange: Exchange) => {
      exchange.readBody(bytesMax, (bytes) => (read = bytes === null ? null : Buffer.from(bytes)));
    },
    onCrash: (error) => {
      throw error;
    },
  });
  let onData: (chunk: ArrayBuffer, isLast: boolean) => void = () => {};
  const res: Partial<UwsResponse> = {
    onAborted: () => res as UwsResponse,
    onData(handler) {
      onData = handler;
      return res as UwsResponse;
    },
  };
  const req: UwsRequest = {
    getCaseSensitiveMethod: () => 'POST',
    getUrl: () => '/',
    getQuery: () => '',
    forEach: (field) => field('content-length', String(body.length)),
  };
  handle(res as UwsResponse, req);
  for (let at = 0; at < body.length; at += pieceBytes) {
    const chunk = new Uint8Array(body.subarray(at, at + pieceBytes));
    onData(chunk.buffer, at + pieceBytes >= body.length);
    chunk.fill(0);
  }
  return read;
}

describe('a body in pieces', () => {
  test.each([1, 1_000, 4_096, 4_097, 70_000])('arrives as it was sent, %i bytes at a time', async (pieceBytes) => {
    const body = randomBytes(9_000);
    expect(await receive(body, pieceBytes, 9_000)).toEqual(body);
  });

  test('is refused as soon as it is too long', async () => {
    expect(await receive(randomBytes(9_000), 1_000, 8_999)).toBeNull();
  });

  test('allocates a few times its own size, however small its pieces are', async () => {
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
