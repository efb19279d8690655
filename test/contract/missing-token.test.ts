import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../support/manage.ts';
import { CALM, newCustomer } from '../support/requests.ts';
import { REPEATABLE_ENV, startServer, type RunningServer } from '../support/server.ts';
import { stranger, visit, type Decided } from '../support/visits.ts';

/** Decisions for people whose browsers send no token, observed from outside. */

const HOUR = 3_600;
const DAY = 86_400;
const LONDON = '81.2.69.160';
const PARIS = '2.2.2.2';
const FIREFOX_ON_MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:150.0) Gecko/20100101 Firefox/150.0';

let server: RunningServer;
let waiting: { readonly secretKey: string; readonly publicKey: string }[] = [];
/** Time of the customers, which the server's virtual clock follows; it never goes back. */
let now = Math.ceil(Date.now() / 1000 / DAY) * DAY;

beforeAll(async () => {
  server = await startServer({ env: { ...REPEATABLE_ENV, GATEHOUSE_WORKERS: '2' } });
  // Creates the customers before the virtual clock leaves this machine's time.
  for (let n = 0; n < 6; n++) waiting.push(await newCustomer(server.url, server.dataDir));
});
afterAll(() => server.stop());

function another(): string {
  const [next, ...rest] = waiting;
  if (next === undefined) throw new Error('more customers must be created');
  waiting = rest;
  now += 3 * DAY;
  return next.secretKey;
}

const seen = (key: string, body: unknown): Promise<Decided> => visit(server.url, key, body, { timestampSeconds: now });

async function report(key: string, { requestId }: Decided, outcome: string): Promise<void> {
  const body = { request_id: requestId, outcome };
  const { json } = await bearer(server.url, key, 'POST', '/v1/outcomes', body);
  expect(json).toEqual({ accepted: 1, rejected: [] });
}

/** Rules with their evidence. */
async function evidence(key: string, { requestId }: Decided): Promise<readonly unknown[]> {
  const { json } = await bearer(server.url, key, 'GET', `/v1/decisions/${requestId}`);
  return json['contributions'] as readonly unknown[];
}

const MISSING = { reasons: ['missing_session_token'], score: 50 };

describe('requests without a session token', () => {
  test('A person becomes known without a token: one abroad with a stolen password is then unlike the account', async () => {
    const key = another();
    const owner = { ...CALM, ip: LONDON, event_type: 'login', entity_keys: { email: 'anna@mail.example' } };
    for (let n = 0; n < 6; n++) {
      now += DAY;
      expect(await seen(key, { ...owner, session_token: '' })).toMatchObject(MISSING);
    }
    now += HOUR;
    expect((await seen(key, { ...owner, session_token: randomUUID() })).reasons).toEqual([]);
    const thief = { ...owner, ip: PARIS, user_agent: FIREFOX_ON_MAC, session_token: randomUUID() };
    expect((await seen(key, thief)).reasons).toContain('context_unlike_person');
  });

  test.each(['reported', 'in the request'])(
    'A challenge that is passed without a token counts if it is %s',
    async (way) => {
      const key = another();
      const home = { ...CALM, ip: LONDON, event_type: 'login', entity_keys: { email: 'anna@mail.example' } };
      for (let n = 0; n < 6; n++) {
        now += DAY;
        await seen(key, { ...home, session_token: randomUUID() });
      }
      now += DAY;
      const away = { ...home, ip: PARIS, user_agent: FIREFOX_ON_MAC };
      expect((await seen(key, { ...away, session_token: randomUUID() })).score).toBeGreaterThanOrEqual(45);
      now += HOUR;
      const told = way === 'reported' ? {} : { outcome: 'challenge_passed' };
      const challenged = await seen(key, { ...away, ...told, session_token: '' });
      expect(challenged).toMatchObject(MISSING);
      if (way === 'reported') await report(key, challenged, 'challenge_passed');
      now += HOUR;
      expect((await seen(key, { ...away, session_token: randomUUID() })).score).toBeLessThan(30);
    },
  );

  test('Failed logins without a token count exactly like those with a new opaque token each', async () => {
    const found: unknown[] = [];
    for (const token of [(): string => '', randomUUID]) {
      const key = another();
      for (let n = 0; n < 12; n++) {
        now += 10;
        const attempt = { ...stranger('5.6.7.8'), entity_keys: { user_id: `user-${n}` }, session_token: token() };
        await report(key, await seen(key, attempt), 'failed');
      }
      const next = await seen(key, { ...stranger('5.6.7.8'), entity_keys: { user_id: 'next' } });
      expect(next.reasons).toContain('login_failures_ip_24h');
      found.push(next.score, await evidence(key, next));
    }
    expect(found.slice(0, 2)).toEqual(found.slice(2));
  });
});
