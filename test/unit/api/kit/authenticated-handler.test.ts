import { describe, expect, test, vi } from 'vitest';
import { ColdHeaders } from '../../../../src/kernel/cold-headers.ts';
import type { Exchange, Handler, RequestHead } from '../../../../src/http/exchange.ts';
import { signRequest } from '../../../../src/client/sign.ts';
import type { Journal } from '../../../../src/decide/journal.ts';
import { KeyCache } from '../../../../src/auth/key-cache.ts';
import { FailedAuthentications } from '../../../../src/decide/failed-authentications.ts';
import { LocalAdmission } from '../../../../src/local/local-admission.ts';
import { ReplayGuard } from '../../../../src/local/replay-guard.ts';
import type { Admission, AdmittedId } from '../../../../src/ports/admission.ts';
import {
  DECIDE_BODY_BYTES_MAX,
  MANAGED_BODY_INLINE_BYTES_MAX,
  MANAGEMENT_IN_WORK_PER_CUSTOMER_MAX,
  MANAGEMENT_WAITING_PER_CUSTOMER_MAX,
  RATE_FAILED_AUTHENTICATIONS,
  RATE_MANAGEMENT,
} from '../../../../src/kernel/limits.ts';
import type { BodyReader, RemoteBodies } from '../../../../src/api/kit/request-body.ts';
import type { WorkBounds } from '../../../../src/api/kit/work-queue.ts';
import { createEndpointFactory } from '../../../../src/api/kit/endpoint-factory.ts';
import type {
  EndpointResponse,
  EndpointHandler,
  OptionsWithBody,
  EndpointRequest,
} from '../../../../src/api/kit/endpoint-types.ts';
import { createLog } from '../../../../src/observe/log.ts';
import { Turns } from '../../../../src/state/tables/turns.ts';
import { LaterAdmission } from '../../../support/later-admission.ts';
import { sendWhole } from '../../../support/slices.ts';
import { fakeClock, HEAD, NOW_SECONDS, PUBLIC_KEY, SECRET_KEY, storedKey } from '../../decide/support.ts';

const AS_IT_IS: BodyReader<unknown> = { name: 'as_it_is', shape: 'object', read: (body) => body };
const OK: EndpointResponse = { kind: 'json', status: 200, body: { fine: true } };
const BEARER = {
  svcKey: '',
  svcTimestamp: '',
  svcRequestId: '',
  svcSignature: '',
  authorization: `Bearer ${SECRET_KEY}`,
};

interface Sent {
  readonly status: number;
  readonly fields: string;
  readonly json: Record<string, unknown>;
}

/** Creates management endpoints on a clock of their own. `ask` returns the response to one call. */
function setUp(
  log = createLog('silent'),
  work: Partial<WorkBounds> = {},
  bodies?: RemoteBodies,
  wrap: (local: LocalAdmission) => Admission = (local) => local,
  turns?: Turns,
) {
  const clock = fakeClock();
  const keyCache = new KeyCache();
  keyCache.load([storedKey(SECRET_KEY), storedKey(PUBLIC_KEY)]);
  const journalled: AdmittedId[] = [];
  const disk = { isFull: false };
  const staged: AdmittedId[] = [];
  const journal: Journal = {
    stage: (entry) => void staged.push({ ...entry }),
    commit() {
      const written = staged.splice(0);
      if (disk.isFull) return false;
      journalled.push(...written);
      return true;
    },
    prune: () => {},
    tend: () => Promise.resolve(),
    broken: null,
    close: () => {},
  };
  const replay = new ReplayGuard(1_000, Buffer.alloc(16));
  const refused: string[] = [];
  let stuck = 0;
  let reads = 0;
  const endpoint = createEndpointFactory({
    clock,
    keyCache,
    failures: new FailedAuthentications(),
    admission: wrap(new LocalAdmission(replay, journal)),
    journal,
    log,
    resetRead: () => void reads++,
    onRefused: (code) => void refused.push(code),
    onStoreStuck: () => void stuck++,
    work,
    ...(bodies && { bodies }),
    ...(turns && { turns }),
  });

  async function ask(
    head: Partial<RequestHead>,
    options: {
      readonly body?: string;
      readonly handler?: EndpointHandler<unknown>;
      readonly endpoint?: OptionsWithBody<unknown>;
    } = {},
  ): Promise<Sent> {
    const body = options.body ?? '';
    const given = options.handler ?? (() => OK);
    const handler = options.endpoint === undefined ? endpoint({}, given) : endpoint(options.endpoint, given);
    const sent = sendTo(
      handler,
      { ...HEAD, method: 'GET', path: '/v1/things', contentLength: body.length, ...head },
      body,
    );
    await endpoint.drain();
    return sent();
  }

  return { ask, clock, disk, endpoint, journalled, replay, refused, stuck: () => stuck, reads: () => reads };
}

