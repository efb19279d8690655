import { createHmac } from 'node:crypto';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DECISIONS, type Decision } from '../../src/risk/decision.ts';
import { bearer } from '../support/manage.ts';
import { newCustomer, type Answer } from '../support/requests.ts';
import { SERVERS_IN_TURN } from '../support/server.ts';
import { sharedServer, type SharedServer } from '../support/shared-server.ts';
import {
  type Arrival,
  blockOnList,
  decideTo,
  eventually,
  MASKED_SECRET,
  NOBODYS_DELIVERY,
  NOBODYS_WEBHOOK,
  type Receiver,
  startReceiver,
  webhookClient,
  WHOLE_SECRET,
} from '../support/webhooks.ts';

/** Contract, 10: a test for each sentence. */

let server: SharedServer;
let receiver: Receiver;
let client: ReturnType<typeof webhookClient>;

beforeAll(async () => {
  server = await sharedServer();
  client = webhookClient(server.url, server.secretKey);
  await blockOnList(server.url, server.secretKey);
});
beforeEach(async () => {
  receiver = await startReceiver();
});
// Each test starts without webhooks.
afterEach(async () => {
  const { data } = await client.ask('GET', '/v1/webhooks');
  for (const { id } of data as { id: string }[]) await client.ask('DELETE', `/v1/webhooks/${id}`);
  await receiver.close();
});

const decided = async (value: Decision): Promise<string> =>
  String((await decideTo(server.url, server.secretKey, value)).json['request_id']);

/** Waits until the webhook has the given health at every server. It is updated shortly after a delivery. */
const withHealth = (id: string, health: object): Promise<Record<string, unknown>> =>
  eventually(`${id} with ${JSON.stringify(health)}`, async () => {
    let shown: Record<string, unknown> = {};
    for (let n = 0; n < SERVERS_IN_TURN; n++) {
      shown = await client.ask('GET', `/v1/webhooks/${id}`);
      if (Object.entries(health).some(([name, value]) => shown[name] !== value)) return null;
    }
    return shown;
  });

