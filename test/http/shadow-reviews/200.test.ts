import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { CALM, decide, newCustomer, newcomer } from '../../support/requests.ts';
import { decided } from '../../support/reviews.ts';
import { sharedSamplingServer, sharedServer, type SharedServer } from '../../support/shared-server.ts';

interface Page {
  readonly data: readonly Record<string, unknown>[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

async function page(server: SharedServer, key: string, query = ''): Promise<Page> {
  const answer = await bearer(server.url, key, 'GET', `/v1/shadow-reviews${query}`);
  expect(answer.status).toBe(200);
  return answer.json as unknown as Page;
}

const idsOf = ({ data }: Page): unknown[] => data.map((row) => row['request_id']);

describe('GET /v1/shadow-reviews answers 200', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedSamplingServer();
  });

  test('a shadow_routed decision appears in the queue at once, with all fields', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    expect(await page(server, secretKey)).toEqual({ data: [], has_more: false, next_cursor: null });
    const before = Math.floor(Date.now() / 1000);
    const body = { ...CALM, user_agent: 'curl/8.5.0', session_token: 'a' };
    const { json: answer } = await decide(server.url, secretKey, body);
    expect(answer['shadow_routed']).toBe(true);
    const { data } = await page(server, secretKey);
    const occurredAt = data[0]?.['occurred_at'];
    expect(occurredAt).toBeGreaterThanOrEqual(before);
    expect(data).toEqual([
      {
        request_id: answer['request_id'],
        decision: answer['decision'],
        score: answer['score'],
        reasons: answer['reasons'],
        why: 'sample',
        occurred_at: occurredAt,
        verdict: null,
        assignee: null,
        note: null,
        closed_at: null,
      },
    ]);
  });

  test('the queue is listed newest first, in pages, and only for its own customer', async () => {
    const [one, two] = [await newCustomer(server.url, server.dataDir), await newCustomer(server.url, server.dataDir)];
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) {
      ids.push(await decided(server.url, one.secretKey));
      await decided(server.url, two.secretKey);
    }
    ids.sort().reverse();
    expect(idsOf(await page(server, one.secretKey))).toEqual(ids);
    const seen: unknown[] = [];
    let query = '?limit=3';
    for (;;) {
      const some = await page(server, one.secretKey, query);
      seen.push(...idsOf(some));
      expect(some.has_more).toBe(some.next_cursor !== null);
      if (some.next_cursor === null) break;
      query = `?limit=3&cursor=${some.next_cursor}`;
    }
    expect(seen).toEqual(ids);
    const [mine, theirs] = [await page(server, one.secretKey), await page(server, two.secretKey)];
    expect(idsOf(mine).some((id) => idsOf(theirs).includes(id))).toBe(false);
  });

  test('the queue is filtered by the parameters verdict and why', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const ids = [await decided(server.url, secretKey), await decided(server.url, secretKey)];
    await bearer(server.url, secretKey, 'POST', `/v1/shadow-reviews/${ids[0]}`, { verdict: 'unsure' });
    expect(idsOf(await page(server, secretKey, '?verdict=unsure'))).toEqual([ids[0]]);
    expect(idsOf(await page(server, secretKey, '?verdict=none'))).toEqual([ids[1]]);
    expect(idsOf(await page(server, secretKey, '?verdict=none&why=challenger'))).toEqual([]);
    expect(idsOf(await page(server, secretKey, '?why=sample'))).toHaveLength(2);
  });
});

const HEADLESS =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/149.0.0.0 Safari/537.36';

/** Decides about a new visitor's payment with a headless browser, which is a REVIEW. */
async function reviewed(server: SharedServer, key: string): Promise<string> {
  const { json } = await decide(server.url, key, { ...newcomer(), user_agent: HEADLESS, event_type: 'payment' });
  expect(json).toMatchObject({ decision: 'REVIEW' });
  return String(json['request_id']);
}