function sendTo(handler: Handler, head: RequestHead, body: string): () => Sent {
  let sent: Sent | null = null;
  const exchange: Exchange = {
    aborted: false,
    remoteAddress: () => '192.0.2.1',
    peerAddress: () => '192.0.2.1',
    pauseUntil: () => {},
    readBody: (_max, done) => done(Buffer.from(body)),
    send(status, fields, text) {
      expect(sent).toBeNull();
      sent = { status, fields, json: text.length === 0 ? {} : (JSON.parse(String(text)) as Record<string, unknown>) };
    },
    addFields: () => {},
    sendStream: sendWhole((...sent) => exchange.send(...sent)),
  };
  handler(head, exchange);
  return () => {
    if (sent === null) throw new Error('there was no answer');
    return sent;
  };
}

/** Records each response as sent. */
function exchangeOf() {
  const sent: (readonly [status: number, fields: string, body: string])[] = [];
  return {
    aborted: false,
    sent,
    remoteAddress: () => '192.0.2.1',
    peerAddress: () => '192.0.2.1',
    pauseUntil: () => {},
    readBody: (_max: number, done: (body: Uint8Array | null) => void) => done(Buffer.alloc(0)),
    send: (status: number, fields: string, body: string | Uint8Array) => void sent.push([status, fields, String(body)]),
    addFields: () => {},
    sendStream: sendWhole((...answer) => void sent.push(answer)),
  };
}

let ids = 0;

function signed(
  changes: Partial<{ key: string; method: string; path: string; body: string; requestId: string }> = {},
): Partial<RequestHead> {
  const { key = SECRET_KEY, method = 'GET', path = '/v1/things', body = '', requestId = `id-${ids++}` } = changes;
  const headers = signRequest({ key, method, path, body, timestampSeconds: NOW_SECONDS, requestId });
  return {
    method,
    path: path.replace(/\?.*/, ''),
    query: path.includes('?') ? path.slice(path.indexOf('?') + 1) : '',
    target: path,
    svcKey: headers['X-SVC-Key'] ?? '',
    svcTimestamp: headers['X-SVC-Ts'] ?? '',
    svcRequestId: headers['X-SVC-Rid'] ?? '',
    svcSignature: headers['X-SVC-Sig'] ?? '',
  };
}

describe('authentication', () => {
  test('A request id is shared with decide, and is in the journal before the handler runs', async () => {
    const { ask, journalled, replay } = setUp();
    let before = 0;
    const handler: EndpointHandler<unknown> = () => {
      before = journalled.length;
      return OK;
    };
    await ask(signed({ requestId: 'shared' }), { handler });
    expect(before).toBe(1);
    expect(replay.admit(1, 'shared', NOW_SECONDS, NOW_SECONDS)).toBe('replayed');
    await ask(BEARER);
    expect(journalled).toHaveLength(1);
  });

  test('A request id that cannot be journalled gives 429, its handler does not run, and it may be sent again', async () => {
    const { ask, disk } = setUp();
    let runs = 0;
    const handler: EndpointHandler<unknown> = () => {
      runs++;
      return OK;
    };
    const call = signed();
    disk.isFull = true;
    expect((await ask(call, { handler })).json).toMatchObject({ status: 429, code: 'overloaded' });
    expect(runs).toBe(0);
    disk.isFull = false;
    expect((await ask(call, { handler })).status).toBe(200);
    expect((await ask(call, { handler })).json['code']).toBe('replayed_request');
    expect(runs).toBe(1);
  });
});

