import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BODIES_UNFINISHED_SOURCE_BYTES_MAX, MANAGED_BODY_BYTES_MAX } from '../../../src/kernel/limits.ts';
import { expectRawDocumented } from '../../support/raw-answers.ts';
import { get, TRANSPORTS } from '../../support/requests.ts';
import { startServer, type RunningServer } from '../../support/server.ts';

describe.each(TRANSPORTS)('unfinished bodies over %s', (transport) => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer({ env: { GATEHOUSE_TRANSPORT: transport } });
  });
  afterAll(() => server.stop());

  /** Sends all of a body except its last byte, and resolves with the response. */
  function sendMost(n: number, sockets: Socket[]): Promise<string> {
    const { hostname, port } = new URL(server.url);
    const head = [
      'POST /v1/lists HTTP/1.1',
      'Host: x',
      'Content-Type: application/json',
      `X-SVC-Key: ${server.secretKey}`,
      `X-SVC-Ts: ${Math.floor(Date.now() / 1000)}`,
      `X-SVC-Rid: unfinished-${n}`,
      `X-SVC-Sig: ${'0'.repeat(64)}`,
      `Content-Length: ${MANAGED_BODY_BYTES_MAX}`,
    ];
    return new Promise((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(`${head.join('\r\n')}\r\n\r\n`);
        socket.write(Buffer.alloc(MANAGED_BODY_BYTES_MAX - 1, 0x20));
      });
      sockets.push(socket);
      let text = '';
      socket.on('data', (piece: Buffer) => (text += piece.toString('latin1')));
      socket.on('close', () => resolve(text));
      socket.on('error', () => {});
    });
  }

  test('unfinished bodies of one address hold a limited number of bytes, and one more is 429 and ends its connection', async () => {
    const sockets: Socket[] = [];
    const fitting = BODIES_UNFINISHED_SOURCE_BYTES_MAX / MANAGED_BODY_BYTES_MAX;
    const answers = Array.from({ length: fitting + 1 }, (_, n) => sendMost(n, sockets));
    const first = await Promise.race(answers);
    expectRawDocumented('POST /v1/lists HTTP/1.1\r\nHost: x\r\n\r\n', first);
    expect(first).toMatch(/^HTTP\/1\.1 429 /);
    expect(first).toContain('"overloaded"');
    expect(first).toMatch(/\r\nConnection: close\r\n/i);
    expect((await get(server.url, '/healthz')).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    // All that they held is free again.
    const again = Array.from({ length: fitting }, (_, n) => sendMost(100 + n, sockets));
    const refused = await Promise.race([...again, new Promise<null>((done) => setTimeout(() => done(null), 1_000))]);
    expect(refused).toBeNull();
    for (const socket of sockets) socket.destroy();
  });
});
