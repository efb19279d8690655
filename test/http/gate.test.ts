import { beforeAll, describe, expect, test } from 'vitest';
import { RESPONSES_PER_TURN_MAX } from '../../src/http/transport.ts';
import { raw, TRANSPORTS } from '../support/requests.ts';
import { CELLS_OF_TESTS } from '../support/server.ts';
import { sharedServer, type SharedServer } from '../support/shared-server.ts';

const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

/** A PROXY protocol header of version 2, as bytes. */
const PROXY_V2 = '\r\n\r\n\0\r\nQUIT\n';
const PROXY_IPV4 = `${PROXY_V2}\x21\x11\0\x0c\x09\x09\x09\x09\x01\x01\x01\x01\0\x50\0\x50`;
const PROXY_LOCAL = `${PROXY_V2}\x20\0\0\0`;

/** Each is sent as Latin-1, followed by a complete valid request on the same connection. */
const REFUSED: readonly (readonly [name: string, bytes: string])[] = [
  [
    'two equal Content-Length',
    'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}',
  ],
  [
    'two other Content-Length',
    'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 40\r\n\r\n{}',
  ],
  ['a list as Content-Length', 'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 2, 2\r\n\r\n{}'],
  ['a signed Content-Length', 'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\n{}'],
  ['a negative Content-Length', 'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: -2\r\n\r\n{}'],
  ['a hexadecimal Content-Length', 'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 0x2\r\n\r\n{}'],
  [
    'Transfer-Encoding and Content-Length',
    'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
  ],
  ['an unknown Transfer-Encoding', 'POST /v1/decide HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n'],
  [
    'two Transfer-Encoding',
    'POST /v1/decide HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['two Host', 'GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
  ['no Host', 'GET /healthz HTTP/1.1\r\nAccept: x\r\n\r\n'],
  ['two Content-Type', 'GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Type: a\r\nContent-Type: b\r\n\r\n'],
  [
    'two Authorization',
    'GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n',
  ],
  ['another Expect', 'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n'],
  ['HTTP/1.0', 'GET /healthz HTTP/1.0\r\nHost: x\r\n\r\n'],
  ['HTTP/2.0', 'GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n'],
  ['an absolute target', 'GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a space in a name', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n'],
  ['no colon', 'GET /healthz HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n'],
  [
    'a byte from 0x80 behind a Content-Length',
    'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 2\xff\r\n\r\n{}',
  ],
  [
    'a byte from 0x80 before a Content-Length',
    'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: \x802\r\n\r\n{}',
  ],
  ['a byte from 0x80 behind a value', 'GET /healthz HTTP/1.1\r\nHost: x\r\nAccept: a\xe9\r\n\r\n'],
  ['a byte from 0x80 before a value', 'GET /healthz HTTP/1.1\r\nHost: x\r\nAccept: \xe9a\r\n\r\n'],
  ['a byte from 0x80 within a value', 'GET /healthz HTTP/1.1\r\nHost: x\r\nAccept: a\xe9a\r\n\r\n'],
  ['a byte from 0x80 and a space behind a value', 'GET /healthz HTTP/1.1\r\nHost: x\r\nAccept: a\xe9 \r\n\r\n'],
  ['a value of bytes from 0x80 alone', 'GET /healthz HTTP/1.1\r\nHost: x\r\nAccept: \x80\xff\r\n\r\n'],
  ['a byte from 0x80 in the target', 'GET /healthz?\xe9 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a control byte behind a value', 'GET /healthz HTTP/1.1\r\nHost: x\r\nAccept: a\x01\r\n\r\n'],
  ['DEL behind a value', 'GET /healthz HTTP/1.1\r\nHost: x\r\nAccept: a\x7f\r\n\r\n'],
  ['a PROXY header with an address', `${PROXY_IPV4}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a PROXY header without an address', `${PROXY_LOCAL}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a PROXY header in text', 'PROXY TCP4 9.9.9.9 1.1.1.1 80 80\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'],
];

const NOT_FOUND = [
  '/healthz/',
  '//healthz',
  '/healthz%00',
  '/./healthz',
  '/x/../healthz',
  '/HEALTHZ',
  '/healthz;a',
  '/healthz%2e',
];

describe.each(TRANSPORTS)('the header gate over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  test.each(REFUSED)(
    'a request with %s is rejected, and no later request on its connection is answered',
    async (_name, bytes) => {
      const answer = await raw(server.url, Buffer.from(bytes + HEALTH, 'latin1'));
      // Rejected with one response, or closed without one, but never followed by the response to the next request.
      expect(answer.statuses.length).toBeLessThanOrEqual(1);
      for (const status of answer.statuses) expect([400, 404, 411, 501, 505]).toContain(status);
      expect(answer.text).not.toContain('{"status":"ok"}');
      expect(answer.closed).toBe(true);
    },
  );

  test.each(NOT_FOUND)('the path %s is different from the path /healthz', async (path) => {
    const answer = await raw(server.url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(answer.statuses[0]).not.toBe(200);
  });

  test('an empty header name hides no second request', async () => {
    const answer = await raw(
      server.url,
      'GET /healthz HTTP/1.1\r\nHost: x\r\n: GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n',
    );
    expect(answer.text).not.toContain('"layers"');
    expect(answer.statuses.length).toBeLessThanOrEqual(1);
  });

  // One parser waits for more where the other rejects at once. The idle time-out of 10 s then ends the connection.
  test.concurrent('a connection without a valid request line ends, and no later request on it is answered', async () => {
    const answer = await raw(server.url, `nonsense\r\n\r\n${HEALTH}`, 15_000);
    expect(answer.closed).toBe(true);
    expect(answer.statuses).not.toContain(200);
  });

  test('a PROXY header between two requests ends the connection', async () => {
    const answer = await raw(server.url, Buffer.from(HEALTH + PROXY_IPV4 + HEALTH, 'latin1'));
    expect(answer.statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(1);
    expect(answer.closed).toBe(true);
  });

  test('white space around a header value is not part of the value', async () => {
    const answer = await raw(server.url, 'POST /v1/decide HTTP/1.1\r\nHost: \t x \t\r\nContent-Length:  2  \r\n\r\n{}');
    expect(answer.statuses).toEqual([401]);
  });

  // A cell gets the responses of the main thread later; see `test/contract/cells.test.ts` for what it does then.
  const isAnsweredAtOnce = transport === 'node' || CELLS_OF_TESTS === 1;
  test.runIf(isAnsweredAtOnce)('valid pipelined requests are all answered', async () => {
    const answer = await raw(server.url, HEALTH.repeat(3));
    expect(answer.statuses).toEqual([200, 200, 200]);
  });

  test.runIf(isAnsweredAtOnce)('a client that pipelines some requests gets all responses', async () => {
    const answer = await raw(server.url, HEALTH.repeat(RESPONSES_PER_TURN_MAX - 1));
    expect(answer.statuses).toEqual(Array.from({ length: RESPONSES_PER_TURN_MAX - 1 }, () => 200));
    expect(answer.closed).toBe(false);
  });

  test('a client that pipelines as fast as it can is disconnected', async () => {
    const answer = await raw(server.url, 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5_000));
    expect(answer.statuses.length).toBeLessThanOrEqual(RESPONSES_PER_TURN_MAX);
    expect(answer.closed).toBe(true);
  });

  test('a request that arrives byte by byte is answered', async () => {
    const answer = await raw(
      server.url,
      [...Buffer.from(HEALTH)].map((byte) => Buffer.from([byte])),
    );
    expect(answer.statuses).toEqual([200]);
  });

  test('the server survives random bytes', async () => {
    for (let n = 0; n < 60; n++) {
      const bytes = Buffer.from(Array.from({ length: 200 }, (_x, i) => (n * 7919 + i * 104_729 + i * i * n) & 255));
      await raw(server.url, bytes, 20);
    }
    expect((await raw(server.url, HEALTH)).statuses).toEqual([200]);
  });

  test('the server survives clients that disconnect in the middle of a request', async () => {
    const cut = 'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"ip":';
    await Promise.all(Array.from({ length: 30 }, () => raw(server.url, cut, 10)));
    expect((await raw(server.url, HEALTH)).statuses).toEqual([200]);
  });
});