/** The formula of contract, 10.4. */
const signatureOf = (secret: string, body: Buffer): string => createHmac('sha256', secret).update(body).digest('hex');
const header = ({ headers }: Arrival, name: string): string => String(headers[name]);
const verifies = (secret: string, { body, headers }: Arrival): boolean => {
  try {
    new StandardWebhook(secret).verify(body.toString(), headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
};

describe('contract, 10.1: the record', () => {
  test('A webhook has its fields in the contract’s order', async () => {
    const made = await client.create(receiver.url, 'BLOCK');
    const fields = [
      'id',
      'url',
      'event_types',
      'events',
      'description',
      'disabled',
      'filter',
      'filter_error',
      'headers',
      'format',
      'fields',
      'retry',
      'secret',
      'status',
      'consecutive_failures',
      'unhealthy_since',
      'next_probe_at',
      'last_success_at',
      'last_failure_at',
      'created_at',
      'updated_at',
    ];
    expect(Object.keys(made)).toEqual(fields);
    expect(Object.keys(await client.ask('GET', `/v1/webhooks/${made.id}`))).toEqual(fields);
    expect(made).toMatchObject({
      url: receiver.url,
      event_types: ['BLOCK'],
      description: null,
      disabled: false,
      status: 'healthy',
      consecutive_failures: 0,
      unhealthy_since: null,
      next_probe_at: null,
      last_success_at: null,
      last_failure_at: null,
    });
  });

  test('Any combination of event types is valid', async () => {
    for (const eventTypes of [['ALLOW'], ['BLOCK', 'ALLOW'], [...DECISIONS]] as const) {
      const answer = await bearer(server.url, server.secretKey, 'POST', '/v1/webhooks', {
        url: receiver.url,
        event_types: eventTypes,
      });
      expect(answer).toMatchObject({ status: 201, json: { event_types: eventTypes } });
      expect((await client.ask('GET', answer.headers['location'] ?? ''))['event_types']).toEqual(eventTypes);
    }
  });

  test('The secret is complete only in the response of the creation, and masked otherwise', async () => {
    const { id, secret } = await client.create(receiver.url, 'BLOCK');
    expect(secret).toMatch(WHOLE_SECRET);
    const shown = await bearer(server.url, server.secretKey, 'GET', `/v1/webhooks/${id}`);
    const listed = await bearer(server.url, server.secretKey, 'GET', '/v1/webhooks');
    for (const { text } of [shown, listed]) expect(text).not.toContain(secret);
    const [row] = listed.json['data'] as Record<string, unknown>[];
    for (const masked of [shown.json['secret'], row?.['secret']]) {
      expect(masked).toMatch(MASKED_SECRET);
      expect(String(masked).slice(-4)).toBe(secret.slice(-4));
    }
    expect(server.stdout() + server.stderr()).not.toContain(secret);
  });

  test('Each webhook has its own secret', async () => {
    const [one, other] = [await client.create(receiver.url, 'BLOCK'), await client.create(receiver.url, 'BLOCK')];
    expect(one.secret).not.toBe(other.secret);
  });
});

describe('contract, 10.8: the delivery record', () => {
  test('A delivery and its attempts have their fields in the contract’s order', async () => {
    const { id } = await client.create(receiver.url, 'BLOCK');
    const requestId = await decided('BLOCK');
    const row = await client.ended(`?request_id=${requestId}`);
    expect(Object.keys(row)).toEqual([
      'id',
      'webhook_id',
      'url',
      'event',
      'request_id',
      'status',
      'trigger',
      'attempt_count',
      'last_status_code',
      'last_error',
      'created_at',
      'completed_at',
      'next_attempt_at',
      'attempts',
    ]);
    expect(Object.keys(row.attempts[0] ?? {})).toEqual([
      'attempt',
      'started_at',
      'duration_ms',
      'status_code',
      'error',
    ]);
    expect(row).toMatchObject({
      webhook_id: id,
      url: receiver.url,
      event: 'BLOCK',
      request_id: requestId,
      status: 'succeeded',
      trigger: 'decision',
      attempt_count: 1,
      last_status_code: 200,
      last_error: null,
      next_attempt_at: null,
      attempts: [{ attempt: 1, status_code: 200, error: null }],
    });
    expect(Math.abs(row.created_at - Date.now() / 1000)).toBeLessThan(10);
  });

  test('A delivery can be read as soon as its decision was answered', async () => {
    await client.create(receiver.url, 'SOFT_CHALLENGE');
    for (let n = 0; n < 20; n++) {
      const requestId = await decided('SOFT_CHALLENGE');
      expect(await client.deliveries(`?request_id=${requestId}`)).toMatchObject([{ request_id: requestId }]);
    }
  });
});

describe('contract, 10.7: health', () => {
  test('Ten failed deliveries in a row make a webhook unhealthy, and nothing more is sent', async () => {
    receiver.answers(410);
    const { id } = await client.create(receiver.url, 'BLOCK');
    for (let n = 0; n < 10; n++) {
      const row = await client.ended(`?request_id=${await decided('BLOCK')}`);
      expect(row).toMatchObject({ status: 'failed', attempt_count: 1, last_status_code: 410, last_error: 'gone' });
    }
    const unhealthy = await withHealth(id, { status: 'unhealthy', consecutive_failures: 10, last_success_at: null });
    for (const name of ['unhealthy_since', 'next_probe_at', 'last_failure_at']) {
      expect(unhealthy[name]).toEqual(expect.any(Number));
    }
    const skipped = await client.ended(`?request_id=${await decided('BLOCK')}`);
    expect(skipped).toMatchObject({ status: 'skipped', attempt_count: 0, last_error: 'unhealthy', attempts: [] });
    expect(receiver.arrivals).toHaveLength(10);
  });

  test('Nine failed deliveries and a success leave a webhook healthy', async () => {
    receiver.answers(410, 410, 410, 410, 410, 410, 410, 410, 410, 200, 410);
    const { id } = await client.create(receiver.url, 'BLOCK');
    for (let n = 0; n < 11; n++) await client.ended(`?request_id=${await decided('BLOCK')}`);
    await withHealth(id, { status: 'healthy', consecutive_failures: 1 });
    expect(receiver.arrivals).toHaveLength(11);
  });

  test('A successful test heals a webhook, and the next matching decision is delivered', async () => {
    receiver.answers(...Array.from({ length: 11 }, () => 410), 200);
    const { id } = await client.create(receiver.url, 'BLOCK');
    for (let n = 0; n < 10; n++) await client.ended(`?request_id=${await decided('BLOCK')}`);
    expect(await client.ask('POST', `/v1/webhooks/${id}/test`)).toMatchObject({ status: 'failed', trigger: 'test' });
    await withHealth(id, {
      status: 'unhealthy',
      consecutive_failures: 10,
    });
    expect(await client.ask('POST', `/v1/webhooks/${id}/test`)).toMatchObject({ status: 'succeeded' });
    await withHealth(id, {
      status: 'healthy',
      consecutive_failures: 0,
      unhealthy_since: null,
      next_probe_at: null,
    });
    const row = await client.ended(`?request_id=${await decided('BLOCK')}`);
    expect(row).toMatchObject({ status: 'succeeded', trigger: 'decision' });
  });

  test('After the cool-down the next matching decision is a probe, whose success resumes all deliveries', async () => {
    receiver.answers(...Array.from({ length: 10 }, () => 410), 200);
    const { id } = await client.create(receiver.url, 'BLOCK');
    for (let n = 0; n < 10; n++) await client.ended(`?request_id=${await decided('BLOCK')}`);
    const { next_probe_at: probeAt } = await withHealth(id, { status: 'unhealthy' });
    const waitMs = (Number(probeAt) + 1) * 1000 - Date.now();
    expect(waitMs).toBeGreaterThan(10_000);
    expect(waitMs).toBeLessThan(17_000);
    await new Promise((done) => setTimeout(done, waitMs));
    const probe = await client.ended(`?request_id=${await decided('BLOCK')}`);
    expect(probe).toMatchObject({ status: 'succeeded', trigger: 'probe', attempt_count: 1 });
    await withHealth(id, { status: 'healthy', unhealthy_since: null });
    expect(await client.ended(`?request_id=${await decided('BLOCK')}`)).toMatchObject({ trigger: 'decision' });
  }, 180_000);
});

describe('contract, 10.2: endpoints', () => {
  test('POST creates a webhook, and its response must not be cached', async () => {
    const body = { url: receiver.url, event_types: ['BLOCK'], description: 'to the desk' };
    const made = await bearer(server.url, server.secretKey, 'POST', '/v1/webhooks', body);
    expect(made).toMatchObject({ status: 201, json: body });
    expect(made.headers['cache-control']).toBe('no-store');
    expect(made.headers['location']).toBe(`/v1/webhooks/${String(made.json['id'])}`);
    expect((await client.ask('GET', made.headers['location'] ?? ''))['id']).toBe(made.json['id']);
  });

  test('GET lists the caller’s own webhooks, newest first, page by page', async () => {
    const ids = [];
    for (let n = 0; n < 5; n++) ids.unshift((await client.create(receiver.url, 'BLOCK')).id);
    const all = await client.ask('GET', '/v1/webhooks');
    expect((all['data'] as { id: string }[]).map(({ id }) => id)).toEqual(ids);
    expect(all).toMatchObject({ has_more: false, next_cursor: null });
    const first = await client.ask('GET', '/v1/webhooks?limit=3');
    expect(first['has_more']).toBe(true);
    const rest = await client.ask('GET', `/v1/webhooks?limit=3&cursor=${String(first['next_cursor'])}`);
    const seen = [first, rest].flatMap(({ data }) => (data as { id: string }[]).map(({ id }) => id));
    expect(seen).toEqual(ids);
  });

  test('DELETE removes a webhook, and nothing more is sent', async () => {
    const { id } = await client.create(receiver.url, 'SOFT_CHALLENGE');
    await client.ended(`?request_id=${await decided('SOFT_CHALLENGE')}`);
    const path = `/v1/webhooks/${id}`;
    expect(await bearer(server.url, server.secretKey, 'DELETE', path)).toMatchObject({ status: 204, text: '' });
    const requestId = await decided('SOFT_CHALLENGE');
    for (const method of ['GET', 'DELETE']) {
      expect((await bearer(server.url, server.secretKey, method, path)).status).toBe(404);
    }
    expect(await client.deliveries(`?request_id=${requestId}`)).toEqual([]);
    expect(await client.deliveries(`?webhook_id=${id}`)).toHaveLength(1);
    expect(receiver.arrivals).toHaveLength(1);
  });

  test('DELETE ends the pending deliveries of a webhook', async () => {
    receiver.answers(500);
    const { id } = await client.create(receiver.url, 'SOFT_CHALLENGE');
    await decided('SOFT_CHALLENGE');
    await receiver.arrived(1);
    await client.ask('DELETE', `/v1/webhooks/${id}`);
    expect(await client.ended(`?webhook_id=${id}`)).toMatchObject({ status: 'skipped' });
    expect(receiver.arrivals).toHaveLength(1);
  });

  test('GET deliveries returns those of all the caller’s webhooks, newest first, and supports filters', async () => {
    const bad = await startReceiver();
    bad.answers(410);
    const good = await client.create(receiver.url, 'SOFT_CHALLENGE', 'REVIEW');
    const gone = await client.create(bad.url, 'REVIEW');
    const challenged = await decided('SOFT_CHALLENGE');
    const reviewed = await decided('REVIEW');
    await eventually('three ended deliveries', async () => {
      const rows = (await client.deliveries()).slice(0, 3);
      return rows.length === 3 && rows.every(({ status }) => status !== 'pending') ? rows : null;
    });
    await bad.close();
    const found = async (query: string): Promise<unknown[]> =>
      (await client.deliveries(query)).map((row) => [row.webhook_id, row.request_id, row.status]);
    const rows = [
      [good.id, challenged, 'succeeded'],
      [good.id, reviewed, 'succeeded'],
      [gone.id, reviewed, 'failed'],
    ];
    expect(await found(`?webhook_id=${good.id}`)).toEqual([rows[1], rows[0]]);
    expect(await found(`?webhook_id=${good.id}&event=REVIEW`)).toEqual([rows[1]]);
    expect(await found(`?webhook_id=${gone.id}&status=succeeded`)).toEqual([]);
    expect(await found(`?request_id=${reviewed}&status=failed`)).toEqual([rows[2]]);
    expect(await found(`?request_id=${challenged}`)).toEqual([rows[0]]);
    expect(await found(`?webhook_id=${NOBODYS_WEBHOOK}`)).toEqual([]);
    const newest = (await client.deliveries('?limit=3')).map(({ request_id: requestId }) => requestId);
    expect(newest).toEqual([reviewed, reviewed, challenged]);
  });

  test('GET deliveries returns each row once, page by page', async () => {
    const { id } = await client.create(receiver.url, 'SOFT_CHALLENGE');
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) ids.unshift(await decided('SOFT_CHALLENGE'));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page = await client.ask('GET', `/v1/webhooks/deliveries?webhook_id=${id}&limit=3${query}`);
      seen.push(...(page['data'] as { request_id: string }[]).map(({ request_id: requestId }) => requestId));
      cursor = page['next_cursor'] as string | null;
    } while (cursor !== null);
    expect(seen).toEqual(ids);
  });

  test('A customer can have at most 20 webhooks', async () => {
    for (let n = 0; n < 20; n++) await client.create(receiver.url, 'BLOCK');
    const refused = await bearer(server.url, server.secretKey, 'POST', '/v1/webhooks', {
      url: receiver.url,
      event_types: ['BLOCK'],
    });
    expect(refused.json).toMatchObject({ status: 409, code: 'limit_reached' });
    const { data } = await client.ask('GET', '/v1/webhooks');
    expect(data).toHaveLength(20);
    await client.ask('DELETE', `/v1/webhooks/${(data as { id: string }[])[0]?.id ?? ''}`);
    await client.create(receiver.url, 'BLOCK');
  });
});

