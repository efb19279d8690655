import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, nthHash } from '../../support/manage.ts';
import { expectRawDocumented } from '../../support/raw-answers.ts';
import { type SharedServer, sharedServer } from '../../support/shared-server.ts';

/** Responses sent in several parts arrive completely, even at a client that reads slowly, on both transports. */
describe.each(['uws', 'node'] as const)('by %s', (transport) => {
  let server: SharedServer;
  /** Contains letters of two bytes and characters that JSON escapes: 1,000 of them exceed a page. */
  const noteOf = (n: number): string => `${n}${'"é'.repeat(250)}`.slice(0, 500);

  beforeAll(async () => {
    server = await sharedServer(transport);
    for (const from of [0, 500]) {
      const entries = Array.from({ length: 500 }, (_, n) => ({
        fingerprint_hash: nthHash(from + n),
        action: 'watch',
        note: noteOf(from + n),
      }));
      const { status, json } = await bearer(server.url, server.secretKey, 'POST', '/v1/lists/batch', entries);
      if (status !== 200) throw new Error(`the entries were not stored: ${status} ${JSON.stringify(json)}`);
    }
  });

  test('a page ends when it exceeds its bytes, and the cursor continues after it', async () => {
    const seen: { fingerprint_hash: string; note: string }[] = [];
    let cursor = '';
    let pages = 0;
    do {
      const { json } = await bearer(server.url, server.secretKey, 'GET', `/v1/lists${cursor}`);
      seen.push(...(json['data'] as typeof seen));
      pages++;
      cursor = json['has_more'] === true ? `?cursor=${String(json['next_cursor'])}` : '';
    } while (cursor !== '');
    expect(seen.map((row) => row.fingerprint_hash)).toEqual(Array.from({ length: 1_000 }, (_, n) => nthHash(n)));
    expect(seen.every(({ note }, n) => note === noteOf(n))).toBe(true);
    expect(pages).toBe(2);
  });

  test('a client that reads slowly gets the complete response, and its connection serves the next call', async () => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    const head = `Host: ${hostname}\r\nAuthorization: Bearer ${server.secretKey}\r\n\r\n`;
    const first = await ask(socket, `GET /v1/lists HTTP/1.1\r\n${head}`);
    const page = JSON.parse(first) as { data: { note: string }[] };
    expect(page.data.every(({ note }, n) => note === noteOf(n))).toBe(true);
    expect(JSON.parse(await ask(socket, `GET /v1/lists?limit=1 HTTP/1.1\r\n${head}`))).toMatchObject({
      has_more: true,
    });
    socket.destroy();
  });
});

/** Returns the body of the response. */
async function ask(socket: NodeJS.ReadWriteStream, request: string): Promise<string> {
  socket.write(request);
  let bytes = Buffer.alloc(0);
  for (;;) {
    const headEnd = bytes.indexOf('\r\n\r\n');
    const length = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, Math.max(0, headEnd)))?.[1];
    if (length !== undefined && bytes.length >= headEnd + 4 + Number(length)) {
      expectRawDocumented(request, bytes.toString('latin1'));
      return bytes.toString('utf8', headEnd + 4);
    }
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) await new Promise((done) => socket.once('readable', done));
    else bytes = Buffer.concat([bytes, chunk]);
  }
}
