import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createGuardedClient, type GuardedClient } from '../../../src/egress/guarded-client.ts';
import type { EgressError } from '../../../src/egress/faults.ts';
import type { EgressOutcome, EgressRequest } from '../../../src/egress/egress-outcome.ts';
import { type HostileConduct, type HostileServer, startHostile, TEST_AUTHORITY } from '../../support/hostile-server.ts';

const TIMEOUT_MS = 700;
/** Deadline of requests that should end earlier for another reason, even on a busy machine. */
const AMPLE_MS = 10_000;
/** Two ticks of the wheel, plus a margin for a machine that stops for seconds. */
const LATE_MS_MAX = 5_000;
const BODY_BYTES_MAX = 65_536;
/** Upper bound of what the socket buffers of both sides may hold beyond what was read. */
const BUFFERED_BYTES_MAX = 8 * 2 ** 20;

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function receiver(conduct: HostileConduct): Promise<HostileServer> {
  const server = await startHostile(conduct);
  open.push(server);
  return server;
}

function client(): GuardedClient {
  const made = createGuardedClient({ allow: ['127.0.0.0/8'], ca: TEST_AUTHORITY });
  open.push(made);
  return made;
}

function post(url: string, more: Partial<EgressRequest> = {}): EgressRequest {
  return {
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"score":97}',
    timeoutMs: AMPLE_MS,
    connectMs: 400,
    responseBytesMax: BODY_BYTES_MAX,
    ...more,
  };
}

function shortly(outcome: EgressOutcome): EgressError | number {
  return outcome.kind === 'failed' ? outcome.error : outcome.status;
}

const MATRIX: readonly (readonly [conduct: HostileConduct, expected: EgressError | number])[] = [
  ['answers', 200],
  ['no_content', 204],
  ['server_error', 500],
  ['gone', 410],
  ['refuses', 'connection_refused'],
  ['resets_at_accept', 'connection_reset'],
  ['resets_on_request', 'connection_reset'],
  ['closes_on_request', 'connection_reset'],
  ['resets_mid_body', 'connection_reset'],
  ['closes_mid_body', 'connection_reset'],
  ['never_answers', 'timeout'],
  ['drips_headers', 'timeout'],
  ['drips_body', 'response_too_large'],
  ['huge_body', 'response_too_large'],
  ['huge_chunked_body', 'response_too_large'],
  ['huge_announced_body', 'response_too_large'],
  ['huge_chunk_extensions', 'response_too_large'],
  ['tiny_chunks_with_extensions', 'response_too_large'],
  ['huge_trailers', 'response_too_large'],
  ['gzip_bomb', 200],
  ['huge_headers', 'response_too_large'],
  ['redirects_302', 302],
  ['redirects_307', 307],
  ['garbage', 'bad_response'],
  ['garbage_at_accept', 'bad_response'],
  ['continues', 200],
  ['continue_flood', 'response_too_large'],
  ['early_hints_flood', 'response_too_large'],
  ['bad_chunks', 'bad_response'],
  ['conflicting_lengths', 'bad_response'],
  ['two_answers', 200],
  ['upgrades', 'bad_response'],
  ['tls_answers', 200],
  ['tls_self_signed', 'tls_error'],
  ['tls_wrong_host', 'tls_error'],
  ['tls_plain', 'tls_error'],
  ['tls_silent', 'timeout'],
];

