import { describe, expect, test } from 'vitest';
import { newId } from '../../../../src/kernel/ids.ts';
import { PUBLIC_KEY } from '../../decide/support.ts';
import { GOOD, NOW_MS, OTHER_KEY, setUp, STORE_FAULT } from './support.ts';

const WEBHOOK = { type: 'webhook', url: 'https://shop.example/records' };
const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

describe('POST /v1/extractions', () => {
  test('creating an extraction responds with 202, five fields and the Location, and passes on what was checked', async () => {
    const { ask, created } = setUp();
    const made = await ask('POST', '/v1/extractions', GOOD);
    expect(made.status).toBe(202);
    expect(Object.keys(made.json)).toEqual(['id', 'status', 'connector', 'operation', 'request_id']);
    expect(made.json).toMatchObject({ status: 'queued', connector: 'tests', operation: 'search.posts' });
    expect(made.json['id']).toMatch(/^ext_[0-9A-Z]{26}$/);
    expect(made.fields).toContain(`\r\nLocation: /v1/extractions/${String(made.json['id'])}`);
    expect(created).toHaveLength(1);
    expect(created[0]).toMatchObject({
      customer: 7,
      requestId: made.json['request_id'],
      connector: 'tests',
      operation: 'search.posts',
      input: { query: 'tea' },
      collect: { mode: 'limit', limit: 100 },
      session: null,
      delivery: { kind: 'store', status: 'pending' },
      deliverySecrets: null,
      steps: [{ key: 'first', state: { query: 'tea' } }],
      idempotency: null,
    });
  });

  test('a new extraction is found by its customer at once, and by no other customer', async () => {
    const { ask } = setUp();
    const { json } = await ask('POST', '/v1/extractions', GOOD);
    expect((await ask('GET', `/v1/extractions/${String(json['id'])}`)).status).toBe(200);
    expect((await ask('GET', `/v1/extractions/${String(json['id'])}`, undefined, { key: OTHER_KEY })).status).toBe(404);
  });

  test('a webhook without a secret gets one, which only this response shows', async () => {
    const { ask, created } = setUp();
    const made = await ask('POST', '/v1/extractions', { ...GOOD, delivery: WEBHOOK });
    const { secret } = made.json['delivery'] as { secret: string };
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(made.fields).toContain('\r\nCache-Control: no-store');
    expect(created[0]?.deliverySecrets).toEqual({ secret });
    expect((await ask('GET', `/v1/extractions/${String(made.json['id'])}`)).text).not.toContain('whsec_');
  });

  test('a secret supplied by the caller is accepted and never shown', async () => {
    const { ask, created } = setUp();
    const made = await ask('POST', '/v1/extractions', { ...GOOD, delivery: { ...WEBHOOK, secret: SECRET } });
    expect(made.text).not.toContain('whsec_');
    expect(created[0]?.deliverySecrets).toEqual({ secret: SECRET });
    expect(JSON.stringify(created[0]?.delivery)).not.toContain('whsec_');
  });

  test('an invalid request is rejected before anything is created', async () => {
    const { ask, created } = setUp();
    const codes: unknown[] = [];
    for (const body of [
      { ...GOOD, connector: 'none' },
      { ...GOOD, operation: 'none' },
      { ...GOOD, input: {} },
    ])
      codes.push((await ask('POST', '/v1/extractions', body)).json['code']);
    expect(codes).toEqual(['unknown_connector', 'unknown_operation', 'validation_failed']);
    expect(created).toEqual([]);
  });

  test('a session of another customer is 422 at /session', async () => {
    const { ask, sessions, created } = setUp();
    const session = newId('ses', NOW_MS);
    sessions.push({ id: session, customer: 8 as never, host: 'a.example', createdAtMs: 0, expiresAtMs: Infinity });
    const refused = await ask('POST', '/v1/extractions', { ...GOOD, session });
    expect(refused.json).toMatchObject({ status: 422, code: 'validation_failed', errors: [{ pointer: '/session' }] });
    expect(created).toEqual([]);
    expect((await ask('POST', '/v1/extractions', { ...GOOD, session }, { key: OTHER_KEY })).status).toBe(202);
  });

  test('a session of a host that the job does not request is 422 at /session', async () => {
    const { ask, sessions, created } = setUp();
    const session = newId('ses', NOW_MS);
    sessions.push({ id: session, customer: 7 as never, host: 'a.example', createdAtMs: 0, expiresAtMs: Infinity });
    const askFor = (url: string): ReturnType<typeof ask> =>
      ask('POST', '/v1/extractions', { ...GOOD, input: { query: 'tea', url }, session });
    const refused = await askFor('b.example/x');
    expect(refused.json).toMatchObject({
      status: 422,
      code: 'validation_failed',
      errors: [
        {
          pointer: '/session',
          code: 'invalid_value',
          message: 'This session is for a.example, but this job requests b.example.',
        },
      ],
    });
    expect(created).toEqual([]);
    expect((await askFor('www.a.example/x')).status).toBe(202);
    // The requested host is not known in advance.
    expect((await ask('POST', '/v1/extractions', { ...GOOD, session })).status).toBe(202);
  });

  test('a full queue is 503 with Retry-After, and a store failure is 500', async () => {
    const { ask, control } = setUp();
    control.create = () => Promise.resolve({ kind: 'queue_full', retryAfterSeconds: 7 });
    const full = await ask('POST', '/v1/extractions', GOOD);
    expect(full.json).toMatchObject({ status: 503, code: 'queue_full', retry_after: 7 });
    expect(full.fields).toContain('\r\nRetry-After: 7');
    control.create = () => Promise.resolve(STORE_FAULT);
    const failed = await ask('POST', '/v1/extractions', GOOD);
    expect(failed.json).toMatchObject({ status: 500, code: 'internal_error' });
    expect(failed.text).not.toContain('MDB');
  });

  test('a public key is 403', async () => {
    const { ask, created } = setUp();
    expect((await ask('POST', '/v1/extractions', GOOD, { key: PUBLIC_KEY })).json['code']).toBe('key_not_allowed');
    expect(created).toEqual([]);
  });
});

