import { describe, expect, test } from 'vitest';
import { PUBLIC_KEY } from '../../decide/support.ts';
import { FAILED, NOBODYS_JOB, NOW_MS, OTHER_KEY, setUp, STORE, STORE_FAULT, SUCCEEDED } from './support.ts';

const CREATED_AT = NOW_MS / 1000;

describe('GET /v1/extractions/{id}', () => {
  test('the status of an extraction has its fields in the order of the contract, with times in seconds', async () => {
    const { ask, given } = setUp();
    const job = given(SUCCEEDED);
    const { status, json } = await ask('GET', `/v1/extractions/${job.id}`);
    expect(status).toBe(200);
    const expected = {
      id: job.id,
      status: 'succeeded',
      connector: 'tests',
      operation: 'search.posts',
      counts: { collected: 3, target: 3, pages: 1, errors: 0, duplicates: 0 },
      usage: { credits: 1, tier: 'standard' },
      request_id: job.requestId,
      created_at: CREATED_AT,
      started_at: CREATED_AT + 1,
      finished_at: CREATED_AT + 5,
      expires_at: CREATED_AT + 90_000,
      waiting_until: null,
      notes: [],
      delivery: { type: 'store', status: 'pending' },
    };
    expect(JSON.stringify(json)).toBe(JSON.stringify(expected));
  });

  test('fields of the status without a value are null, and a failed extraction has a failure', async () => {
    const { ask, given } = setUp();
    const queued = await ask('GET', `/v1/extractions/${given().id}`);
    expect(queued.json).toMatchObject({ status: 'queued', started_at: null, finished_at: null, expires_at: null });
    expect(queued.json).not.toHaveProperty('failure');
    const failed = await ask('GET', `/v1/extractions/${given(FAILED).id}`);
    expect(failed.json['failure']).toEqual({ reason: 'source_unavailable', retryable: true });
  });

  test('the status has notes with messages, and waiting_until in seconds', async () => {
    const { ask, given } = setUp();
    const noted = given({ notes: ['records_truncated', 'list_incomplete'], waitingUntilMs: NOW_MS + 90_500 });
    const { json } = await ask('GET', `/v1/extractions/${noted.id}`);
    expect(json).toMatchObject({
      waiting_until: CREATED_AT + 90,
      notes: [
        { code: 'records_truncated', message: expect.stringContaining('_meta.truncated') },
        { code: 'list_incomplete', message: expect.stringContaining('list') },
      ],
    });
  });

  test('the status names the type of delivery as in the request, and nothing about its destination', async () => {
    const { ask, given } = setUp();
    const url = 'https://shop.example/secret-path';
    const s3 = { endpoint: 'https://s3.example', bucket: 'bucket-name', region: 'r', prefix: 'p' };
    const told: unknown[] = [];
    for (const changes of [
      { kind: 'sync' as const, waitSeconds: 30 },
      { kind: 'webhook' as const, url, batchSize: 1, status: 'delivered' as const },
      { kind: 's3' as const, s3, status: 'failed' as const },
      { kind: 'http_put' as const, url },
    ]) {
      const { json, text } = await ask('GET', `/v1/extractions/${given({ delivery: { ...STORE, ...changes } }).id}`);
      told.push(json['delivery']);
      expect(text).not.toMatch(/secret-path|bucket-name/);
    }
    expect(told).toEqual([
      { type: 'sync', status: 'pending' },
      { type: 'webhook', status: 'delivered' },
      { type: 'destination', status: 'failed' },
      { type: 'destination', status: 'pending' },
    ]);
  });

  test.each([NOBODYS_JOB, 'ext_x', 'x', `ext_${'0'.repeat(25)}`, `ext_${'0'.repeat(27)}`, `ses_${'0'.repeat(26)}`])(
    'the id %s is 404 on every path',
    async (id) => {
      const { ask } = setUp();
      for (const [method, path] of [
        ['GET', ''],
        ['POST', '/cancel'],
        ['GET', '/records'],
      ] as const) {
        const refused = await ask(method, `/v1/extractions/${id}${path}`);
        expect(refused.json).toMatchObject({ status: 404, code: 'not_found' });
      }
    },
  );

  test('an extraction of another customer is 404, and a public key is 403, on every path', async () => {
    const { ask, given, jobs } = setUp();
    const { id } = given();
    const calls = [
      ['GET', ''],
      ['GET', '?wait=1'],
      ['POST', '/cancel'],
      ['GET', '/records?partial=true'],
    ] as const;
    for (const [method, path] of calls) {
      const others = await ask(method, `/v1/extractions/${id}${path}`, undefined, { key: OTHER_KEY });
      expect(others.json).toMatchObject({ status: 404, code: 'not_found' });
      const open = await ask(method, `/v1/extractions/${id}${path}`, undefined, { key: PUBLIC_KEY });
      expect(open.json).toMatchObject({ status: 403, code: 'key_not_allowed' });
    }
    expect(jobs[0]?.status).toBe('queued');
  });
});