describe('refusals before the body is read', () => {
  /** Returns what happens to a call with a large body that never arrives. */
  function begin(handler: Handler, head: Partial<RequestHead>, from = '192.0.2.1', onGone = (_call: () => void) => {}) {
    const seen: unknown[] = [];
    const exchange: Exchange = {
      aborted: false,
      remoteAddress: () => from,
      peerAddress: () => from,
      pauseUntil: () => seen.push('paused'),
      readBody(_max, _done, _pace, gone = () => {}) {
        seen.push('read');
        onGone(gone);
      },
      send: (status, _fields, body, close) =>
        seen.push(status, (JSON.parse(String(body)) as { code: string }).code, close),
      addFields: () => {},
      sendStream: () => Promise.resolve(),
    };
    handler({ ...HEAD, contentLength: 1_000_000, ...head }, exchange);
    return seen;
  }

  test.each([
    ['an unknown key', { svcKey: 'sk_live_unknown' }, 'unknown_key'],
    ['a time outside of the window', { svcTimestamp: String(NOW_SECONDS - 301) }, 'timestamp_out_of_window'],
  ])('A signed call with %s is refused before its body is read, and its connection is closed', (_name, head, code) => {
    const handler = setUp().endpoint({ body: AS_IT_IS }, () => OK);
    expect(begin(handler, head)).toEqual([401, code, true]);
    expect(begin(handler, {})).toEqual(['read']);
  });

  test('A call signed with a public key is refused before its body is read, and its connection is closed', () => {
    const handler = setUp().endpoint({ body: AS_IT_IS }, () => OK);
    expect(begin(handler, { svcKey: PUBLIC_KEY })).toEqual([403, 'key_not_allowed', true]);
  });

  test('A Bearer caller over its rate is refused before its body is read', () => {
    const handler = setUp().endpoint({ body: AS_IT_IS }, () => OK);
    const call = { ...BEARER, contentLength: DECIDE_BODY_BYTES_MAX };
    for (let n = 0; n < RATE_MANAGEMENT; n++) expect(begin(handler, call)).toEqual(['read']);
    expect(begin(handler, call)).toEqual([429, 'rate_limited', true]);
  });

  test('A Bearer caller with too many waiting calls is refused before its body is read, and so is a public key', () => {
    const { endpoint } = setUp(undefined, { inWorkMax: 0, waitingMax: 0 });
    const handler = endpoint({ body: AS_IT_IS }, () => OK);
    expect(begin(handler, BEARER)).toEqual([429, 'overloaded', true]);
    const authorization = `Bearer ${PUBLIC_KEY}`;
    expect(begin(handler, { ...BEARER, authorization })).toEqual([403, 'key_not_allowed', true]);
  });

  test('A large signed body is refused before it is read when the queue of its key is full, and a small one is read', () => {
    const { endpoint } = setUp(undefined, { inWorkMax: 0, waitingMax: 0 });
    const handler = endpoint({ body: AS_IT_IS }, () => OK);
    const large = { ...signed({ method: 'POST' }), contentLength: DECIDE_BODY_BYTES_MAX + 1 };
    expect(begin(handler, large)).toEqual([429, 'overloaded', true]);
    expect(begin(handler, { ...large, contentLength: DECIDE_BODY_BYTES_MAX })).toEqual(['read']);
    const free = setUp().endpoint({ body: AS_IT_IS }, () => OK);
    expect(begin(free, large)).toEqual(['read']);
  });

  test('A large signed body is refused unread when those still arriving will fill the queue', () => {
    const large = { ...signed({ method: 'POST' }), contentLength: 1_000_000 };
    const { endpoint } = setUp(undefined, { inWorkPerCustomerMax: 1, waitingPerCustomerMax: 1 });
    const handler = endpoint({ body: AS_IT_IS }, () => OK);
    const gone: (() => void)[] = [];
    for (let n = 0; n < 2; n++) expect(begin(handler, large, undefined, (call) => gone.push(call))).toEqual(['read']);
    expect(begin(handler, large)).toEqual([429, 'overloaded', true]);
    // Small ones need no reservation.
    expect(begin(handler, { ...large, contentLength: 100 })).toEqual(['read']);
    for (let n = 0; n < 2; n++) gone[0]?.();
    expect(begin(handler, large)).toEqual(['read']);
    expect(begin(handler, large)).toEqual([429, 'overloaded', true]);
  });

  test('Large bodies signed by somebody who names the key of another customer take no room from that customer', () => {
    const { endpoint } = setUp(undefined, { inWorkPerCustomerMax: 1, waitingPerCustomerMax: 0 });
    const handler = endpoint({ body: AS_IT_IS }, () => OK);
    const large = { ...signed({ method: 'POST' }), contentLength: 1_000_000 };
    expect(begin(handler, large)).toEqual(['read']);
    expect(begin(handler, large)).toEqual([429, 'overloaded', true]);
    expect(begin(handler, large, '192.0.2.2')).toEqual(['read']);
    expect(begin(handler, { ...BEARER, contentLength: 1_000_000 })).toEqual(['read']);
  });

  test('While decisions arrive, the sender of a large body that is refused unread waits for the refusal', async () => {
    const turns = new Turns();
    const bounds = { inWorkMax: 0, waitingMax: 0 };
    const { endpoint } = setUp(undefined, bounds, undefined, undefined, turns);
    const handler = endpoint({ body: AS_IT_IS }, () => OK);
    const large = { ...signed({ method: 'POST' }), contentLength: 1_000_000 };
    turns.giveWayTo(() => 'active');
    const seen = begin(handler, large);
    const unknown = begin(handler, { ...large, svcKey: 'sk_live_unknown' });
    expect(seen).toEqual(['paused']);
    await endpoint.drain();
    expect(seen).toEqual(['paused', 429, 'overloaded', true]);
    expect(unknown).toEqual(['paused', 401, 'unknown_key', true]);
    turns.giveWayTo(() => 'idle');
    expect(begin(handler, large)).toEqual([429, 'overloaded', true]);
  });
});

