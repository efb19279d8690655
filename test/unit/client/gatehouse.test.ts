import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Gatehouse, type GatehouseOptions } from '../../../src/client/gatehouse.ts';

const KEY = 'sk_live_3AHOVcjqx4BIPWdkry5CJQXelsz6DKRYOPpP55';
const REQUEST = { event_type: 'login', session_token: 's1', ip: '81.2.69.160' } as const;
const DECISION = {
  request_id: 'req_01M7XWJVNGTMWB6Q2TT84ZKPK0',
  decision: 'ALLOW_WATCH',
  score: 31.5,
  reasons: ['ip_hosting'],
  review_hint: '',
  session_mode: 'unverified',
  shadow_routed: false,
  latency_ms: 1,
};

type Answerer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

interface FakeServer {
  readonly url: string;
  /** Headers and bodies of all requests. */
  readonly seen: { readonly path: string; readonly headers: IncomingMessage['headers']; readonly body: string }[];
}

/** Answers the first request by the first function, and so on; the last one answers all others. */
async function fakeServer(...answers: readonly Answerer[]): Promise<FakeServer> {
  const seen: FakeServer['seen'] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      seen.push({ path: request.url ?? '', headers: request.headers, body });
      answers[Math.min(seen.length, answers.length) - 1]?.(request, response, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { readonly port: number };
  return { url: `http://127.0.0.1:${port}`, seen };
}

const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answerer =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const problem = (status: number, code: string, more: object = {}, headers = {}): Answerer =>
  json(
    status,
    { type: `urn:gatehouse:error:${code}`, title: '', status, code, detail: 'Why', request_id: 'req_1', ...more },
    headers,
  );
const allow = json(200, DECISION);
const never: Answerer = () => {};
const hangUp: Answerer = (request) => request.socket.destroy();

const clientOf = (url: string, options: Partial<GatehouseOptions> = {}): Gatehouse =>
  new Gatehouse({ url, key: KEY, timeoutMs: 5_000, ...options });

/** Waits of a busy machine. */
const SLACK_MS = 2_000;
async function timed<T>(call: () => Promise<T>): Promise<readonly [T, number]> {
  const began = performance.now();
  const value = await call();
  return [value, performance.now() - began];
}

describe('decide', () => {
  test('A decision is returned with failedOpen false', async () => {
    const { url, seen } = await fakeServer(allow);
    expect(await clientOf(url).decide(REQUEST)).toEqual({ ...DECISION, failedOpen: false });
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual(REQUEST);
    expect(seen[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each<[string, Answerer, string]>([
    ['no answer', never, 'timeout'],
    [
      'a body that does not end',
      (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
      'timeout',
    ],
    ['a closed connection', hangUp, 'unreachable'],
    ['overload', problem(429, 'overloaded', {}, { 'retry-after': '1' }), 'overloaded'],
    ['a limit', problem(429, 'rate_limited', {}, { 'retry-after': '1' }), 'rate_limited'],
    ['a fault of the server', problem(500, 'internal_error'), 'server_error'],
    ['a page of a proxy', (_request, response) => response.writeHead(503).end('<html>'), 'server_error'],
    ['a 200 that is not a decision', json(200, 'Welcome to the hotel'), 'server_error'],
  ])('With %s the request is allowed, with the failure, within the time', async (_name, answer, failure) => {
    const { url } = await fakeServer(answer);
    const [result, tookMs] = await timed(() => clientOf(url, { timeoutMs: 600 }).decide(REQUEST));
    expect(result).toMatchObject({ failedOpen: true, failure, decision: 'ALLOW', request_id: null, score: null });
    expect(tookMs).toBeLessThan(600 + SLACK_MS);
  });

  test('Nothing listens: the request is allowed as unreachable', async () => {
    expect(await clientOf('http://127.0.0.1:1').decide(REQUEST)).toMatchObject({
      failedOpen: true,
      failure: 'unreachable',
    });
  });

  test('The time is one for both attempts and the reading of the body', async () => {
    const slowly =
      (ms: number): Answerer =>
      (request) =>
        setTimeout(() => request.socket.destroy(), ms);
    const { url, seen } = await fakeServer(slowly(1_500), never);
    const [result, tookMs] = await timed(() => clientOf(url, { timeoutMs: 2_000 }).decide(REQUEST));
    expect(result).toMatchObject({ failure: 'timeout' });
    expect(seen).toHaveLength(2);
    expect(tookMs).toBeGreaterThan(1_990);
    expect(tookMs).toBeLessThan(3_400);
  });

  test.each([
    ['challenge', 'SOFT_CHALLENGE'],
    [({ failure }: { readonly failure: string }) => (failure === 'unreachable' ? 'REVIEW' : 'ALLOW'), 'REVIEW'],
  ] as const)('onUnavailable %s decides %s', async (onUnavailable, decision) => {
    const failures: unknown[] = [];
    const client = clientOf('http://127.0.0.1:1', { onUnavailable, onFailure: (event) => failures.push(event) });
    expect(await client.decide(REQUEST)).toMatchObject({ failedOpen: true, decision });
    expect(failures).toMatchObject([{ call: 'decide', failure: 'unreachable' }]);
  });

  test('onUnavailable throw rejects with the failure', async () => {
    const client = clientOf('http://127.0.0.1:1', { onUnavailable: 'throw' });
    await expect(client.decide(REQUEST)).rejects.toMatchObject({
      name: 'GatehouseUnavailable',
      failure: 'unreachable',
    });
  });

  test.each([
    [400, 'invalid_request'],
    [401, 'unknown_key'],
    [401, 'invalid_signature'],
    [403, 'key_not_allowed'],
    [404, 'not_found'],
  ])('%i %s is the caller’s fault and rejects, whatever onUnavailable is', async (status, code) => {
    const { url, seen } = await fakeServer(
      problem(status, code, { errors: [{ pointer: '/ip', code: 'too_long', message: 'long' }] }),
    );
    const rejected = clientOf(url).decide(REQUEST);
    await expect(rejected).rejects.toMatchObject({ name: 'GatehouseError', status, code, requestId: 'req_1' });
    await expect(rejected).rejects.toThrow(/Why.*\/ip: long/);
    expect(seen).toHaveLength(1);
  });

  test('A redirect is not followed: signatures are for one server', async () => {
    const { url, seen } = await fakeServer((_request, response) =>
      response.writeHead(307, { location: '/elsewhere' }).end(),
    );
    await expect(clientOf(url).decide(REQUEST)).rejects.toMatchObject({ status: 307 });
    expect(seen).toHaveLength(1);
  });
});

describe('the re-send', () => {
  test.each<[string, Answerer]>([
    ['a closed connection', hangUp],
    ['a proxy without its server', (_request, response) => response.writeHead(502).end()],
    ['overload that ends in time', problem(429, 'overloaded', {}, { 'retry-after': '1' })],
    ['a request id that was used', problem(401, 'replayed_request')],
  ])('After %s the request is sent once more, with the same key and another request id', async (_name, answer) => {
    const { url, seen } = await fakeServer(answer, allow);
    expect(await clientOf(url).decide(REQUEST)).toMatchObject({ failedOpen: false });
    const [first, second] = seen;
    expect(seen).toHaveLength(2);
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
    expect(second?.headers['x-svc-rid']).not.toBe(first?.headers['x-svc-rid']);
  });

  test('There is no third attempt', async () => {
    const { url, seen } = await fakeServer(hangUp);
    expect(await clientOf(url).decide(REQUEST)).toMatchObject({ failure: 'unreachable' });
    expect(seen).toHaveLength(2);
  });

  test('A wait that is longer than the time left is not begun', async () => {
    const { url, seen } = await fakeServer(problem(429, 'rate_limited', {}, { 'retry-after': '6' }), allow);
    const [result, tookMs] = await timed(() => clientOf(url).decide(REQUEST));
    expect(result).toMatchObject({ failure: 'rate_limited' });
    expect(seen).toHaveLength(1);
    expect(tookMs).toBeLessThan(SLACK_MS);
  });

  test('A wrong clock is corrected by server_time, for this request and the next ones', async () => {
    const aheadSeconds = 4_000;
    const serverTime = Math.floor(Date.now() / 1_000) + aheadSeconds;
    const { url, seen } = await fakeServer(problem(401, 'timestamp_out_of_window', { server_time: serverTime }), allow);
    const client = clientOf(url);
    expect(await client.decide(REQUEST)).toMatchObject({ failedOpen: false });
    await client.decide(REQUEST);
    const ahead = seen.map(({ headers }) => Number(headers['x-svc-ts']) - Math.floor(Date.now() / 1_000));
    expect(ahead.map((seconds) => Math.abs(Math.round(seconds / 100) * 100))).toEqual([0, aheadSeconds, aheadSeconds]);
  });

  test('A clock that stays wrong rejects', async () => {
    const { url, seen } = await fakeServer(problem(401, 'timestamp_out_of_window', { server_time: 1 }));
    await expect(clientOf(url).decide(REQUEST)).rejects.toMatchObject({ code: 'timestamp_out_of_window' });
    expect(seen).toHaveLength(2);
  });
});

test('After 20 failures one request in 20 is asked, and the others get the failure at once', async () => {
  const { url, seen } = await fakeServer(hangUp);
  const client = clientOf(url);
  for (let i = 0; i < 20; i++) await client.decide(REQUEST);
  expect(seen).toHaveLength(40);
  for (let i = 0; i < 19; i++) {
    const result = await client.decide(REQUEST);
    expect(result).toMatchObject({ failedOpen: true, failure: 'unreachable', decision: 'ALLOW' });
  }
  expect(seen).toHaveLength(40);
});

describe('outcomes', () => {
  const accepted: Answerer = (_request, response, body) => {
    const { outcomes } = JSON.parse(body) as { readonly outcomes: readonly { readonly request_id: string }[] };
    const rejected = outcomes.flatMap(({ request_id: id }, index) =>
      id === 'req_old' ? [{ index, code: 'unknown_request' }] : [],
    );
    json(202, { accepted: outcomes.length - rejected.length, rejected })(_request, response, body);
  };

  test('Outcomes go out in order, and each resolves with whether it was accepted', async () => {
    const { url, seen } = await fakeServer(accepted);
    const losses: unknown[] = [];
    const client = clientOf(url, { onFailure: (event) => losses.push(event) });
    const reported = ['req_1', 'req_old', 'req_1'].map((id, at) =>
      client.outcome(id, at === 2 ? 'succeeded' : 'failed'),
    );
    await client.flush();
    expect(await Promise.all(reported)).toEqual([true, false, true]);
    const sent = seen.flatMap(({ body }) => (JSON.parse(body) as { readonly outcomes: readonly object[] }).outcomes);
    expect(sent).toEqual([
      { request_id: 'req_1', outcome: 'failed' },
      { request_id: 'req_old', outcome: 'failed' },
      { request_id: 'req_1', outcome: 'succeeded' },
    ]);
    expect(losses).toMatchObject([{ call: 'outcome', detail: 'req_old: unknown_request' }]);
  });

  test('An outcome is sent again while the service is away', async () => {
    const { url, seen } = await fakeServer(hangUp, accepted);
    expect(await clientOf(url).outcome('req_1', 'succeeded')).toBe(true);
    expect(seen).toHaveLength(2);
  });

  test('A refused call gives its outcomes up at once', async () => {
    const { url, seen } = await fakeServer(problem(403, 'key_not_allowed'));
    expect(await clientOf(url).outcome('req_1', 'succeeded')).toBe(false);
    expect(seen).toHaveLength(1);
  });

  test('A decision without the service has no outcome', async () => {
    const { url, seen } = await fakeServer(accepted);
    expect(await clientOf(url).outcome({ request_id: null }, 'succeeded')).toBe(false);
    expect(seen).toEqual([]);
  });
});

test.each([
  [{ url: 'localhost:8080' }, /url/],
  [{ url: 'http://127.0.0.1:8080/?x=1' }, /url/],
  [{ key: '' }, /key/],
  [{ timeoutMs: 0 }, /timeoutMs/],
  [{ onUnavailable: 'block' as 'allow' }, /onUnavailable/],
])('The setting %j is refused by name', (options, message) => {
  expect(() => clientOf('http://127.0.0.1:1', options)).toThrow(message);
});
