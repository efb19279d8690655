import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../support/manage.ts';
import { newCustomer } from '../support/requests.ts';
import { REPEATABLE_ENV, startServer, type RunningServer } from '../support/server.ts';
import { collectorToken, contribution, stranger, visit, type Decided, type Visit } from '../support/visits.ts';

/** Promises about outcomes, observed from outside, with two score workers. */

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;
const LONDON = '81.2.69.160';
const NEAR_LONDON = '81.2.70.160';
const SYDNEY = '1.1.1.1';
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0';

let server: RunningServer;
let keys: { readonly secretKey: string; readonly publicKey: string };
/** Time of the customers, which the server's virtual clock follows; it never goes back. */
let now = Math.ceil(Date.now() / 1000 / DAY) * DAY;
let waiting: readonly { readonly secretKey: string; readonly publicKey: string }[] = [];

beforeAll(async () => {
  server = await startServer({ env: { ...REPEATABLE_ENV, GATEHOUSE_WORKERS: '2' } });
  // Creates the customers before the virtual clock leaves this machine's time.
  const made: { readonly secretKey: string; readonly publicKey: string }[] = [];
  for (let n = 0; n < 16; n++) made.push(await newCustomer(server.url, server.dataDir));
  waiting = made;
});
afterAll(() => server.stop());

/** Switches to a new customer, one per test. */
function another(): void {
  const [next, ...rest] = waiting;
  if (next === undefined) throw new Error('more customers must be created');
  keys = next;
  waiting = rest;
  now += 3 * DAY;
}

const seen = (body: unknown, key = keys.secretKey): Promise<Decided> =>
  visit(server.url, key, body, { timestampSeconds: now });

async function report(outcomes: readonly (readonly [Decided, string])[]): Promise<void> {
  const body = { outcomes: outcomes.map(([{ requestId }, outcome]) => ({ request_id: requestId, outcome })) };
  const { json } = await bearer(server.url, keys.secretKey, 'POST', '/v1/outcomes', body);
  expect(json).toEqual({ accepted: outcomes.length, rejected: [] });
}

/** Sends many requests concurrently, so that both workers get some. */
async function seenByAll(body: () => unknown, reason: string): Promise<number> {
  const all = await Promise.all(Array.from({ length: 8 }, () => seen(body())));
  return all.filter(({ reasons }) => reasons.includes(reason)).length;
}

const evidenceOf = async ({ requestId }: Decided, reason: string): Promise<string> =>
  (await contribution(server.url, keys.secretKey, requestId, reason)).evidence;

/** Sends failed logins; the outcome is reported afterwards or included in the login. */
async function failLogins(count: number, body: () => Visit, told = false): Promise<void> {
  for (let n = 0; n < count; n++) {
    now += 10;
    if (told) await seen({ ...body(), outcome: 'failed' });
    else await report([[await seen(body()), 'failed']]);
  }
}