describe('a large signed body', () => {
  const BODY = JSON.stringify({ note: 'n'.repeat(1_000_000) });
  const SOURCE = '192.0.2.1';

  class CountedTurns extends Turns {
    ofSource = 0;

    override next(...[lane, isFirst]: Parameters<Turns['next']>): Promise<void> {
      if (lane === SOURCE) this.ofSource++;
      return super.next(lane, isFirst);
    }
  }

  test('is hashed in turns of its source, and verified then', async () => {
    const turns = new CountedTurns();
    const { ask, journalled } = setUp(undefined, {}, undefined, undefined, turns);
    const endpoint = { body: AS_IT_IS };
    const head = signed({ method: 'POST', body: BODY });
    expect((await ask(head, { body: BODY, endpoint })).status).toBe(200);
    expect(turns.ofSource).toBe(Math.ceil(BODY.length / 65_536));
    const other = BODY.replace(/n"}$/, 'm"}');
    const forged = signed({ method: 'POST', body: BODY });
    expect((await ask(forged, { body: other, endpoint })).json).toMatchObject({ code: 'invalid_signature' });
    expect(journalled).toHaveLength(1);
  });

  test('of a client that leaves meanwhile is not admitted, and takes no room any more', async () => {
    const { endpoint, journalled } = setUp(undefined, { inWorkPerCustomerMax: 1, waitingPerCustomerMax: 0 });
    const handle = vi.fn<EndpointHandler<unknown>>(() => OK);
    const handler = endpoint({ body: AS_IT_IS }, handle);
    const sent: number[] = [];
    const call = (isLeaving: boolean): Promise<void> => {
      const exchange = {
        ...exchangeOf(),
        aborted: false,
        readBody: (_max: number, done: (body: Uint8Array | null) => void) => done(Buffer.from(BODY)),
        send: (status: number) => void sent.push(status),
      };
      handler({ ...HEAD, ...signed({ method: 'POST', body: BODY }), contentLength: BODY.length }, exchange);
      exchange.aborted = isLeaving;
      return endpoint.drain();
    };
    await call(true);
    expect([sent, handle.mock.calls.length, journalled.length]).toEqual([[], 0, 0]);
    await call(false);
    expect(sent).toEqual([200]);
  });
});