describe('GET /v1/extractions', () => {
  test('the list contains only the customer’s own extractions, newest first, in pages', async () => {
    const { ask, given } = setUp();
    const ids = [given(), given(FAILED), given(SUCCEEDED)].map(({ id }) => id).reverse();
    given({ customer: 8 as never });
    const first = await ask('GET', '/v1/extractions?limit=2');
    expect(first.json).toMatchObject({ has_more: true });
    const second = await ask('GET', `/v1/extractions?limit=2&cursor=${String(first.json['next_cursor'])}`);
    expect(second.json).toMatchObject({ has_more: false, next_cursor: null });
    const rows = [...(first.json['data'] as { id: string }[]), ...(second.json['data'] as { id: string }[])];
    expect(rows.map(({ id }) => id)).toEqual(ids);
    expect(rows[0]).toEqual((await ask('GET', `/v1/extractions/${ids[0] ?? ''}`)).json);
  });

  test('the list passes on its filters', async () => {
    const { ask, calls } = setUp();
    await ask('GET', '/v1/extractions?status=failed&connector=tests&operation=search.posts&limit=7');
    const query = { after: null, limit: 7, status: 'failed', connector: 'tests', operation: 'search.posts' };
    expect(calls).toEqual([['page', 7, query]]);
  });

  test.each([
    ['status=done', '?status'],
    ['status=', '?status'],
    ['connector=', '?connector'],
    ['connector=a%2Fb', '?connector'],
    [`operation=${'x'.repeat(101)}`, '?operation'],
    ['limit=0', '?limit'],
    ['limit=1001', '?limit'],
    ['cursor=x', '?cursor'],
  ])('the list is 400 for %s', async (query, pointer) => {
    const { ask } = setUp();
    const refused = await ask('GET', `/v1/extractions?${query}`);
    expect(refused.json).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ pointer }] });
  });

  test('the list rejects a cursor of another customer or another list', async () => {
    const { ask, given } = setUp();
    const job = given(SUCCEEDED, ['x\n', 'y\n']);
    given();
    const { json } = await ask('GET', '/v1/extractions?limit=1');
    const target = `?cursor=${String(json['next_cursor'])}`;
    expect((await ask('GET', `/v1/extractions${target}`, undefined, { key: OTHER_KEY })).status).toBe(400);
    expect((await ask('GET', `/v1/extractions/${job.id}/records${target}`)).status).toBe(400);
    expect((await ask('GET', `/v1/sessions${target}`)).status).toBe(400);
    expect((await ask('GET', `/v1/connectors${target}`)).status).toBe(400);
  });
});

describe('POST /v1/extractions/{id}/cancel', () => {
  test('a cancelled extraction fails with reason cancelled, and a second call changes nothing', async () => {
    const { ask, given } = setUp();
    const { id } = given({ status: 'running' });
    const cancelled = await ask('POST', `/v1/extractions/${id}/cancel`);
    expect(cancelled.status).toBe(200);
    expect(cancelled.json).toMatchObject({ id, status: 'failed', failure: { reason: 'cancelled', retryable: false } });
    const again = await ask('POST', `/v1/extractions/${id}/cancel`, {});
    expect([again.status, again.json]).toEqual([200, cancelled.json]);
  });

  test('cancelling an extraction that has succeeded changes nothing', async () => {
    const { ask, given } = setUp();
    const job = given(SUCCEEDED);
    expect((await ask('POST', `/v1/extractions/${job.id}/cancel`)).json['status']).toBe('succeeded');
  });

  test('cancelling is 500 on a store failure', async () => {
    const { ask, given, control } = setUp();
    control.cancel = () => Promise.resolve(STORE_FAULT);
    expect((await ask('POST', `/v1/extractions/${given().id}/cancel`)).json).toMatchObject({ status: 500 });
  });
});
