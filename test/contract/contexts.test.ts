import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../support/manage.ts';
import { CALM } from '../support/requests.ts';
import { REPEATABLE_ENV, startServer, type RunningServer } from '../support/server.ts';
import { collectorToken, contribution, visit, type Decided } from '../support/visits.ts';

/** Decisions on the contexts in which an account is used, observed from outside. */

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;
const LONDON = '81.2.69.160';
const LEEDS = '90.200.3.4';
const SYDNEY = '1.1.1.1';
const PARIS = '2.2.2.2';
const CHROME = CALM.user_agent;
const FIREFOX_ON_MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:150.0) Gecko/20100101 Firefox/150.0';
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 19_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.5 Mobile/15E148 Safari/604.1';

let server: RunningServer;
/** Time of the customers, which the server's virtual clock follows; it never goes back. */
let now = Math.ceil(Date.now() / 1000 / DAY) * DAY;

beforeAll(async () => {
  server = await startServer({ env: { ...REPEATABLE_ENV, GATEHOUSE_WORKERS: '2' } });
});
afterAll(() => server.stop());

interface Where {
  readonly ip: string;
  readonly agent: string;
  /** A device with the collector. */
  readonly device?: string;
  readonly session?: string;
  readonly outcome?: string;
}

function seen(email: string, eventType: string, where: Where): Promise<Decided> {
  const { ip, agent, device, session = randomUUID(), outcome } = where;
  const body = {
    ip,
    user_agent: agent,
    session_token: device === undefined ? session : collectorToken(device, session, now),
    event_type: eventType,
    entity_keys: { email },
    ...(outcome === undefined ? {} : { outcome }),
  };
  return visit(server.url, server.secretKey, body, { timestampSeconds: now });
}

/** Creates an account with that number of logins at home, one day apart; the last one was three hours ago. */
async function account(home: Where, logins = 6): Promise<string> {
  const email = someone();
  now += 2 * DAY - (now % DAY);
  for (let n = 0; n < logins; n++) {
    now += DAY;
    await seen(email, 'login', home);
  }
  now += 3 * HOUR;
  return email;
}

let people = 0;
const someone = (): string => `anna.schmidt${people++}@mail.example`;
const home = (): Where => ({ ip: LONDON, agent: CHROME, device: `phone ${randomUUID()}` });
const laptop = (ip: string): Where => ({ ip, agent: FIREFOX_ON_MAC, device: `laptop ${randomUUID()}` });

describe('honest people', () => {
  test('People on a journey with their own phone score below a challenge', async () => {
    const own = home();
    const email = await account(own);
    const abroad = { ...own, ip: SYDNEY, session: randomUUID() };
    const login = await seen(email, 'login', abroad);
    expect(login.reasons).toEqual(['travel_impossible']);
    expect(await contribution(server.url, server.secretKey, login.requestId, 'travel_impossible')).toMatchObject({
      weight: 0.2,
    });
    now += MINUTE;
    expect((await seen(email, 'checkout', abroad)).score).toBeLessThan(45);
    now += 2 * DAY;
    expect((await seen(email, 'login', { ...own, ip: PARIS })).reasons).toEqual([]);
  });

  test('People with a new phone at home are not challenged', async () => {
    const email = await account(home());
    const phone = { ...laptop(LONDON), session: randomUUID() };
    expect((await seen(email, 'login', phone)).reasons).toEqual(['device_new_for_entity']);
    now += MINUTE;
    expect((await seen(email, 'checkout', phone)).score).toBeLessThan(30);
  });

  test('Members of a household can share a computer and buy on it', async () => {
    const family = Array.from({ length: 7 }, someone);
    const computer = home();
    now += 2 * DAY;
    for (const email of family) {
      now += 10 * MINUTE;
      const { score } = await seen(email, 'checkout', computer);
      expect(score).toBeLessThan(30);
    }
    const last = await seen(family[6] ?? '', 'checkout', computer);
    expect(await contribution(server.url, server.secretKey, last.requestId, 'device_many_entities')).toMatchObject({
      weight: 0.15,
    });
  });

  test('People may use all their devices and networks on the first day of their account', async () => {
    now += 2 * DAY;
    const email = someone();
    const own = home();
    await seen(email, 'signup', own);
    for (const where of [own, { ...own, ip: LEEDS }, laptop(LEEDS), laptop(LONDON), own]) {
      now += HOUR;
      expect((await seen(email, 'login', where)).score).toBeLessThan(45);
    }
  });

  test('People with a new device in a new city are not challenged again once the customer reports that they passed a challenge', async () => {
    const email = await account(home());
    const away = laptop(PARIS);
    now += 2 * DAY;
    expect((await seen(email, 'login', { ...away, outcome: 'challenge_passed' })).score).toBeLessThan(30);
    now += HOUR;
    expect((await seen(email, 'login', away)).score).toBeLessThan(30);
  });

  test.each<readonly [string, string, string | undefined]>([
    ['a login whose success was in the decision', 'login', 'succeeded'],
    ['a login whose success was reported', 'login', undefined],
    ['a checkout', 'checkout', undefined],
  ])(
    'People with a new device in a new city are not challenged again once they have passed a challenge after %s',
    async (_name, eventType, told) => {
      const email = await account(home());
      const away = laptop(PARIS);
      now += 2 * DAY;
      const first = await seen(email, eventType, { ...away, ...(told === undefined ? {} : { outcome: told }) });
      expect(first.score).toBeGreaterThanOrEqual(45);
      for (const outcome of told === undefined ? ['succeeded', 'challenge_passed'] : ['challenge_passed']) {
        const body = { request_id: first.requestId, outcome };
        const { json } = await bearer(server.url, server.secretKey, 'POST', '/v1/outcomes', body);
        expect(json).toEqual({ accepted: 1, rejected: [] });
      }
      now += HOUR;
      expect((await seen(email, eventType, away)).score).toBeLessThan(30);
    },
  );
});