describe('rates', () => {
  test('An address may fail a limited number of authentications a window, and a valid call still passes', async () => {
    const { ask } = setUp();
    const wrong = { ...BEARER, authorization: 'Bearer sk_live_unknown' };
    for (let n = 0; n < RATE_FAILED_AUTHENTICATIONS; n++) await ask(wrong);
    expect((await ask(wrong)).json).toMatchObject({ status: 429, code: 'rate_limited' });
    expect((await ask(BEARER)).status).toBe(200);
  });
});

describe('the body', () => {
  const post = (contentType: string, body: string): Partial<RequestHead> => ({
    ...signed({ method: 'POST', body }),
    contentType,
  });

  test('An array is accepted if the route accepts one', async () => {
    const { ask } = setUp();
    const either = { endpoint: { body: { ...AS_IT_IS, shape: 'object_or_array' } } } as const;
    for (const body of ['[1]', '{"a":1}']) {
      expect((await ask(post('application/json', body), { ...either, body })).status).toBe(200);
    }
    for (const body of ['1', '{"a":1,"a":2}']) {
      expect((await ask(post('application/json', body), { ...either, body })).json['code']).toBe('invalid_request');
    }
  });

  test('One byte of body gives 413 if the route accepts no body', async () => {
    const { ask } = setUp();
    expect((await ask(signed({ body: '{' }), { body: '{' })).json).toMatchObject({
      status: 413,
      code: 'body_too_large',
    });
  });
});