describe.each([
  ['reported', false],
  ['included in the login', true],
])('failed logins, %s', (_name, told) => {
  test('Over 9 failed logins of one account in an hour make the rule fire, in every worker', async () => {
    another();
    const victim = stranger(LONDON);
    await seen({ ...victim, session_token: randomUUID(), outcome: 'succeeded' });
    let n = 0;
    const guess = (): Visit => ({
      ...victim,
      ip: `5.6.7.${++n}`,
      user_agent: FIREFOX,
      session_token: randomUUID(),
    });
    await failLogins(9, guess, told);
    expect((await seen(guess())).reasons).not.toContain('login_failures_entity_1h');
    await failLogins(1, guess, told);
    const eleventh = await seen(guess());
    expect(eleventh.score).toBeGreaterThanOrEqual(55);
    expect(await evidenceOf(eleventh, 'login_failures_entity_1h')).toBe('user_id: 10 failed logins in 1 h (over 9)');
    expect(await seenByAll(guess, 'login_failures_entity_1h')).toBe(8);
    // Strangers must not be able to lock the account: its owner at home is unaffected.
    expect((await seen({ ...victim, session_token: randomUUID() })).reasons).not.toContain('login_failures_entity_1h');
    now += HOUR + 5 * MINUTE;
    expect((await seen(guess())).reasons).not.toContain('login_failures_entity_1h');
  });

  test('Over 8 accounts that fail at one address in a day make the rule fire for accounts that are new there, and successes of new accounts do not end it', async () => {
    another();
    const ip = '5.6.7.8';
    await failLogins(8, () => stranger(ip), told);
    expect((await seen(stranger(ip))).reasons).not.toContain('login_failures_ip_24h');
    await failLogins(1, () => stranger(ip), told);
    now += 5 * HOUR;
    const next = await seen(stranger(ip));
    expect(await evidenceOf(next, 'login_failures_ip_24h')).toBe(
      '9 accounts failed at the address in 24 h (over 8), and 0 succeeded, of which 0 were known',
    );
    expect(await seenByAll(() => stranger(ip), 'login_failures_ip_24h')).toBe(8);
    await report([
      [await seen(stranger(ip)), 'succeeded'],
      [await seen(stranger(ip)), 'succeeded'],
      [await seen(stranger(ip)), 'challenge_passed'],
    ]);
    expect((await seen(stranger(ip))).reasons).toContain('login_failures_ip_24h');
  });

  test('Failed logins on many networks are a surge for unknown accounts only', async () => {
    another();
    const home = stranger(LONDON);
    await seen({ ...home, outcome: 'succeeded' });
    let n = 0;
    const elsewhere = (): Visit => stranger(`9.${++n}.1.1`);
    await failLogins(5, elsewhere, told);
    expect((await seen(elsewhere())).reasons).not.toContain('login_failures_surge_10m');
    await failLogins(1, elsewhere, told);
    const next = await seen(elsewhere());
    expect(next.score).toBeGreaterThanOrEqual(50);
    expect(await evidenceOf(next, 'login_failures_surge_10m')).toBe(
      'failed logins on 6 networks in 10 min (6 or more; usually 0.0), 86 % of all',
    );
    expect(await seenByAll(elsewhere, 'login_failures_surge_10m')).toBe(8);
    expect((await seen({ ...home, session_token: randomUUID() })).reasons).not.toContain('login_failures_surge_10m');
    now += 11 * MINUTE;
    expect((await seen(elsewhere())).reasons).not.toContain('login_failures_surge_10m');
  });

  test('Failed logins from abroad never cause impossible travel or a new device for the owner', async () => {
    another();
    const owner = { ...stranger(LONDON), session_token: collectorToken('phone', randomUUID(), now) };
    await seen({ ...owner, outcome: 'succeeded' });
    now += 2 * DAY;
    await seen({ ...owner, session_token: collectorToken('phone', randomUUID(), now) });
    now += HOUR;
    const thief = (): Visit => ({ ...owner, ip: SYDNEY, session_token: collectorToken('pc', randomUUID(), now) });
    await failLogins(3, thief, told);
    now += HOUR;
    const back = await seen({ ...owner, session_token: collectorToken('phone', randomUUID(), now) });
    expect(back.reasons).toEqual([]);
    // The thief's device and location are as new as before.
    expect((await seen(thief())).reasons).toEqual(
      expect.arrayContaining(['device_new_for_entity', 'travel_impossible']),
    );
  });
});

describe('an outcome that is not known yet', () => {
  test('A login without an outcome yet counts as activity of the account', async () => {
    another();
    const owner = stranger(LONDON);
    await seen(owner);
    now += HOUR;
    await seen({ ...owner, ip: SYDNEY, session_token: randomUUID() });
    now += HOUR;
    // On a different network: at home the known network would protect the account from the other login.
    const near = { ...owner, ip: NEAR_LONDON, session_token: randomUUID() };
    expect((await seen(near)).reasons).toContain('travel_impossible');
  });
});