describe('contract, 10.3 to 10.6: events', () => {
  test('A delivery is created for each decision whose value is in event_types, and for no other', async () => {
    const receivers = await Promise.all(DECISIONS.map(() => startReceiver()));
    for (const [i, value] of DECISIONS.entries()) await client.create(receivers[i]?.url ?? '', value);
    await client.create(receiver.url, 'ALLOW_WATCH', 'BLOCK');
    const ids: string[] = [];
    for (const value of DECISIONS) ids.push(await decided(value));
    for (const each of receivers) await each.arrived(1);
    await receiver.arrived(2);
    // Wrong deliveries would have been sent by then: deliveries of one decision are sent together.
    for (const requestId of ids) await client.ended(`?request_id=${requestId}&status=succeeded`);
    const idsAt = ({ arrivals }: Receiver): unknown[] =>
      arrivals.map(({ body }) => (JSON.parse(body.toString()) as { request_id: string }).request_id);
    expect(receivers.map(idsAt)).toEqual(ids.map((id) => [id]));
    expect(idsAt(receiver)).toEqual([ids[1], ids[4]]);
    for (const each of receivers) await each.close();
  });

  test('A decision with a public key is delivered as well', async () => {
    await client.create(receiver.url, 'SOFT_CHALLENGE');
    const { json } = await decideTo(server.url, server.publicKey, 'SOFT_CHALLENGE');
    const [arrival] = await receiver.arrived(1);
    expect(arrival?.body.toString()).toContain(String(json['request_id']));
  });

  test('The payload has exactly six fields, with the values of the response', async () => {
    await client.create(receiver.url, ...DECISIONS);
    for (const [i, value] of DECISIONS.entries()) {
      const { json } = await decideTo(server.url, server.secretKey, value);
      const arrival = (await receiver.arrived(i + 1))[i];
      const payload = JSON.parse(arrival?.body.toString() ?? '') as Record<string, unknown>;
      expect(Object.keys(payload)).toEqual(['event', 'request_id', 'decision', 'score', 'reasons', 'timestamp']);
      expect(payload).toEqual({
        event: value,
        request_id: json['request_id'],
        decision: value,
        score: json['score'],
        reasons: json['reasons'],
        timestamp: expect.any(Number),
      });
      expect(Number.isInteger(payload['timestamp'])).toBe(true);
      expect(Math.abs(Number(payload['timestamp']) - Date.now() / 1000)).toBeLessThan(10);
    }
  });

  test('A delivery is a POST of JSON, with both signatures by the secret from the creation', async () => {
    const { secret } = await client.create(`${receiver.url}?desk=1`, 'BLOCK');
    await decided('BLOCK');
    const [arrival] = await receiver.arrived(1);
    if (arrival === undefined) throw new Error('nothing arrived');
    expect([arrival.method, arrival.path]).toEqual(['POST', '/events?desk=1']);
    expect(header(arrival, 'content-type')).toBe('application/json');
    expect(header(arrival, 'x-svc-webhook-signature')).toBe(signatureOf(secret, arrival.body));
    expect(header(arrival, 'x-svc-webhook-ts')).toMatch(/^\d{10}$/);
    expect(header(arrival, 'webhook-timestamp')).toBe(header(arrival, 'x-svc-webhook-ts'));
    expect(Math.abs(Number(header(arrival, 'x-svc-webhook-ts')) - arrival.atMs / 1000)).toBeLessThan(3);
    expect(verifies(secret, arrival)).toBe(true);
    expect(verifies(secret, { ...arrival, body: Buffer.from('{}') })).toBe(false);
  });

  test('All attempts of a delivery have the same bytes and id, and the waits are 2 and 4 s', async () => {
    receiver.answers(500, 503, 204);
    const { secret } = await client.create(receiver.url, 'BLOCK');
    const requestId = await decided('BLOCK');
    const row = await client.ended(`?request_id=${requestId}`);
    expect(row).toMatchObject({
      status: 'succeeded',
      attempt_count: 3,
      last_status_code: 204,
      last_error: null,
      attempts: [
        { attempt: 1, status_code: 500, error: 'http_status' },
        { attempt: 2, status_code: 503, error: 'http_status' },
        { attempt: 3, status_code: 204, error: null },
      ],
    });
    const arrivals = receiver.arrivals.slice();
    expect(arrivals).toHaveLength(3);
    expect(new Set(arrivals.map(({ body }) => body.toString('hex'))).size).toBe(1);
    expect(new Set(arrivals.map((arrival) => header(arrival, 'webhook-id')))).toEqual(new Set([row.id]));
    const stamps = new Set(arrivals.map((arrival) => header(arrival, 'x-svc-webhook-ts')));
    expect(stamps.size).toBe(3);
    for (const arrival of arrivals) {
      expect(header(arrival, 'x-svc-webhook-signature')).toBe(signatureOf(secret, arrival.body));
      expect(verifies(secret, arrival)).toBe(true);
    }
    const gaps = arrivals.slice(1).map(({ atMs }, i) => atMs - (arrivals[i]?.atMs ?? 0));
    for (const [i, waitMs] of [2_000, 4_000].entries()) {
      expect(gaps[i]).toBeGreaterThan(waitMs - 100);
      expect(gaps[i]).toBeLessThan(waitMs + 1_500);
    }
  });

  test('A delivery has up to 4 attempts in total', async () => {
    receiver.answers(500);
    const { id } = await client.create(receiver.url, 'BLOCK');
    const row = await client.ended(`?request_id=${await decided('BLOCK')}`);
    expect(row).toMatchObject({ status: 'failed', attempt_count: 4, last_status_code: 500, last_error: 'http_status' });
    expect(receiver.arrivals).toHaveLength(4);
    await withHealth(id, { status: 'healthy', consecutive_failures: 1 });
  }, 180_000);

  test('A redirect is not followed and counts as a failure', async () => {
    receiver.answers(302, 200);
    await client.create(receiver.url, 'BLOCK');
    const row = await client.ended(`?request_id=${await decided('BLOCK')}`);
    expect(row.attempts).toMatchObject([{ status_code: 302, error: 'redirect_blocked' }, { status_code: 200 }]);
    expect(receiver.arrivals.map(({ path }) => path)).toEqual(['/events', '/events']);
  });
});