describe('the handler', () => {
  test('The handler receives the caller, the time and the path parameters', async () => {
    const { ask, reads } = setUp();
    const seen: EndpointRequest<unknown>[] = [];
    const handler: EndpointHandler<unknown> = (request) => {
      seen.push(request);
      return OK;
    };
    await ask({ ...BEARER, params: { id: 'x' }, query: 'a=b' }, { handler });
    expect(seen[0]).toMatchObject({
      params: { id: 'x' },
      body: null,
      nowSeconds: NOW_SECONDS,
      nowMs: NOW_SECONDS * 1000,
    });
    expect(seen[0]?.caller).toMatchObject({ customer: 7, key: { kind: 'secret', number: 1 } });
    expect(seen[0]?.query.get('a')).toBe('b');
    expect(seen[0]?.requestId).toMatch(/^req_/);
    expect(reads()).toBe(1);
  });

  test('The handler responds with JSON and its own fields, with an empty 204, or with a problem, all no-store', async () => {
    const { ask } = setUp();
    const made = await ask(BEARER, {
      handler: () => ({ kind: 'json', status: 201, body: [1], headers: { Location: '/v1/things/1' } }),
    });
    expect(made.status).toBe(201);
    expect(made.fields).toMatch(/^application\/json\r\nCache-Control: no-store\r\n/);
    expect(made.fields).toContain('\r\nLocation: /v1/things/1');
    const gone = await ask(BEARER, { handler: async () => Promise.resolve({ kind: 'empty', status: 204 }) });
    expect([gone.status, gone.json]).toEqual([204, {}]);
    expect(gone.fields).toContain('\r\nRateLimit: ');
  });

  test('The handler responds with a text of another type, unchanged, with its own fields and no-store', async () => {
    const { endpoint } = setUp();
    const body = '\uFEFFid,title\r\n1,"a ""tea"", é"\r\n';
    const handler = endpoint({}, () => ({
      kind: 'text',
      status: 200,
      contentType: 'text/csv; charset=utf-8',
      body,
      headers: { 'X-Next-Cursor': 'abc' },
    }));
    const exchange = exchangeOf();
    handler({ ...HEAD, ...BEARER, method: 'GET', contentLength: -1 }, exchange);
    await endpoint.drain();
    const [[status, fields, sent] = []] = exchange.sent;
    expect([status, sent]).toEqual([200, body]);
    expect(fields).toMatch(/^text\/csv; charset=utf-8\r\nCache-Control: no-store\r\n/);
    expect(fields).toContain('\r\nRateLimit: ');
    expect(fields).toMatch(/\r\nX-Next-Cursor: abc$/);
  });

  test('The handler receives the Idempotency-Key, whether the client has disconnected, and when the service stops', async () => {
    const { ask, endpoint } = setUp();
    const seen: EndpointRequest<unknown>[] = [];
    const handler: EndpointHandler<unknown> = (request) => {
      seen.push(request);
      return OK;
    };
    const exchange = exchangeOf();
    const cold = new ColdHeaders();
    cold.add('idempotency-key', 'once');
    const head = { ...HEAD, ...BEARER, method: 'GET', contentLength: -1, cold };
    endpoint({}, handler)(head, exchange);
    await vi.waitFor(() => expect(seen).toHaveLength(1));
    const [request] = seen;
    expect(request?.idempotencyKey).toBe('once');
    expect([request?.waiting.isClientGone(), request?.waiting.stopping.aborted]).toEqual([false, false]);
    exchange.aborted = true;
    expect(request?.waiting.isClientGone()).toBe(true);
    await endpoint.drain();
    expect(request?.waiting.stopping.aborted).toBe(true);
    await ask(BEARER, { handler });
    expect([seen[1]?.idempotencyKey, seen[1]?.waiting.stopping.aborted]).toEqual(['', true]);
  });

  test.each([
    ['that throws', (): never => bang()],
    ['that rejects', async (): Promise<never> => Promise.reject(new Error('secret text'))],
    ['whose response cannot be JSON', (): EndpointResponse => ({ kind: 'json', status: 200, body: 1n })],
  ] as const)('A handler %s gives 500 without internal text', async (_name, handler) => {
    const { ask, refused, stuck } = setUp();
    const answer = await ask(BEARER, { handler });
    expect(answer.json).toMatchObject({ status: 500, code: 'internal_error' });
    expect(JSON.stringify(answer)).not.toContain('secret text');
    expect(refused).toEqual(['internal_error']);
    expect(stuck()).toBe(0);
  });

  test('A write without room on the disk gives 507 without the store’s own text', async () => {
    const { ask, refused, stuck } = setUp();
    const handler = (): EndpointResponse => ({ kind: 'fault', code: 'store_full', detail: 'secret text' });
    const full = await ask(BEARER, { handler });
    expect(full.json).toMatchObject({ status: 507, code: 'insufficient_storage' });
    expect(JSON.stringify(full)).not.toContain('secret text');
    expect([refused, stuck()]).toEqual([['insufficient_storage'], 0]);
  });

  test('A failed store write gives 500 without its detail, and a stuck store ends the process', async () => {
    const { ask, stuck } = setUp();
    const fault = (code: 'store_write_failed' | 'store_stuck') => (): EndpointResponse => ({
      kind: 'fault',
      code,
      detail: 'secret text',
    });
    const failed = await ask(BEARER, { handler: fault('store_write_failed') });
    expect(failed.json).toMatchObject({ status: 500, code: 'internal_error' });
    expect(JSON.stringify(failed)).not.toContain('secret text');
    expect(stuck()).toBe(0);
    expect((await ask(BEARER, { handler: fault('store_stuck') })).status).toBe(500);
    expect(stuck()).toBe(1);
  });

  test('A drain waits for the handler', async () => {
    const { endpoint } = setUp();
    let finish = (_answer: EndpointResponse): void => {};
    let began = false;
    const handler = endpoint({}, () => {
      began = true;
      return new Promise<EndpointResponse>((done) => (finish = done));
    });
    const sent = sendTo(handler, { ...HEAD, ...BEARER, method: 'GET', contentLength: -1 }, '');
    let drained = false;
    const drain = endpoint.drain().then(() => (drained = true));
    await vi.waitFor(() => expect(began).toBe(true));
    expect(drained).toBe(false);
    finish(OK);
    await drain;
    expect(sent().status).toBe(200);
  });
});

function bang(): never {
  throw new Error('secret text');
}