describe('payments that are declined', () => {
  test('Declined payments of one session make the rule fire from the 4th on', async () => {
    another();
    const payer = stranger(LONDON, 'payment');
    for (let n = 0; n < 3; n++) await report([[await seen(payer), 'declined']]);
    expect((await seen(payer)).reasons).not.toContain('payment_declines_actor_1h');
    await report([[await seen(payer), 'challenge_failed']]);
    const next = await seen(payer);
    expect(await evidenceOf(next, 'payment_declines_actor_1h')).toBe(
      'the session: 4 declined payments in 1 h (4 or more)',
    );
    const checkout = { ...payer, event_type: 'checkout', session_token: randomUUID(), ip: '5.6.7.8' };
    expect(await evidenceOf(await seen(checkout), 'payment_declines_actor_1h')).toContain('user_id: 4 declined');
  });

  test('Declined payments on many networks are a surge for unknown visitors', async () => {
    another();
    let n = 0;
    const payer = (): Visit => stranger(`9.${++n}.1.1`, 'payment');
    for (let i = 0; i < 6; i++) await report([[await seen(payer()), 'declined']]);
    expect((await seen(payer())).reasons).toContain('payment_declines_surge_10m');
    expect((await seen(stranger('9.99.1.1'))).reasons).not.toContain('payment_declines_surge_10m');
  });

  test('The payment rule has a low weight in a session without declines that buys many gifts', async () => {
    another();
    const payer = stranger(LONDON, 'payment');
    for (let n = 0; n < 4; n++) await report([[await seen(payer), 'succeeded']]);
    const fifth = await seen(payer);
    const { weight } = await contribution(server.url, keys.secretKey, fifth.requestId, 'velocity_session_payments_1h');
    expect(weight).toBe(0.25);
  });
});

describe('an address where logins succeed', () => {
  test('An address with successful logins has 60 % less weight in the rules about cold starts', async () => {
    another();
    const ip = '5.6.7.9';
    const office: [Decided, string][] = [];
    for (let n = 0; n < 10; n++) office.push([await seen(stranger(ip)), n < 2 ? 'failed' : 'succeeded']);
    await report(office);
    const next = await seen(stranger(ip));
    expect(next.reasons).toEqual(['velocity_ip_logins_10m', 'velocity_ip_entities_1h']);
    expect(next.score).toBe(24);
    expect(await evidenceOf(next, 'velocity_ip_logins_10m')).toBe(
      '11 cold logins from the address in 10 min (over 10); 8 accounts logged in there',
    );
  });
});

describe('a report', () => {
  test('An outcome may be reported late, but not after a day', async () => {
    another();
    const login = await seen(stranger(LONDON));
    now += DAY - 1;
    await seen(stranger(LONDON));
    await report([[login, 'failed']]);
    now += 1;
    await seen(stranger(LONDON));
    const body = { request_id: login.requestId, outcome: 'succeeded' };
    const { json } = await bearer(server.url, keys.secretKey, 'POST', '/v1/outcomes', body);
    expect(json).toEqual({ accepted: 0, rejected: [{ index: 0, code: 'unknown_request' }] });
  });

  test('An outcome counts once, whatever the request itself contained, and the last report wins', async () => {
    another();
    const ip = '5.6.7.8';
    const logins: Decided[] = [];
    for (let n = 0; n < 9; n++) logins.push(await seen({ ...stranger(ip), outcome: 'failed' }));
    for (let again = 0; again < 2; again++) await report(logins.map((login) => [login, 'failed']));
    const fired = await seen(stranger(ip));
    expect(await evidenceOf(fired, 'login_failures_ip_24h')).toMatch(/^9 accounts failed/);
    await report(logins.map((login) => [login, 'succeeded']));
    expect((await seen(stranger(ip))).reasons).not.toContain('login_failures_ip_24h');
  });

  test('An outcome in a decide request with a public key affects later requests with neither the public nor the secret key', async () => {
    another();
    const ip = '5.6.7.8';
    for (let n = 0; n < 9; n++) await seen({ ...stranger(ip), outcome: 'failed' }, keys.publicKey);
    for (const key of [keys.publicKey, keys.secretKey])
      expect((await seen(stranger(ip), key)).reasons).not.toContain('login_failures_ip_24h');
  });
});