describe('Idempotency-Key', () => {
  const once = { idempotencyKey: 'order-1' };

  test('a repeated Idempotency-Key returns the first response, including its secret, and creates no second job', async () => {
    const { ask, created } = setUp();
    const body = { ...GOOD, delivery: WEBHOOK };
    const first = await ask('POST', '/v1/extractions', body, once);
    const again = await ask('POST', '/v1/extractions', body, once);
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect(again.fields).toContain(`\r\nLocation: /v1/extractions/${String(first.json['id'])}`);
    expect(created).toHaveLength(1);
  });

  test('concurrent requests with one Idempotency-Key create one job', async () => {
    const { ask, created } = setUp();
    const answers = await Promise.all([1, 2, 3].map(() => ask('POST', '/v1/extractions', GOOD, once)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(created).toHaveLength(1);
  });

  test('an Idempotency-Key with another body is 409, even if that body is invalid', async () => {
    const { ask } = setUp();
    await ask('POST', '/v1/extractions', GOOD, once);
    for (const body of [{ ...GOOD, collect: { mode: 'all' } }, { ...GOOD, connector: 'none' }, {}]) {
      const refused = await ask('POST', '/v1/extractions', body, once);
      expect(refused.json).toMatchObject({ status: 409, code: 'idempotency_conflict' });
    }
  });

  test('an Idempotency-Key is separate for each customer', async () => {
    const { ask, created } = setUp();
    await ask('POST', '/v1/extractions', GOOD, once);
    const other = { ...GOOD, input: { query: 'coffee' } };
    expect((await ask('POST', '/v1/extractions', other, { ...once, key: OTHER_KEY })).status).toBe(202);
    expect(created).toHaveLength(2);
  });

  test('the Idempotency-Key of a rejected request can be used again', async () => {
    const { ask } = setUp();
    await ask('POST', '/v1/extractions', { ...GOOD, connector: 'none' }, once);
    expect((await ask('POST', '/v1/extractions', GOOD, once)).status).toBe(202);
  });

  test.each([
    ['256 characters', 'x'.repeat(256)],
    ['a blank', 'a b'],
    ['a non-ASCII letter', 'é'],
  ])('an Idempotency-Key with %s is 400', async (_what, idempotencyKey) => {
    const { ask, created } = setUp();
    const refused = await ask('POST', '/v1/extractions', GOOD, { idempotencyKey });
    expect(refused.json).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(created).toEqual([]);
  });

  test('an Idempotency-Key may have 255 characters', async () => {
    const { ask } = setUp();
    expect((await ask('POST', '/v1/extractions', GOOD, { idempotencyKey: '!'.repeat(255) })).status).toBe(202);
  });
});