describe('calls of one customer over its limits', () => {
  const few = { inWorkPerCustomerMax: 1, waitingPerCustomerMax: 1 };

  test('Calls over a customer’s limit get 429 overloaded with Retry-After, and their request ids may be used again', async () => {
    const { endpoint, journalled } = setUp(createLog('silent'), few);
    const ends: (() => void)[] = [];
    const handler = endpoint({}, () => new Promise<EndpointResponse>((done) => ends.push(() => done(OK))));
    const first = sendTo(handler, { ...HEAD, ...signed(), contentLength: -1 }, '');
    const second = sendTo(handler, { ...HEAD, ...signed(), contentLength: -1 }, '');
    const call = { ...HEAD, ...signed(), contentLength: -1 };
    const refused = sendTo(handler, call, '')();
    expect(refused.json).toMatchObject({ status: 429, code: 'overloaded', retry_after: 1 });
    expect(refused.fields).toMatch(/\r\nRetry-After: 1\r\n/);
    expect(journalled).toHaveLength(2);
    for (let n = 1; n <= 2; n++) {
      await vi.waitFor(() => expect(ends).toHaveLength(n));
      ends.at(-1)?.();
    }
    await vi.waitFor(() => expect(endpoint.work.inWork).toBe(0));
    expect([first().status, second().status]).toEqual([200, 200]);
    const again = sendTo(handler, call, '');
    await vi.waitFor(() => expect(ends).toHaveLength(3));
    ends.at(-1)?.();
    await endpoint.drain();
    expect(again().status).toBe(200);
  });

  test('Without other bounds a customer has 8 calls in work and 256 waiting, and further ones get 429', async () => {
    const { endpoint } = setUp();
    let end = (): void => {};
    const ended = new Promise<EndpointResponse>((done) => (end = () => done(OK)));
    const handler = endpoint({}, () => ended);
    const most = MANAGEMENT_IN_WORK_PER_CUSTOMER_MAX + MANAGEMENT_WAITING_PER_CUSTOMER_MAX;
    const calls = Array.from({ length: most }, () => sendTo(handler, { ...HEAD, ...BEARER, contentLength: -1 }, ''));
    expect([endpoint.work.inWork, endpoint.work.waiting]).toEqual([8, 256]);
    const refused = sendTo(handler, { ...HEAD, ...BEARER, contentLength: -1 }, '');
    expect(refused().json).toMatchObject({ status: 429, code: 'overloaded' });
    end();
    await endpoint.drain();
    expect(calls.every((sent) => sent().status === 200)).toBe(true);
  });

  test('A call that waits for something else frees its slot for other calls', async () => {
    const { endpoint } = setUp(createLog('silent'), few);
    let end = (): void => {};
    const waits = endpoint({}, async ({ waiting }) => {
      await waiting.whileOut(() => new Promise<void>((done) => (end = done)));
      return OK;
    });
    const slow = sendTo(waits, { ...HEAD, ...BEARER, contentLength: -1 }, '');
    const quick = sendTo(
      endpoint({}, () => OK),
      { ...HEAD, ...BEARER, contentLength: -1 },
      '',
    );
    await vi.waitFor(() => expect(quick().status).toBe(200));
    end();
    await endpoint.drain();
    expect(slow().status).toBe(200);
  });
});

test('A large or slow body is parsed by the worker, and a small one is not', async () => {
  const remote: (readonly [reader: string, bytes: number])[] = [];
  const bodies: RemoteBodies = {
    read(_customer, reader, body) {
      remote.push([reader.name, body.length]);
      return Promise.resolve({ kind: 'read', value: 'by the worker', ignored: [] });
    },
  };
  const { endpoint } = setUp(createLog('silent'), {}, bodies);
  const seen: unknown[] = [];
  const slow: BodyReader<unknown> = { ...AS_IT_IS, name: 'slow', isSlow: (body) => 'slow' in body };
  const handler = endpoint({ body: slow }, ({ body }) => {
    seen.push(body);
    return OK;
  });
  for (const body of ['{"a":1}', '{"slow":1}', JSON.stringify({ a: 'x'.repeat(MANAGED_BODY_INLINE_BYTES_MAX) })]) {
    sendTo(handler, { ...HEAD, ...BEARER, method: 'POST', contentLength: body.length }, body);
    // One after the other: calls that run at once may end in another order.
    await endpoint.drain();
  }
  expect(seen).toEqual([{ a: 1 }, 'by the worker', 'by the worker']);
  expect(remote).toEqual([
    ['slow', 10],
    ['slow', MANAGED_BODY_INLINE_BYTES_MAX + 8],
  ]);
});

