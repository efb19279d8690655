import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { Exchange, RequestHead } from '../../../src/http/exchange.ts';
import { TrustedProxies } from '../../../src/http/trusted-proxies.ts';
import type { DueDeliveries } from '../../../src/decide/due.ts';
import type { Journal } from '../../../src/decide/journal.ts';
import { KeyCache, type StoredKey } from '../../../src/auth/key-cache.ts';
import type { DecisionSink } from '../../../src/decide/decision-sink.ts';
import type { DecideObserver } from '../../../src/decide/observer.ts';
import { createDecidePipeline } from '../../../src/decide/pipeline.ts';
import { FailedAuthentications } from '../../../src/decide/failed-authentications.ts';
import { visitorSource } from '../../../src/decide/visitor-source.ts';
import { LocalAdmission } from '../../../src/local/local-admission.ts';
import { ReplayGuard } from '../../../src/local/replay-guard.ts';
import type { Admission, AdmittedId } from '../../../src/ports/admission.ts';
import {
  BATCH_REQUESTS_MAX,
  DECIDE_ACTIVE_MS,
  DECIDE_BODY_BYTES_MAX,
  QUEUE_REQUESTS_MAX,
  RATE_FAILED_AUTHENTICATIONS,
} from '../../../src/kernel/limits.ts';
import { AnswerWriter, createBatchBuffer, BatchReader, REQUEST_PUBLIC_KEY } from '../../../src/frames/batch-buffer.ts';
import type { ScoreTask } from '../../../src/frames/score-messages.ts';
import type { ScorePool } from '../../../src/frames/score-pool.ts';
import { LaterAdmission } from '../../support/later-admission.ts';
import { fakeClock, HEAD, NOW_SECONDS, PUBLIC_KEY, SECRET_KEY, signedHead, storedKey } from './support.ts';

const IN_FLIGHT_MAX = 2;
const FRAMES = Array.from(
  { length: IN_FLIGHT_MAX + Math.ceil(QUEUE_REQUESTS_MAX / BATCH_REQUESTS_MAX) + 1 },
  createBatchBuffer,
);
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

interface Sent {
  readonly status: number;
  readonly fields: string;
  readonly json: Record<string, unknown>;
  readonly close: boolean;
}

class FakeExchange implements Exchange {
  aborted = false;
  readonly sent: Sent[] = [];
  bodyRead = false;
  addressAsked = 0;
  readonly #body: Uint8Array;
  readonly #address: string;

  constructor(body = '{}', address = '198.51.100.1') {
    this.#body = Buffer.from(body);
    this.#address = address;
  }

  remoteAddress(): string {
    this.addressAsked++;
    return this.#address;
  }

  peerAddress(): string {
    this.addressAsked++;
    return this.#address;
  }

  pauseUntil(): void {}

