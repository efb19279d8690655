import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/kernel/ids.ts';
import { DECISIONS } from '../../../src/risk/decision.ts';
import { DELIVERY_STATUSES, EXTRACTION_EVENTS } from '../../../src/work/webhook.ts';
import { PUBLIC_KEY } from '../decide/support.ts';
import { delivery, NOW_MS, OTHER_KEY, setUp } from './webhook-support.ts';

const ROUTE = '/v1/webhooks/deliveries';
const NOBODYS = newId('dlv', NOW_MS);
const WEBHOOK = newId('wh', NOW_MS);
const REQUEST = newId('req', NOW_MS);
const NO_FILTERS = { webhookId: null, status: null, requestId: null, event: null };

describe('the log of deliveries', () => {
  test('The delivery log is paged, by default 100 a page, and waits until reported deliveries are readable', async () => {
    const { ask, deliveries, state, calls } = setUp();
    deliveries.push(...Array.from({ length: 250 }, () => delivery()));
    const seen: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page = await ask('GET', cursor === null ? ROUTE : `${ROUTE}?cursor=${cursor}`);
      seen.push(...(page.json['data'] as { id: string }[]).map(({ id }) => id));
      cursor = page.json['next_cursor'] as string | null;
    } while (cursor !== null);
    expect(seen).toEqual(deliveries.map(({ id }) => id));
    expect(state.settled).toBe(3);
    expect(calls[0]).toEqual(['page', 7, { ...NO_FILTERS, after: null, limit: 100 }]);
  });

  test('The delivery log applies all given filters together', async () => {
    const { ask, calls } = setUp();
    const query = `webhook_id=${WEBHOOK}&status=failed&request_id=${REQUEST}&event=BLOCK&limit=5`;
    expect((await ask('GET', `${ROUTE}?${query}`)).json).toEqual({ data: [], has_more: false, next_cursor: null });
    const filters = { webhookId: WEBHOOK, status: 'failed', requestId: REQUEST, event: 'BLOCK' };
    expect(calls).toEqual([['page', 7, { ...filters, after: null, limit: 5 }]]);
  });

  test.each([
    ...DELIVERY_STATUSES.map((status) => `status=${status}`),
    ...[...DECISIONS, ...EXTRACTION_EVENTS].map((event) => `event=${event}`),
    'webhook_id=wh_nobodys',
    'request_id=req-of-nobody',
    'page=2',
  ])('The delivery log accepts ?%s', async (query) => {
    const { ask } = setUp();
    expect((await ask('GET', `${ROUTE}?${query}`)).status).toBe(200);
  });

  test.each([
    ['status=done', '?status'],
    ['status=', '?status'],
    ['status=FAILED', '?status'],
    ['event=block', '?event'],
    ['event=', '?event'],
    ['event=extraction', '?event'],
    ['webhook_id=', '?webhook_id'],
    ['webhook_id=a%20b', '?webhook_id'],
    [`webhook_id=${'x'.repeat(65)}`, '?webhook_id'],
    ['request_id=', '?request_id'],
    ['request_id=%00', '?request_id'],
    [`request_id=${'x'.repeat(3_000)}`, '?request_id'],
    ['limit=0', '?limit'],
    ['limit=1001', '?limit'],
    ['cursor=', '?cursor'],
    ['cursor=broken', '?cursor'],
  ])('The delivery log refuses ?%s', async (query, pointer) => {
    const { ask, calls } = setUp();
    const refused = await ask('GET', `${ROUTE}?${query}`);
    expect(refused.json).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ pointer }] });
    expect(calls).toEqual([]);
  });

  test('The delivery log responds 429 when the customer requests too many pages at once', async () => {
    const { ask, state } = setUp();
    state.pagesBusy = true;
    expect((await ask('GET', ROUTE)).json).toMatchObject({ status: 429, code: 'overloaded' });
  });

  test('The delivery log refuses a parameter that is given twice', async () => {
    const { ask } = setUp();
    expect((await ask('GET', `${ROUTE}?status=failed&status=failed`)).status).toBe(400);
  });

  test('A delivery is found by its id, after reported deliveries are readable', async () => {
    const { ask, deliveries, state } = setUp();
    const own = delivery();
    deliveries.push(own);
    expect((await ask('GET', `${ROUTE}/${own.id}`)).json).toMatchObject({ id: own.id, request_id: own.requestId });
    expect(state.settled).toBe(1);
  });
});