describe('an admission that answers later', () => {
  const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

  function setUpLater(work: Partial<WorkBounds> = {}) {
    const made: LaterAdmission[] = [];
    const service = setUp(undefined, work, undefined, (local) => {
      const later = new LaterAdmission(local);
      made.push(later);
      return later;
    });
    const [later] = made;
    if (later === undefined) throw new Error('no admission');
    return { ...service, later };
  }

  test('A signed call runs its handler once its admission has answered, with its body, and a copy of it gets 401', async () => {
    const { endpoint, journalled, later } = setUpLater();
    const bodies: unknown[] = [];
    const handler = endpoint({ body: AS_IT_IS }, ({ body }) => {
      bodies.push(body);
      return OK;
    });
    const body = '{"a":1}';
    const head = { ...HEAD, ...signed({ method: 'POST', body }), contentLength: body.length };
    head.contentType = 'application/json';
    const sent = [sendTo(handler, head, body), sendTo(handler, head, body)];
    await turn();
    expect([bodies, journalled]).toEqual([[], []]);
    later.go();
    await endpoint.drain();
    expect(sent.map((one) => one().json['code'])).toEqual([undefined, 'replayed_request']);
    expect(bodies).toEqual([{ a: 1 }]);
    expect(journalled).toHaveLength(1);
  });

  test('A Bearer caller over its rate is refused before its body has arrived, and its connection is closed', async () => {
    const { endpoint, later } = setUpLater();
    const handler = endpoint({ body: AS_IT_IS }, () => OK);
    const seen: unknown[] = [];
    const begin = (): void => {
      const exchange: Exchange = {
        aborted: false,
        remoteAddress: () => '192.0.2.1',
        peerAddress: () => '192.0.2.1',
        pauseUntil: () => {},
        readBody: () => seen.push('read'),
        send: (status, _fields, _body, close) => seen.push([status, close]),
        addFields: () => {},
        sendStream: () => Promise.resolve(),
      };
      handler({ ...HEAD, ...BEARER, contentLength: DECIDE_BODY_BYTES_MAX }, exchange);
    };
    for (let n = 0; n < RATE_MANAGEMENT; n++) begin();
    later.go();
    await turn();
    expect(seen.splice(0)).toEqual(Array.from({ length: RATE_MANAGEMENT }, () => 'read'));
    begin();
    later.go();
    await turn();
    expect(seen).toEqual(['read', [429, true]]);
  });

  test('A call that finds no room when its admission answers gets 429, and its id may be sent again', async () => {
    const { endpoint, journalled, later } = setUpLater({ inWorkMax: 1, waitingMax: 0 });
    const held: (() => void)[] = [];
    const handler = endpoint({}, () => new Promise<EndpointResponse>((done) => held.push(() => done(OK))));
    const heads = [signed(), signed()].map((head) => ({ ...HEAD, contentLength: 0, ...head }));
    const [first, second] = heads;
    if (first === undefined || second === undefined) throw new Error('no heads');
    const running = sendTo(handler, first, '');
    const crowded = sendTo(handler, second, '');
    later.go();
    await turn();
    expect(crowded().json['code']).toBe('overloaded');
    expect(journalled).toHaveLength(1);
    const drained = endpoint.drain();
    while (held.length === 0) await turn();
    held.shift()?.();
    await drained;
    expect(running().status).toBe(200);
    const again = sendTo(handler, second, '');
    later.go();
    while (held.length === 0) await turn();
    held.shift()?.();
    await endpoint.drain();
    expect(again().status).toBe(200);
  });

  test.each([
    ['is unavailable', (request: object) => Promise.resolve([{ outcome: 'unavailable', request }])],
    ['fails', () => Promise.reject(new Error('admission failed'))],
  ])('While admission %s, a call gets 429 overloaded and its handler does not run', async (_how, admit) => {
    const { ask } = setUp(undefined, {}, undefined, (local) => ({
      admit: ([request]) => admit(request ?? {}) as never,
      stage: (id) => local.stage(id),
      release: (id) => local.release(id),
    }));
    let runs = 0;
    const handler: EndpointHandler<unknown> = () => {
      runs++;
      return OK;
    };
    const answer = await ask(signed(), { handler });
    expect(answer).toMatchObject({ status: 429, json: { code: 'overloaded', retry_after: 1 } });
    expect(runs).toBe(0);
  });
});