describe('strangers with the e-mail address of a person', () => {
  test.each([true, false])(
    'Logins by strangers with a person’s e-mail address do not cause a challenge for the person at home; with the collector: %s',
    async (hasCollector) => {
      const own: Where = hasCollector ? home() : { ip: LONDON, agent: CHROME };
      now += 2 * DAY;
      const email = someone();
      await seen(email, 'login', own);
      for (const ip of [SYDNEY, PARIS, SYDNEY]) {
        now += 10 * MINUTE;
        await seen(email, 'login', hasCollector ? laptop(ip) : { ip, agent: FIREFOX_ON_MAC });
      }
      now += 10 * MINUTE;
      expect((await seen(email, 'login', own)).reasons).toEqual([]);
    },
  );

  test('Strangers do not become known by repeated logins', async () => {
    const email = await account(home());
    const thief = laptop(PARIS);
    now += DAY;
    for (let n = 0; n < 3; n++) {
      now += HOUR;
      expect((await seen(email, 'login', thief)).reasons).toContain('context_unlike_person');
    }
  });
});

describe('thieves', () => {
  test('Thieves in the same country are detected by device, network and location, and by their next steps', async () => {
    // Addresses without a location: the /16 is used instead.
    const email = await account({ ...home(), ip: '11.1.1.1' });
    const thief = { ...laptop('12.2.2.2'), session: randomUUID() };
    const login = await seen(email, 'login', thief);
    expect(login.reasons).toContain('context_unlike_person');
    expect(login.score).toBeGreaterThanOrEqual(50);
    const { weight, evidence } = await contribution(
      server.url,
      server.secretKey,
      login.requestId,
      'context_unlike_person',
    );
    expect(weight).toBe(0.5);
    expect(evidence).toMatch(
      /^email: device, network and place are new to an account of 6 sessions, ratio \d\.\d \(over 2\)$/,
    );
    now += MINUTE;
    const checkout = await seen(email, 'checkout', thief);
    expect(checkout.reasons).toEqual(expect.arrayContaining(['context_unlike_person', 'context_then_value']));
    expect(checkout.score).toBeGreaterThanOrEqual(60);
    expect((await seen(email, 'change_email', thief)).reasons).toContain('context_then_value');
  });

  test('Thieves abroad are detected days later', async () => {
    const email = await account(home());
    now += 3 * DAY;
    const login = await seen(email, 'login', laptop(SYDNEY));
    expect(login.reasons).toContain('context_unlike_person');
    expect(login.score).toBeGreaterThanOrEqual(50);
  });

  test('Thieves without the collector are detected by their user agent', async () => {
    const email = await account({ ip: LONDON, agent: CHROME });
    now += 3 * DAY;
    expect((await seen(email, 'login', { ip: SYDNEY, agent: IPHONE })).reasons).toContain('context_unlike_person');
  });

  test('Thieves of a session are detected by browser and network, and its owner can continue', async () => {
    const session = randomUUID();
    const own = { ip: LONDON, agent: CHROME, session };
    const email = await account({ ip: LONDON, agent: CHROME });
    expect((await seen(email, 'search', own)).reasons).toEqual([]);
    for (let n = 0; n < 2; n++) {
      now += MINUTE;
      const stolen = await seen(email, 'checkout', { ip: LEEDS, agent: FIREFOX_ON_MAC, session });
      expect(stolen.reasons).toContain('session_taken_over');
      expect(stolen.score).toBeGreaterThanOrEqual(50);
      now += MINUTE;
      expect((await seen(email, 'search', own)).reasons).not.toContain('session_taken_over');
    }
  });
});