describe('contract, 10.2 and 10.8: test, rotate and retry', () => {
  test('A test sends one example payload immediately, and returns the delivery when it has ended', async () => {
    const { id, secret } = await client.create(receiver.url, 'REVIEW');
    const row = await client.ask('POST', `/v1/webhooks/${id}/test`);
    expect(row).toMatchObject({
      webhook_id: id,
      trigger: 'test',
      status: 'succeeded',
      attempt_count: 1,
      event: 'REVIEW',
    });
    const [arrival] = receiver.arrivals;
    if (arrival === undefined) throw new Error('nothing arrived');
    const payload = JSON.parse(arrival.body.toString()) as Record<string, unknown>;
    expect(Object.keys(payload)).toEqual(['event', 'request_id', 'decision', 'score', 'reasons', 'timestamp']);
    expect(header(arrival, 'x-svc-webhook-signature')).toBe(signatureOf(secret, arrival.body));
    expect(await client.ask('GET', `/v1/webhooks/deliveries/${String(row['id'])}`)).toEqual({
      ...row,
      body: arrival.body.toString(),
    });
  });

  test('A failed test is not retried and does not count', async () => {
    receiver.answers(500);
    const { id } = await client.create(receiver.url, 'REVIEW');
    const row = await client.ask('POST', `/v1/webhooks/${id}/test`);
    expect(row).toMatchObject({ status: 'failed', attempt_count: 1, last_status_code: 500, next_attempt_at: null });
    await withHealth(id, { consecutive_failures: 0 });
    expect(receiver.arrivals).toHaveLength(1);
  });

  test('During the grace of a rotation the first header uses the old secret and webhook-signature contains both', async () => {
    const { id, secret: old } = await client.create(receiver.url, 'BLOCK');
    const rotated = await bearer(server.url, server.secretKey, 'POST', `/v1/webhooks/${id}/rotate`, {
      grace_seconds: 86_400,
    });
    expect(rotated.headers['cache-control']).toBe('no-store');
    const fresh = String(rotated.json['secret']);
    expect(rotated).toMatchObject({ status: 200, json: { id } });
    expect(fresh).toMatch(WHOLE_SECRET);
    expect(fresh).not.toBe(old);
    const shown = await client.ask('GET', `/v1/webhooks/${id}`);
    expect(String(shown['secret']).slice(-4)).toBe(fresh.slice(-4));
    expect(shown['secret']).toMatch(MASKED_SECRET);
    await decided('BLOCK');
    const [arrival] = await receiver.arrived(1);
    if (arrival === undefined) throw new Error('nothing arrived');
    expect(header(arrival, 'x-svc-webhook-signature')).toBe(signatureOf(old, arrival.body));
    expect(header(arrival, 'webhook-signature').split(' ')).toHaveLength(2);
    expect([verifies(old, arrival), verifies(fresh, arrival)]).toEqual([true, true]);
  });

  test('A rotation without grace replaces the secret immediately', async () => {
    const { id, secret: old } = await client.create(receiver.url, 'BLOCK');
    const { secret } = await client.ask('POST', `/v1/webhooks/${id}/rotate`, { grace_seconds: 0 });
    await decided('BLOCK');
    const [arrival] = await receiver.arrived(1);
    if (arrival === undefined) throw new Error('nothing arrived');
    expect(header(arrival, 'x-svc-webhook-signature')).toBe(signatureOf(String(secret), arrival.body));
    expect([verifies(old, arrival), verifies(String(secret), arrival)]).toEqual([false, true]);
  });

  test('A retry sends the same bytes as a new delivery', async () => {
    receiver.answers(410, 200);
    const { id } = await client.create(receiver.url, 'BLOCK');
    const requestId = await decided('BLOCK');
    const failed = await client.ended(`?request_id=${requestId}`);
    const retried = await bearer(server.url, server.secretKey, 'POST', `/v1/webhooks/deliveries/${failed.id}/retry`);
    expect(retried).toMatchObject({
      status: 202,
      json: { webhook_id: id, request_id: requestId, event: 'BLOCK', trigger: 'manual' },
    });
    expect(retried.json['id']).not.toBe(failed.id);
    const path = retried.headers['location'] ?? '';
    const ended = await eventually('the end of the retry', async () => {
      const row = await client.ask('GET', path);
      return row['status'] === 'pending' ? null : row;
    });
    expect(ended).toMatchObject({ id: retried.json['id'], status: 'succeeded', attempt_count: 1 });
    const [first, second] = receiver.arrivals;
    expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
    expect(second?.headers['webhook-id']).toBe(retried.json['id']);
    expect(await client.ask('GET', `/v1/webhooks/deliveries/${failed.id}`)).toEqual({
      ...failed,
      body: String(first?.body),
    });
  });
});