describe('hostile receivers', () => {
  test.each(MATRIX)(
    'a request to a receiver that %s ends as %s, within its limits of time and size',
    async (conduct, expected) => {
      const server = await receiver(conduct);
      const guarded = client();
      const timeoutMs = expected === 'timeout' ? TIMEOUT_MS : AMPLE_MS;
      const startedAtMs = performance.now();
      const outcome = await guarded.request(post(`${server.url}/hook?a=1`, { timeoutMs }));
      const tookMs = performance.now() - startedAtMs;
      expect([shortly(outcome), outcome.kind === 'failed' ? outcome.detail : '']).toEqual([
        expected,
        expect.any(String),
      ]);
      expect(tookMs).toBeLessThan(timeoutMs + LATE_MS_MAX);
      expect(outcome.durationMs).toBeLessThanOrEqual(tookMs);
      expect(server.bytesTaken()).toBeLessThan(BUFFERED_BYTES_MAX);
      expect(server.requests().length).toBeLessThanOrEqual(1);
      expect(guarded.stats().inFlight).toBe(0);
      if (outcome.kind === 'failed') await expect.poll(() => guarded.stats().sockets).toBe(0);
    },
  );

  test.each(['drips_body', 'never_answers', 'tls_silent', 'drips_headers'] as const)(
    'a request to a receiver that %s fails at its deadline and not earlier',
    async (conduct) => {
      const server = await receiver(conduct);
      const outcome = await client().request(post(server.url, { responseBytesMax: 10 ** 7, timeoutMs: TIMEOUT_MS }));
      expect(shortly(outcome)).toBe('timeout');
      expect(outcome.durationMs).toBeGreaterThanOrEqual(TIMEOUT_MS);
    },
  );

  test('a receiver whose request timed out loses its connection at once', async () => {
    const server = await receiver('drips_body');
    await client().request(post(server.url, { responseBytesMax: 10 ** 7, timeoutMs: 200 }));
    await expect.poll(() => server.open()).toBe(0);
  });

  test('a receiver that sends a gigabyte is read no further than the limit', async () => {
    const server = await receiver('huge_body');
    await client().request(post(server.url));
    await expect.poll(() => server.open()).toBe(0);
    expect(server.bytesTaken()).toBeLessThan(BUFFERED_BYTES_MAX);
  });

  test('a gzip body is returned as the bytes on the wire', async () => {
    const server = await receiver('gzip_bomb');
    const outcome = await client().request(post(server.url, { method: 'GET', body: null }));
    expect(outcome).toMatchObject({ kind: 'response', headers: { 'content-encoding': 'gzip' } });
    const body = outcome.kind === 'response' ? outcome.body : Buffer.alloc(0);
    expect([body.length < BODY_BYTES_MAX, body[0], body[1]]).toEqual([true, 0x1f, 0x8b]);
  });

  test('a redirect is not followed', async () => {
    const server = await receiver('redirects_307');
    const outcome = await client().request(post(server.url));
    expect(outcome).toMatchObject({ status: 307, headers: { location: `${server.url}/moved` } });
    expect(server.requests().map(({ head }) => head.split('\r\n')[0])).toEqual(['POST / HTTP/1.1']);
  });

  test('a second response to one request is discarded together with the connection', async () => {
    const server = await receiver('two_answers');
    const guarded = client();
    for (let i = 0; i < 3; i++)
      expect(await guarded.request(post(server.url))).toMatchObject({ status: 200, reused: false });
    expect(server.connections()).toBe(3);
  });
});

describe('responses without a body', () => {
  test.each(['204 No Content', '304 Not Modified'])(
    'the response %s has no body, whatever Content-Length it has, and its connection is closed',
    async (status) => {
      const server = createServer((socket) => {
        socket.on('data', () => socket.write(`HTTP/1.1 ${status}\r\ncontent-length: 12\r\n\r\n`)).on('error', () => {});
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      open.push(server);
      const guarded = client();
      for (let i = 0; i < 2; i++) {
        const outcome = await guarded.request(post(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
        expect(outcome).toMatchObject({ status: Number(status.slice(0, 3)), reused: false, body: Buffer.alloc(0) });
      }
      await expect.poll(() => guarded.stats().sockets).toBe(0);
    },
  );
});

describe('TLS', () => {
  test('certificates are verified, whatever the environment says', async () => {
    const server = await receiver('tls_self_signed');
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      expect(shortly(await client().request(post(server.url)))).toBe('tls_error');
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
    expect(server.requests()).toEqual([]);
  });

  const lookup = (): Promise<readonly string[]> => Promise.resolve(['127.0.0.1']);

  test('a certificate for the host name is accepted, and the name is sent to the server (SNI)', async () => {
    const server = await receiver('tls_answers');
    const guarded = createGuardedClient({ allow: ['127.0.0.0/8'], ca: TEST_AUTHORITY, lookup });
    open.push(guarded);
    const outcome = await guarded.request(post(`https://a.receiver.test:${server.port}/`));
    expect(outcome).toMatchObject({ kind: 'response', status: 200, remoteAddress: '127.0.0.1' });
    expect(server.requests()[0]?.head).toContain(`host: a.receiver.test:${server.port}`);
  });

  test('a certificate without the host name is refused', async () => {
    const server = await receiver('tls_answers');
    const guarded = createGuardedClient({ allow: ['127.0.0.0/8'], ca: TEST_AUTHORITY, lookup });
    open.push(guarded);
    expect(shortly(await guarded.request(post(`https://elsewhere.test:${server.port}/`)))).toBe('tls_error');
    expect(server.requests()).toEqual([]);
  });

  test('a test authority is not trusted unless it is configured', async () => {
    const server = await receiver('tls_answers');
    const guarded = createGuardedClient({ allow: ['127.0.0.0/8'] });
    open.push(guarded);
    expect(shortly(await guarded.request(post(server.url)))).toBe('tls_error');
  });

  test('TLS connections are kept and reused, as plain HTTP connections are', async () => {
    const server = await receiver('tls_answers');
    const guarded = client();
    await guarded.request(post(server.url));
    expect(await guarded.request(post(server.url))).toMatchObject({ status: 200, reused: true });
    expect(server.connections()).toBe(1);
  });
});
