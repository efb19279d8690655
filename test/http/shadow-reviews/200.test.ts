import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { CALM, decide, newCustomer } from '../../support/requests.ts';
import { decided } from '../../support/reviews.ts';
import { sharedSamplingServer, type SharedServer } from '../../support/shared-server.ts';

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