describe('The open work of GET /v1/shadow-reviews', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test('every REVIEW is open work, oldest or highest first, until it has a verdict, a label or was closed', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await reviewed(server, secretKey));
    const open = (more = ''): Promise<Page> => page(server, secretKey, `?queue=review&state=open${more}`);
    expect(idsOf(await open('&order=oldest'))).toEqual(ids);
    expect(idsOf(await open())).toEqual(ids.toReversed());
    const highest = (await open('&order=score')).data.map((row) => Number(row['score']));
    expect(highest).toEqual(highest.toSorted((a, b) => b - a));
    // None of them was sampled: the shadow review queue has none.
    expect((await page(server, secretKey)).data).toEqual([]);
    expect((await page(server, secretKey, '?queue=all')).data).toHaveLength(5);

    const change = (id: string | undefined, body: object) =>
      bearer(server.url, secretKey, 'POST', `/v1/shadow-reviews/${id}`, body);
    await change(ids[0], { verdict: 'legitimate' });
    await bearer(server.url, secretKey, 'POST', '/v1/labels', { request_id: ids[1], label: 'fraud' });
    const closed = await change(ids[2], { closed: true, note: ' sent back ', assignee: 'anna' });
    expect(closed.json).toMatchObject({ verdict: null, note: 'sent back', assignee: 'anna' });
    expect(closed.json['closed_at']).toEqual(expect.any(Number));
    expect(idsOf(await open('&order=oldest'))).toEqual(ids.slice(3));
    expect(idsOf(await page(server, secretKey, '?queue=review&state=done&order=oldest'))).toEqual(ids.slice(0, 3));
    const again = await change(ids[2], { closed: false, note: null });
    expect(again.json).toMatchObject({ closed_at: null, note: null, assignee: 'anna' });
    expect(idsOf(await open('&order=oldest'))).toEqual(ids.slice(2));
  });

  test.each(['oldest', 'newest', 'score'])('pages in the order %s have every row once', async (order) => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await reviewed(server, secretKey));
    const seen: unknown[] = [];
    let cursor = '';
    do {
      const some = await page(server, secretKey, `?queue=review&limit=2&order=${order}${cursor}`);
      seen.push(...idsOf(some));
      cursor = some.next_cursor === null ? '' : `&cursor=${some.next_cursor}`;
    } while (cursor !== '');
    expect(seen).toHaveLength(ids.length);
    expect(new Set(seen)).toEqual(new Set(ids));
  });

  test('the audit log names who assigned and closed a row, without the note', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const id = await reviewed(server, secretKey);
    await bearer(server.url, secretKey, 'POST', `/v1/shadow-reviews/${id}`, { assignee: 'anna', note: 'private' });
    const { json, text } = await bearer(server.url, secretKey, 'GET', '/v1/audit?kind=review.changed');
    expect(json['data']).toMatchObject([
      { target: id, before: { assignee: null, has_note: false }, after: { assignee: 'anna', has_note: true } },
    ]);
    expect(text).not.toContain('private');
  });
});

describe('POST /v1/shadow-reviews/{request_id} answers 200', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedSamplingServer();
  });

  test.each(['fraud', 'legitimate', 'unsure'])('the verdict %s is 200 with the updated row', async (verdict) => {
    const id = await decided(server.url, server.secretKey);
    const path = `/v1/shadow-reviews/${id}`;
    const answer = await call(server.url, server.secretKey, 'POST', path, { verdict });
    expect([answer.status, answer.json['request_id'], answer.json['verdict']]).toEqual([200, id, verdict]);
    expect((await page(server, server.secretKey)).data).toContainEqual(answer.json);
    const again = await bearer(server.url, server.secretKey, 'POST', path, { verdict: 'unsure' });
    expect(again.json).toEqual({ ...answer.json, verdict: 'unsure' });
  });

  test('a label of a queued decision is its verdict', async () => {
    const id = await decided(server.url, server.secretKey);
    const labelled = await bearer(server.url, server.secretKey, 'POST', '/v1/labels', {
      request_id: id,
      label: 'fraud',
    });
    expect(labelled.status).toBe(201);
    const { data } = await page(server, server.secretKey, '?verdict=fraud');
    expect(data.map((row) => row['request_id'])).toContain(id);
  });
});