  readBody(bytesMax: number, done: (body: Uint8Array | null) => void): void {
    this.bodyRead = true;
    done(this.#body.length > bytesMax ? null : this.#body);
  }

  addFields(): void {}

  sendStream(): Promise<void> {
    return Promise.reject(new Error('decide answers in one piece'));
  }

  send(status: number, fields: string, body: string, close = false): void {
    if (this.aborted) return;
    this.aborted = true;
    this.sent.push({ status, fields, json: JSON.parse(body) as Record<string, unknown>, close });
  }

  get answer(): Sent {
    const [answer] = this.sent;
    if (answer === undefined || this.sent.length !== 1) throw new Error(`${this.sent.length} answers`);
    return answer;
  }
}

interface SetUp {
  readonly idsMax?: number;
  readonly rateLimit?: number;
  /** In addition to the two keys of customer 7. */
  readonly keys?: readonly StoredKey[];
  readonly trustedProxies?: readonly string[];
  readonly crash?: (at: number) => boolean;
  /** Wraps the admission. */
  readonly admission?: (local: LocalAdmission) => Admission;
}

function setUp(options: SetUp = {}) {
  const clock = fakeClock();
  const keyCache = new KeyCache();
  const rateLimit = options.rateLimit ?? 10_000;
  keyCache.load([storedKey(SECRET_KEY, { rateLimit }), storedKey(PUBLIC_KEY, { rateLimit }), ...(options.keys ?? [])]);
  const events: string[] = [];
  const remembered: { customer: number; record: string; flags: number }[] = [];
  const committed: AdmittedId[][] = [];
  let staged: AdmittedId[] = [];
  const disk = { isFull: false };
  const journal: Journal & { broken: string | null } = {
    broken: null,
    stage: (entry) => void staged.push(entry),
    commit() {
      const isWritten = !disk.isFull;
      if (isWritten) committed.push(staged);
      staged = [];
      return isWritten;
    },
    prune: () => {},
    tend: () => Promise.resolve(),
    close: () => {},
  };
  const frames = FRAMES.map((frame) => ({ requests: new BatchReader(frame), answers: new AnswerWriter(frame) }));
  const held: (() => void)[] = [];
  const pool: ScorePool & {
    holding: boolean;
    fails: (body: string) => boolean;
    seen: { customer: number; flags: number }[];
  } = {
    frames: FRAMES,
    inFlightMax: IN_FLIGHT_MAX,
    inFlightRequestsMax: 64 * IN_FLIGHT_MAX,
    holding: false,
    fails: () => false,
    seen: [],
    attend: () => {},
    async run({ frame, from, count }: ScoreTask) {
      if (pool.holding) await new Promise<void>((go) => held.push(go));
      const memory = frames[frame];
      if (memory === undefined) throw new Error('no frame');
      memory.answers.reset();
      const none = { decision: 0, flags: 0, score: 0, rulesLow: 0, rulesHigh: 0, record: new Uint8Array(0) };
      for (let at = from; at < from + count; at++) {
        const body = memory.requests.body(at).toString();
        if (pool.fails(body)) throw new Error('the worker died');
        const { customerNumber, flags } = memory.requests.meta(at);
        pool.seen.push({ customer: customerNumber, flags });
        if (body === 'bad') {
          const text = '{"status":400,"code":"malformed_json","detail":"The body is not valid JSON."}';
          memory.answers.write(at, { ...none, status: 400, text });
        } else if (body === 'crash')
          memory.answers.write(at, { ...none, status: 500, text: '', record: Buffer.from('Error: at line 5') });
        else
          memory.answers.write(at, {
            ...none,
            status: 200,
            record: Buffer.from(`of ${body}`),
            text: `{"request_id":"req_x","echo":${JSON.stringify(body)},"latency_ms":`,
          });
      }
    },
    close: () => Promise.resolve(),
  };
  const observer: DecideObserver = {
    refused: (code) => void events.push(code),
    batchLeft: () => {},
    batchFailed: () => void events.push('batch failed'),
    decided(_pending, _answers, at) {
      if (options.crash?.(at)) throw new Error('the observer failed');
      events.push('decided');
    },
    scoreRefused: (code, detail) => void events.push(`${code} ${detail}`),
  };
  const decisionSink: DecisionSink = {
    decided: (customer, record, flags) => void remembered.push({ customer, record: String(record), flags }),
  };
  const owed: { customer: number; occurredAtMs: number; text: string; writes: number }[] = [];
  const settled: boolean[] = [];
  const due: DueDeliveries = {
    decided(customer, occurredAtMs, answers, at) {
      const text = answers.text(at);
      owed.push({ customer, occurredAtMs, text, writes: committed.length });
      if (text.includes('no-webhooks-today')) throw new Error('webhooks failed');
    },
    committed: (isWritten) => void settled.push(isWritten),
  };
  const failures = new FailedAuthentications();
  const replay = new ReplayGuard(options.idsMax ?? 10_000, Buffer.alloc(16, 1));
  const source = visitorSource(new TrustedProxies(options.trustedProxies ?? []));
  const pipeline = createDecidePipeline({
    clock,
    keyCache,
    admission: options.admission?.(new LocalAdmission(replay, journal)) ?? new LocalAdmission(replay, journal),
    failures,
    visitorSource: source,
    journal,
    pool,
    decisionSink,
    due,
    observer,
  });
  const receive = pipeline.route.methods.POST;
  let id = 0;
  return {
    clock,
    events,
    remembered,
    committed,
    disk,
    journal,
    owed,
    settled,
    pool,
    pipeline,
    replay,
    failures,
    release: () => {
      pool.holding = false;
      for (const go of held.splice(0)) go();
    },
    post(head: RequestHead, body = '{}', address?: string): FakeExchange {
      const exchange = new FakeExchange(body, address);
      receive(head, exchange);
      return exchange;
    },
    /** A valid request with a unique id. */
    good(body = '{}', changes: Partial<RequestHead> = {}): FakeExchange {
      return this.post(signedHead({ svcRequestId: `good-${id++}`, ...changes }, { body }), body);
    },
  };
}

const RATE_FIELDS = ['X-SVC-Rl-Limit', 'X-SVC-Rl-Remaining', 'X-SVC-Rl-Reset', 'RateLimit-Policy', 'RateLimit'];

function expectRateFields({ fields, status, json }: Sent): void {
  for (const name of RATE_FIELDS) expect(fields.split(`\r\n${name}: `)).toHaveLength(2);
  const retry = /\r\nRetry-After: (\d+)/.exec(fields)?.[1];
  expect(retry).toBe(status === 429 ? String(json['retry_after']) : undefined);
}

function field(answer: Sent, name: string): string | undefined {
  return new RegExp(`\r\n${name}: ([^\r]*)`).exec(answer.fields)?.[1];
}

describe('a decision of the pipeline', () => {
  test("A decision is the worker's text with the latency, and its response carries the rate fields of its key", async () => {
    const service = setUp();
    const exchange = service.good('{"a":1}');
    await service.pipeline.drain();
    const { status, json, fields } = exchange.answer;
    expect(status).toBe(200);
    expect(json).toEqual({ request_id: 'req_x', echo: '{"a":1}', latency_ms: expect.any(Number) as number });
    expect(Number.isInteger(json['latency_ms'])).toBe(true);
    expect(fields.startsWith('application/json\r\n')).toBe(true);
    expectRateFields(exchange.answer);
    expect(field(exchange.answer, 'X-SVC-Rl-Remaining')).toBe('9999');
    expect(service.events).toEqual(['decided']);
  });

  test('A request is passed to the worker with its customer and its kind of key', async () => {
    const service = setUp();
    service.good();
    service.good('{}', { svcKey: PUBLIC_KEY });
    await service.pipeline.drain();
    expect(service.pool.seen).toEqual([
      { customer: 7, flags: 0 },
      { customer: 7, flags: REQUEST_PUBLIC_KEY },
    ]);
  });

  test('A decision is recorded before its response is sent, and a request that failed is not recorded', async () => {
    const service = setUp();
    const exchange = service.good();
    const send = exchange.send.bind(exchange);
    let known = -1;
    exchange.send = (...answer): void => {
      known = service.remembered.length;
      send(...answer);
    };
    service.good('bad');
    service.good('crash');
    await service.pipeline.drain();
    expect(known).toBe(1);
    expect(service.remembered).toEqual([{ customer: 7, record: 'of {}', flags: 0 }]);
  });

  test('The id of a request is in the journal before its response is sent', async () => {
    const service = setUp();
    const exchanges = [service.good(), service.good(), service.good()];
    let atFirstAnswer = -1;
    const [first] = exchanges;
    if (first === undefined) throw new Error('none');
    const send = first.send.bind(first);
    first.send = (...parameters) => {
      atFirstAnswer = service.committed.length;
      send(...parameters);
    };
    await service.pipeline.drain();
    expect(atFirstAnswer).toBe(1);
    expect(service.committed.map((batch) => batch.length)).toEqual([3]);
    expect(new Set(service.committed.flat().map(({ hashLow }) => hashLow)).size).toBe(3);
  });

  test('The outbox entry of a decision is staged before the journal is written, and a request that failed has none', async () => {
    const service = setUp();
    service.good();
    service.good('bad');
    service.good('crash');
    await service.pipeline.drain();
    expect(service.owed).toEqual([
      { customer: 7, occurredAtMs: NOW_SECONDS * 1000, text: expect.stringContaining('"req_x"') as string, writes: 0 },
    ]);
    expect(service.committed).toHaveLength(1);
  });

  test('A decision is answered even if its webhooks fail', async () => {
    const service = setUp();
    const exchange = service.good('no-webhooks-today');
    const other = service.good();
    await service.pipeline.drain();
    expect([exchange.answer.status, other.answer.status]).toEqual([200, 200]);
    expect(service.committed.map((batch) => batch.length)).toEqual([2]);
  });

  test('A request rejected by the worker gets a problem with its status, and internal text is not exposed', async () => {
    const service = setUp();
    const bad = service.good('bad');
    const crash = service.good('crash');
    await service.pipeline.drain();
    expect(bad.answer).toMatchObject({ status: 400, json: { code: 'malformed_json' } });
    expect(crash.answer).toMatchObject({ status: 500, json: { code: 'internal_error' } });
    expect(JSON.stringify(crash.answer)).not.toContain('line 5');
    expect(service.events).toContain('internal_error Error: at line 5');
    for (const { answer } of [bad, crash]) expectRateFields(answer);
  });
});

describe('the order of checks in the pipeline', () => {
  test('The form of the header is checked before the body is read', () => {
    const service = setUp();
    const exchange = service.post({ ...HEAD, svcKey: '' }, 'x'.repeat(DECIDE_BODY_BYTES_MAX + 1));
    expect(exchange.answer).toMatchObject({ status: 401, json: { code: 'missing_credentials' } });
    expect(exchange.bodyRead).toBe(false);
    expectRateFields(exchange.answer);
  });

  test('A large body is not read if the header already disqualifies the request, and the connection is closed', () => {
    const service = setUp();
    const contentLength = DECIDE_BODY_BYTES_MAX;
    const stranger = service.post({ ...HEAD, svcKey: 'sk_live_nobody', contentLength });
    const late = service.post({ ...HEAD, svcTimestamp: String(NOW_SECONDS - 301), contentLength });
    expect([stranger.bodyRead, late.bodyRead]).toEqual([false, false]);
    expect(stranger.answer).toMatchObject({ status: 401, close: true, json: { code: 'unknown_key' } });
    expect(late.answer).toMatchObject({ status: 401, close: true, json: { code: 'timestamp_out_of_window' } });
    expectRateFields(stranger.answer);
  });

  test('An address with too many failed authentications gets 429, and its connection is closed', () => {
    const service = setUp();
    for (let i = 0; i < RATE_FAILED_AUTHENTICATIONS; i++) service.failures.take('198.51.100.1', NOW_SECONDS);
    expect(service.post(HEAD).answer).toMatchObject({ status: 429, close: true, json: { code: 'rate_limited' } });
  });

  test('A body that is too large gets 413, and the connection is closed', () => {
    const service = setUp();
    const exchange = service.post(HEAD, 'x'.repeat(DECIDE_BODY_BYTES_MAX + 1));
    expect(exchange.answer).toMatchObject({ status: 413, close: true, json: { code: 'body_too_large' } });
    expectRateFields(exchange.answer);
  });

  test('Overload is checked before time, key and signature, counts no failed authentication and consumes no id', async () => {
    const keys = Array.from({ length: 12 }, (_, i) => `sk_live_${String(i).padStart(38, 'C')}`);
    const service = setUp({
      keys: keys.map((text, i) =>
        storedKey(text, { customer: (100 + i) as CustomerNumber, number: 100 + i, rateLimit: 10_000 }),
      ),
    });
    service.pool.holding = true;
    for (const svcKey of keys) {
      while (service.pipeline.queued() < QUEUE_REQUESTS_MAX) {
        const exchange = service.good('{}', { svcKey });
        await turn();
        if (exchange.aborted) break;
      }
    }
    expect(service.pipeline.queued()).toBe(QUEUE_REQUESTS_MAX);
    const remaining = service.failures.peek('198.51.100.1', NOW_SECONDS).remaining;
    const refused = [
      service.post({ ...HEAD, svcKey: 'sk_live_nobody', svcTimestamp: '5' }),
      service.post({ ...HEAD, svcTimestamp: '5' }),
      service.post(signedHead({ svcRequestId: 'late' })),
    ];
    for (const { answer } of refused) {
      expect(answer).toMatchObject({ status: 429, json: { code: 'overloaded', retry_after: 1 } });
      expectRateFields(answer);
    }
    expect(service.failures.peek('198.51.100.1', NOW_SECONDS).remaining).toBe(remaining);
    service.release();
    await service.pipeline.drain();
    const again = service.post(signedHead({ svcRequestId: 'late' }));
    await service.pipeline.drain();
    expect(again.answer.status).toBe(200);
  });

  test('A customer that has used up its queue share is rejected without consuming its rate or the id, while others are served', async () => {
    const other = `sk_live_${'D'.repeat(38)}`;
    const service = setUp({
      keys: [storedKey(other, { customer: 8 as CustomerNumber, number: 8, rateLimit: 10_000 })],
    });
    service.pool.holding = true;
    const flood = Array.from({ length: QUEUE_REQUESTS_MAX }, () => service.good('{}', { svcKey: PUBLIC_KEY }));
    const refused = flood.filter(({ aborted }) => aborted);
    expect(refused.length).toBeGreaterThan(QUEUE_REQUESTS_MAX / 3);
    for (const { answer } of refused.slice(0, 3)) {
      expect(answer).toMatchObject({ status: 429, json: { code: 'overloaded', retry_after: 1 } });
      expectRateFields(answer);
    }
    const served = [service.good('{"own":1}'), service.good('{"other":1}', { svcKey: other })];
    const id = { svcKey: PUBLIC_KEY, svcRequestId: 'again' };
    expect(service.post(signedHead(id)).answer.status).toBe(429);
    service.release();
    await service.pipeline.drain();
    expect(served.map(({ answer }) => answer.status)).toEqual([200, 200]);
    const again = service.post(signedHead(id));
    await service.pipeline.drain();
    expect(again.answer.status).toBe(200);
    const taken = flood.length - refused.length + 1;
    expect(field(again.answer, 'X-SVC-Rl-Remaining')).toBe(String(10_000 - taken));
  });

  test("The signature is checked before the rate limit, so that a wrong one does not consume the key's allowance", async () => {
    const service = setUp({ rateLimit: 1 });
    for (let i = 0; i < 5; i++) {
      expect(service.post(HEAD).answer).toMatchObject({ status: 401, json: { code: 'invalid_signature' } });
    }
    const exchange = service.good();
    await service.pipeline.drain();
    expect(exchange.answer.status).toBe(200);
  });

  test('The rate limit is checked before the replay, so that a limited request may be retried with its id', async () => {
    const service = setUp({ rateLimit: 1 });
    service.good();
    const head = signedHead({ svcRequestId: 'limited' });
    const limited = service.post(head);
    await turn();
    expect(limited.answer).toMatchObject({ status: 429, json: { code: 'rate_limited', retry_after: 60 } });
    expectRateFields(limited.answer);
    expect(field(limited.answer, 'X-SVC-Rl-Remaining')).toBe('0');
    service.clock.nowSeconds += 60;
    const again = service.post(head);
    await service.pipeline.drain();
    expect(again.answer.status).toBe(200);
  });

  test('The replay is checked before the JSON, and a bad body with a bad signature gets 401', async () => {
    const service = setUp();
    const head = signedHead({ svcRequestId: 'once' }, { body: 'bad' });
    const first = service.post(head, 'bad');
    const second = service.post(head, 'bad');
    await turn();
    expect(second.answer).toMatchObject({ status: 401, json: { code: 'replayed_request' } });
    await service.pipeline.drain();
    expect(first.answer.status).toBe(400);
    expect(service.post({ ...HEAD, svcRequestId: 'twice' }, 'bad').answer.status).toBe(401);
  });
});

describe('request ids in the pipeline', () => {
  test('A request id is consumed only by an accepted request', async () => {
    const service = setUp();
    const svcRequestId = 'the-id';
    service.post({ ...HEAD, svcRequestId });
    service.post(signedHead({ svcRequestId, svcTimestamp: String(NOW_SECONDS - 301) }));
    service.post(signedHead({ svcRequestId, svcKey: 'sk_live_nobody' }));
    expect(service.replay.size).toBe(0);
    const accepted = service.post(signedHead({ svcRequestId }));
    const other = service.post(signedHead({ svcRequestId, svcKey: PUBLIC_KEY }));
    const copies = Array.from({ length: 5 }, () => service.post(signedHead({ svcRequestId })));
    await service.pipeline.drain();
    expect([accepted.answer.status, other.answer.status]).toEqual([200, 200]);
    for (const copy of copies) {
      expect(copy.answer).toMatchObject({ status: 401, json: { code: 'replayed_request' } });
      expectRateFields(copy.answer);
    }
  });

  test('A request gets 429 overloaded if its id cannot be remembered', async () => {
    const service = setUp({ idsMax: 4 });
    const answers = Array.from({ length: 3 }, () => service.good());
    await turn();
    expect(answers[2]?.answer).toMatchObject({ status: 429, json: { code: 'overloaded' } });
  });
});

describe('the load that other work yields to', () => {
  test('The load is active for 50 ms after a request, and behind while more than a batch waits for a worker', async () => {
    const service = setUp();
    const { pipeline } = service;
    const later = (): number => performance.now() + DECIDE_ACTIVE_MS;
    expect(pipeline.load(performance.now())).toBe('idle');
    const beforeMs = performance.now();
    service.good();
    expect([pipeline.load(beforeMs), pipeline.load(later())]).toEqual(['active', 'idle']);
    service.pool.holding = true;
    for (let n = 0; n < QUEUE_REQUESTS_MAX / 2; n++) service.good();
    await turn();
    expect(pipeline.load(later())).toBe('behind');
    service.release();
    await pipeline.drain();
    expect(pipeline.load(later())).toBe('idle');
  });
});

describe('visitors of a public key', () => {
  const visit = (service: ReturnType<typeof setUp>, address: string, n: number): FakeExchange =>
    service.post(signedHead({ svcKey: PUBLIC_KEY, svcRequestId: `visit-${address}-${n}` }), '{}', address);

  test('Each visitor of a public key has its own share: one who has used it up is rejected, others are not', async () => {
    const service = setUp({ rateLimit: 100 });
    const first = Array.from({ length: 61 }, (_x, n) => visit(service, '81.2.69.1', n));
    const other = visit(service, '81.2.69.2', 0);
    await service.pipeline.drain();
    expect(first.slice(0, 60).every(({ answer }) => answer.status === 200)).toBe(true);
    const refused = first.at(-1)?.answer;
    expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' } });
    if (refused !== undefined) expectRateFields(refused);
    expect(other.answer.status).toBe(200);
    // Requests of other visitors do not show.
    expect([field(other.answer, 'X-SVC-Rl-Limit'), field(other.answer, 'X-SVC-Rl-Remaining')]).toEqual(['60', '39']);
    service.clock.nowSeconds += 60;
    const later = service.post(
      signedHead({ svcKey: PUBLIC_KEY, svcTimestamp: String(NOW_SECONDS + 60), svcRequestId: 'later' }),
      '{}',
      '81.2.69.1',
    );
    await service.pipeline.drain();
    expect(later.answer.status).toBe(200);
  });

  test("Visitors behind a non-public address, such as a load balancer's, are not counted separately", async () => {
    const service = setUp({ rateLimit: 100 });
    const all = Array.from({ length: 101 }, (_x, n) => visit(service, '10.0.0.7', n));
    await service.pipeline.drain();
    expect(all.map(({ answer }) => answer.status)).toEqual([...Array<number>(100).fill(200), 429]);
    for (const { answer } of all) expect(field(answer, 'X-SVC-Rl-Limit')).toBe('100');
  });

  test('Visitors behind a trusted proxy are counted whatever their addresses, but the proxy itself is not', async () => {
    const service = setUp({ rateLimit: 100, trustedProxies: ['10.0.0.0/24'] });
    const local = Array.from({ length: 61 }, (_x, n) => visit(service, '10.0.1.7', n));
    const proxy = Array.from({ length: 40 }, (_x, n) => visit(service, '10.0.0.7', n));
    await service.pipeline.drain();
    expect(local.at(-1)?.answer.status).toBe(429);
    expect(proxy.every(({ answer }) => answer.status === 200)).toBe(true);
  });

  test('The source address of a request with a secret key is never queried', async () => {
    const service = setUp();
    const secret = service.good();
    const visitor = visit(service, '81.2.69.1', 0);
    await service.pipeline.drain();
    expect([secret.addressAsked, visitor.addressAsked]).toEqual([0, 1]);
  });
});

describe('failed authentications', () => {
  test('The first 6,000 failed authentications of a source address get their own errors, further ones get 429', async () => {
    const service = setUp();
    const wrong = (address: string): Sent => service.post({ ...HEAD, svcKey: 'sk_live_nobody' }, '{}', address).answer;
    for (let i = 0; i < RATE_FAILED_AUTHENTICATIONS; i++) expect(wrong('203.0.113.9').status).toBe(401);
    for (const head of [HEAD, { ...HEAD, svcKey: '' }, signedHead({ svcTimestamp: '5' })]) {
      const refused = service.post(head, '{}', '203.0.113.9').answer;
      expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' } });
      expect(field(refused, 'X-SVC-Rl-Limit')).toBe(String(RATE_FAILED_AUTHENTICATIONS));
      expectRateFields(refused);
    }
    // Verified requests and other addresses are not affected.
    const verified = service.post(signedHead({ svcRequestId: 'verified' }), '{}', '203.0.113.9');
    await service.pipeline.drain();
    expect(verified.answer.status).toBe(200);
    expect(wrong('203.0.113.10').status).toBe(401);
    service.clock.nowSeconds += 60;
    expect(wrong('203.0.113.9').status).toBe(401);
  });

  test('A failed authentication carries the rate fields of its source, whether the key is known or not', () => {
    const service = setUp();
    service.good();
    let failures = 0;
    for (const head of [HEAD, signedHead({ svcTimestamp: '5' }), { ...HEAD, svcKey: 'sk_live_nobody' }]) {
      const { answer } = service.post(head);
      failures++;
      expect(field(answer, 'X-SVC-Rl-Limit')).toBe(String(RATE_FAILED_AUTHENTICATIONS));
      expect(field(answer, 'X-SVC-Rl-Remaining')).toBe(String(RATE_FAILED_AUTHENTICATIONS - failures));
    }
    const wrong = service.post({ ...HEAD, svcKey: PUBLIC_KEY }).answer;
    expect(field(wrong, 'X-SVC-Rl-Limit')).toBe(String(RATE_FAILED_AUTHENTICATIONS));
    for (const code of ['invalid_signature', 'timestamp_out_of_window', 'unknown_key'])
      expect(service.events).toContain(code);
  });

  test("A response to a timestamp outside the window contains the server's time", () => {
    expect(setUp().post(signedHead({ svcTimestamp: '5' })).answer.json).toMatchObject({
      code: 'timestamp_out_of_window',
      server_time: NOW_SECONDS,
    });
  });
});

describe('a disconnected client', () => {
  test('A client that disconnects while its batch is scored gets nothing, and the others get their own responses', async () => {
    const service = setUp();
    const exchanges = ['a', 'b', 'c'].map((body) => service.good(body));
    const [, gone] = exchanges;
    if (gone === undefined) throw new Error('none');
    gone.aborted = true;
    await service.pipeline.drain();
    expect(exchanges.map(({ sent }) => sent.map(({ json }) => json['echo']))).toEqual([['a'], [], ['c']]);
    expect(service.committed.flat()).toHaveLength(3);
  });
});

describe('a failing batch', () => {
  test('A failing batch gives only the request that caused it a 500, and the others their own responses', async () => {
    const service = setUp();
    service.pool.fails = (body) => body === 'poison';
    const bodies = ['a', 'b', 'poison', 'a longer body than the others', 'c'];
    const exchanges = bodies.map((body) => service.good(body));
    await service.pipeline.drain();
    expect(exchanges.map(({ answer }) => answer.json['echo'] ?? answer.json['code'])).toEqual([
      'a',
      'b',
      'internal_error',
      'a longer body than the others',
      'c',
    ]);
    for (const { answer } of exchanges) expectRateFields(answer);
    expect(service.committed.flat()).toHaveLength(5);
    expect(service.events.filter((event) => event === 'batch failed')).toHaveLength(2);
  });

  test('An exception while one request is answered does not affect the other responses', async () => {
    const service = setUp({ crash: (at) => at === 1 });
    const exchanges = ['a', 'b', 'c'].map((body) => service.good(body));
    await service.pipeline.drain();
    for (const { answer } of exchanges) expect(answer.status).toBe(200);
    const after = service.good('d');
    await service.pipeline.drain();
    expect(after.answer.json['echo']).toBe('d');
  });
});

describe('the decide route', () => {
  test("The decide route accepts only POST, and the router's error responses carry the rate fields of the source", () => {
    const { route } = setUp().pipeline;
    expect(route.path).toBe('/v1/decide');
    expect(Object.keys(route.methods)).toEqual(['POST']);
    expect(route.bodyBytesMax).toBe(DECIDE_BODY_BYTES_MAX);
    expect(route.refusalFields?.(new FakeExchange())).toContain(`X-SVC-Rl-Limit: ${RATE_FAILED_AUTHENTICATIONS}`);
  });
});

describe('a journal that cannot be written to', () => {
  test('If the journal write fails, no decision is answered, enqueued or logged, and the same id may be sent again', async () => {
    const service = setUp();
    const head = signedHead({ svcRequestId: 'sent-twice' });
    service.disk.isFull = true;
    const refused = service.post(head);
    await service.pipeline.drain();
    expect(refused.answer).toMatchObject({ status: 429, json: { code: 'overloaded', retry_after: 1 } });
    expectRateFields(refused.answer);
    expect([service.remembered, service.settled, service.events]).toEqual([[], [false], ['overloaded']]);

    service.disk.isFull = false;
    const again = service.post(head);
    await service.pipeline.drain();
    expect(again.answer.status).toBe(200);
    expect(service.settled).toEqual([false, true]);
    const replayed = service.post(head);
    await turn();
    expect(replayed.answer).toMatchObject({ status: 401, json: { code: 'replayed_request' } });
  });

  test('While the journal is broken, requests are rejected before anything is scored', async () => {
    const service = setUp();
    service.journal.broken = 'ENOSPC: no space left on device';
    const refused = service.good();
    expect(refused.answer).toMatchObject({ status: 429, json: { code: 'overloaded' } });
    await service.pipeline.drain();
    expect([service.pool.seen, service.replay.size]).toEqual([[], 0]);
    service.journal.broken = null;
    const good = service.good();
    await service.pipeline.drain();
    expect(good.answer.status).toBe(200);
  });
});

function setUpLater(options: SetUp = {}) {
  const made: LaterAdmission[] = [];
  const service = setUp({
    ...options,
    admission(local) {
      const later = new LaterAdmission(local);
      made.push(later);
      return later;
    },
  });
  const [later] = made;
  if (later === undefined) throw new Error('no admission');
  return { service, later };
}

describe('admission once a turn', () => {
  test('Requests of one turn are admitted in one batch, in the order of their arrival', async () => {
    const batches: string[][] = [];
    const service = setUp({
      admission: (local) => ({
        admit(batch) {
          batches.push(batch.map(({ requestId }) => requestId ?? ''));
          return local.admit(batch);
        },
        stage: (id) => local.stage(id),
        release: (id) => local.release(id),
      }),
    });
    for (const svcRequestId of ['a', 'b', 'c']) service.post(signedHead({ svcRequestId }));
    await turn();
    service.post(signedHead({ svcRequestId: 'd' }));
    await service.pipeline.drain();
    expect(batches).toEqual([['a', 'b', 'c'], ['d']]);
  });

  test('A flood of replays and of requests over their rate takes up neither the queue nor a batch', async () => {
    const limited = `sk_live_${'E'.repeat(38)}`;
    const service = setUp({
      keys: [storedKey(limited, { customer: 9 as CustomerNumber, number: 9, rateLimit: 1 })],
    });
    service.pool.holding = true;
    const first = [service.post(signedHead({ svcRequestId: 'the-same' })), service.good('{}', { svcKey: limited })];
    await turn();
    const flood: FakeExchange[] = [];
    for (let n = 0; n < 2 * QUEUE_REQUESTS_MAX; n++) {
      flood.push(service.post(signedHead({ svcRequestId: 'the-same' })), service.good('{}', { svcKey: limited }));
      if (n % 10 === 0) await turn();
    }
    await turn();
    const codes = new Set(flood.map(({ answer }) => answer.json['code']));
    expect(codes).toEqual(new Set(['replayed_request', 'rate_limited']));
    expect(service.pipeline.queued()).toBe(0);
    const others = [service.good(), service.good()];
    service.release();
    await service.pipeline.drain();
    expect([...first, ...others].map(({ answer }) => answer.status)).toEqual([200, 200, 200, 200]);
    expect(service.pool.seen).toHaveLength(4);
  });

  test('A request whose timestamp leaves its window before it is admitted gets 401 with the time of the server', async () => {
    const service = setUp();
    const svcTimestamp = String(NOW_SECONDS - 300);
    const late = service.post(signedHead({ svcRequestId: 'late', svcTimestamp }));
    const other = service.good();
    service.clock.nowSeconds += 1;
    await service.pipeline.drain();
    expect(late.answer).toMatchObject({
      status: 401,
      json: { code: 'timestamp_out_of_window', server_time: NOW_SECONDS + 1 },
    });
    expectRateFields(late.answer);
    expect(other.answer.status).toBe(200);
    expect(service.pool.seen).toHaveLength(1);
  });

  test('A request counts in the rate window of its arrival, even if it is admitted in the next one', async () => {
    const service = setUp();
    service.clock.nowSeconds = NOW_SECONDS - (NOW_SECONDS % 60) + 59;
    const svcTimestamp = String(service.clock.nowSeconds);
    const exchange = service.good('{}', { svcTimestamp });
    service.clock.nowSeconds += 1;
    await service.pipeline.drain();
    expect(field(exchange.answer, 'X-SVC-Rl-Reset')).toBe(String(service.clock.nowSeconds));
  });

  test('If admission answers later, exactly one of several copies is decided and the others get 401', async () => {
    const { service, later } = setUpLater();
    const copies: FakeExchange[] = [];
    for (let n = 0; n < 6; n++) {
      copies.push(service.post(signedHead({ svcRequestId: 'once' })));
      if (n % 2 === 1) await turn();
    }
    const other = service.good();
    await turn();
    expect(later.batches).toEqual([2, 2, 2, 1]);
    expect(copies.every(({ aborted }) => !aborted)).toBe(true);
    later.go();
    await service.pipeline.drain();
    expect(copies.map(({ answer }) => answer.status)).toEqual([200, 401, 401, 401, 401, 401]);
    expect(other.answer.status).toBe(200);
    expect(service.committed.flat()).toHaveLength(2);
  });

  test('Requests that wait for their admission count against the share of their customer', async () => {
    const { service, later } = setUpLater();
    const flood = Array.from({ length: QUEUE_REQUESTS_MAX }, () => service.good());
    expect(flood.filter(({ aborted }) => !aborted)).toHaveLength(QUEUE_REQUESTS_MAX / 2);
    expect(flood.at(-1)?.answer).toMatchObject({ status: 429, json: { code: 'overloaded', retry_after: 1 } });
    const visitor = service.good('{}', { svcKey: PUBLIC_KEY });
    await turn();
    later.go();
    await service.pipeline.drain();
    expect(visitor.answer.status).toBe(200);
    expect(flood.filter(({ answer }) => answer.status === 200)).toHaveLength(QUEUE_REQUESTS_MAX / 2);
    expect(service.pipeline.queued()).toBe(0);
  });

  test('While the store of admission is unavailable, requests get 429 overloaded, and nothing is scored or remembered', async () => {
    const service = setUp({
      admission: (local) => ({
        admit: (batch) => Promise.resolve(batch.map((request) => ({ outcome: 'unavailable', request }))),
        stage: (id) => local.stage(id),
        release: (id) => local.release(id),
      }),
    });
    const refused = service.good();
    await service.pipeline.drain();
    expect(refused.answer).toMatchObject({ status: 429, json: { code: 'overloaded', retry_after: 1 } });
    expectRateFields(refused.answer);
    expect(field(refused.answer, 'X-SVC-Rl-Limit')).toBe(String(RATE_FAILED_AUTHENTICATIONS));
    expect([service.pool.seen, service.committed]).toEqual([[], []]);
  });

  test('If admission fails, its requests get 500, give back their places, and later ones are decided', async () => {
    for (const fails of [
      () => Promise.reject(new Error('admission failed')),
      () => {
        throw new Error('admission failed');
      },
    ]) {
      let failing = true;
      const service = setUp({
        admission: (local) => ({
          admit: (batch) => (failing ? fails() : local.admit(batch)),
          stage: (id) => local.stage(id),
          release: (id) => local.release(id),
        }),
      });
      const lost = [service.good(), service.good()];
      await service.pipeline.drain();
      for (const { answer } of lost) {
        expect(answer).toMatchObject({ status: 500, json: { code: 'internal_error' } });
        expectRateFields(answer);
      }
      expect([service.pipeline.queued(), service.events[0]]).toEqual([0, 'batch failed']);
      failing = false;
      const next = service.good();
      await service.pipeline.drain();
      expect(next.answer.status).toBe(200);
    }
  });
});