describe('isolation', () => {
  let otherKey: string;
  beforeAll(async () => {
    ({ secretKey: otherKey } = await newCustomer(server.url, server.dataDir));
  });
  const theirs = (method: string, path: string, body?: unknown): Promise<Answer> =>
    bearer(server.url, otherKey, method, path, body);

  /** Checks that a foreign object and an unknown one give the same response. */
  async function expectNobodys(method: string, path: string, nobodys: string): Promise<void> {
    const [answer, unknown] = [await theirs(method, path), await theirs(method, nobodys)];
    expect(answer.json).toMatchObject({ status: 404, code: 'not_found' });
    expect({ ...answer.json, request_id: '' }).toEqual({ ...unknown.json, request_id: '' });
  }

  test('Another customer’s webhook cannot be listed, found, tested, rotated or deleted', async () => {
    const { id } = await client.create(receiver.url, 'BLOCK');
    const before = await client.ask('GET', `/v1/webhooks/${id}`);
    expect((await theirs('GET', '/v1/webhooks')).json['data']).toEqual([]);
    for (const [method, rest] of [
      ['GET', ''],
      ['POST', '/test'],
      ['POST', '/rotate'],
      ['DELETE', ''],
    ] as const) {
      await expectNobodys(method, `/v1/webhooks/${id}${rest}`, `/v1/webhooks/${NOBODYS_WEBHOOK}${rest}`);
    }
    expect(await client.ask('GET', `/v1/webhooks/${id}`)).toEqual(before);
    expect(receiver.arrivals).toHaveLength(0);
  });

  test('Another customer’s deliveries cannot be listed, found or retried', async () => {
    const { id } = await client.create(receiver.url, 'SOFT_CHALLENGE');
    const requestId = await decided('SOFT_CHALLENGE');
    const row = await client.ended(`?request_id=${requestId}`);
    for (const query of [
      '',
      `?webhook_id=${id}`,
      `?request_id=${requestId}`,
      '?status=succeeded',
      '?event=SOFT_CHALLENGE',
    ]) {
      const page = await theirs('GET', `/v1/webhooks/deliveries${query}`);
      expect(page.json).toEqual({ data: [], has_more: false, next_cursor: null });
    }
    const [path, nobodys] = [row.id, NOBODYS_DELIVERY].map((each) => `/v1/webhooks/deliveries/${each}`) as [
      string,
      string,
    ];
    await expectNobodys('GET', path, nobodys);
    await expectNobodys('POST', `${path}/retry`, `${nobodys}/retry`);
    expect(await client.deliveries(`?request_id=${requestId}`)).toEqual([row]);
    expect(receiver.arrivals).toHaveLength(1);
  });

  test('A decision is delivered only to its own customer', async () => {
    await client.create(receiver.url, ...DECISIONS);
    const others = await startReceiver();
    const { id } = await webhookClient(server.url, otherKey).create(others.url, ...DECISIONS);
    const foreign = await decideTo(server.url, otherKey, 'SOFT_CHALLENGE');
    await decided('SOFT_CHALLENGE');
    const [arrivals, own] = [await others.arrived(1), await receiver.arrived(1)];
    expect(arrivals[0]?.body.toString()).toContain(String(foreign.json['request_id']));
    expect(own.map(({ body }) => body.toString()).join('\n')).not.toContain(String(foreign.json['request_id']));
    expect([arrivals.length, own.length]).toEqual([1, 1]);
    expect((await theirs('DELETE', `/v1/webhooks/${id}`)).status).toBe(204);
    await others.close();
  });

  test('Another customer’s cursors are rejected', async () => {
    await client.create(receiver.url, 'SOFT_CHALLENGE');
    await client.create(receiver.url, 'SOFT_CHALLENGE');
    await decided('SOFT_CHALLENGE');
    for (const path of ['/v1/webhooks', '/v1/webhooks/deliveries']) {
      const page = await client.ask('GET', `${path}?limit=1`);
      const target = `${path}?limit=1&cursor=${String(page['next_cursor'])}`;
      expect((await bearer(server.url, server.secretKey, 'GET', target)).status).toBe(200);
      expect((await theirs('GET', target)).json).toMatchObject({ status: 400, code: 'invalid_request' });
    }
  });
});