describe('retrying a delivery', () => {
  test('A retry responds 202 with the new delivery and its location, with and without a body', async () => {
    const { ask, calls } = setUp();
    for (const body of [undefined, {}]) {
      const queued = await ask('POST', `${ROUTE}/${NOBODYS}/retry`, body);
      expect(queued).toMatchObject({ status: 202, json: { trigger: 'manual', status: 'pending' } });
      expect(queued.json['id']).not.toBe(NOBODYS);
      expect(queued.fields).toContain(`\r\nLocation: ${ROUTE}/${String(queued.json['id'])}`);
    }
    expect(calls).toEqual([1, 2].map(() => ['retry', 7, NOBODYS]));
  });

  test.each([
    ['pending', 409, 'not_ready'],
    ['not_found', 404, 'not_found'],
    ['endpoint_gone', 404, 'not_found'],
    ['busy', 429, 'overloaded'],
  ] as const)('A retry whose result is %s gives %i', async (kind, status, code) => {
    const { ask, control } = setUp();
    control.retry = () => Promise.resolve({ kind });
    expect((await ask('POST', `${ROUTE}/${NOBODYS}/retry`)).json).toMatchObject({ status, code });
  });

  test('A retry responds 500 when a store write fails', async () => {
    const { ask, control } = setUp();
    control.retry = () => Promise.resolve({ kind: 'fault', code: 'store_write_failed', detail: 'inside' });
    expect((await ask('POST', `${ROUTE}/${NOBODYS}/retry`)).json['code']).toBe('internal_error');
  });
});

describe('ownership of deliveries', () => {
  test('A delivery of another customer is neither listed nor found, its retry uses the caller’s customer, and its cursor is refused', async () => {
    const { ask, deliveries, calls } = setUp();
    const own = delivery();
    deliveries.push(own, delivery());
    expect((await ask('GET', ROUTE, undefined, OTHER_KEY)).json['data']).toEqual([]);
    expect((await ask('GET', `${ROUTE}/${own.id}`, undefined, OTHER_KEY)).json['code']).toBe('not_found');
    calls.length = 0;
    await ask('POST', `${ROUTE}/${own.id}/retry`, undefined, OTHER_KEY);
    expect(calls).toEqual([['retry', 8, own.id]]);
    const { json } = await ask('GET', `${ROUTE}?limit=1`);
    const target = `${ROUTE}?limit=1&cursor=${String(json['next_cursor'])}`;
    expect((await ask('GET', target)).status).toBe(200);
    expect((await ask('GET', target, undefined, OTHER_KEY)).json['code']).toBe('invalid_request');
  });

  test('An id of another form gives 404 without a look-up', async () => {
    const { ask, calls } = setUp();
    for (const id of ['x', WEBHOOK, 'x'.repeat(3_000), 'test', 'rotate']) {
      expect((await ask('GET', `${ROUTE}/${id}`)).json['code']).toBe('not_found');
      expect((await ask('POST', `${ROUTE}/${id}/retry`)).json['code']).toBe('not_found');
    }
    expect(calls).toEqual([]);
  });

  test('A public key gives 403 on each delivery endpoint', async () => {
    const { ask, calls } = setUp();
    const answers = [
      await ask('GET', ROUTE, undefined, PUBLIC_KEY),
      await ask('GET', `${ROUTE}/${NOBODYS}`, undefined, PUBLIC_KEY),
      await ask('POST', `${ROUTE}/${NOBODYS}/retry`, undefined, PUBLIC_KEY),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(calls).toEqual([]);
  });
});
