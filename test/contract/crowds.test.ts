import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CALM, newCustomer } from '../support/requests.ts';
import { REPEATABLE_ENV, startServer, type RunningServer } from '../support/server.ts';
import { contribution, stranger, visit, type Decided, type Visit } from '../support/visits.ts';

/**
 * Promises of the rules about crowds of unknown visitors, observed from outside, with two score workers: each attack, and a similar crowd
 * of honest people.
 */

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 26_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.5 Mobile/15E148 Safari/604.1';

let server: RunningServer;
let key = '';
/** Time of the customers, which the server's virtual clock follows; it never goes back. */
let now = Math.ceil(Date.now() / 1000 / DAY) * DAY;
let waiting: readonly string[] = [];
let serial = 0;

beforeAll(async () => {
  server = await startServer({ env: { ...REPEATABLE_ENV, GATEHOUSE_WORKERS: '2' } });
  // Creates the customers before the virtual clock leaves this machine's time.
  const made: string[] = [];
  for (let n = 0; n < 16; n++) made.push((await newCustomer(server.url, server.dataDir)).secretKey);
  waiting = made;
});
afterAll(() => server.stop());

const seen = (body: unknown): Promise<Decided> => visit(server.url, key, body, { timestampSeconds: now });
const evidenceOf = async ({ requestId }: Decided, reason: string): Promise<string> =>
  (await contribution(server.url, key, requestId, reason)).evidence;

/** Switches to a new customer without history, one per test. */
function another(): void {
  const [next, ...rest] = waiting;
  if (next === undefined) throw new Error('more customers must be created');
  key = next;
  waiting = rest;
  now += 3 * DAY - (now % DAY);
}

/** Address of a person's home, each in its own network. */
const homeOf = (n: number): string => `82.${40 + (n >> 7)}.${(n & 127) * 2}.7`;

interface Person extends Visit {
  readonly home: string;
}

function personOf(n: number): Person {
  const body = stranger(homeOf(n));
  return { ...body, home: homeOf(n), entity_keys: { user_id: `known-${n}` } };
}

const comes = ({ home, ...body }: Person, eventType = 'login', ip = home): Visit => {
  serial++;
  return { ...body, ip, event_type: eventType, session_token: `visit-${serial}` };
};

/** Switches to a customer that is four days old, with 30 people who log in once a day. */
async function established(): Promise<readonly Person[]> {
  another();
  const people = Array.from({ length: 30 }, (_, n) => personOf(n));
  for (let day = 0; day < 4; day++) {
    for (const person of people) {
      await seen(comes(person));
      now += 40 * MINUTE;
    }
    now += DAY - (now % DAY);
  }
  now += 9 * HOUR;
  return people;
}

/** Sends all requests concurrently, in no particular order, so that both workers get some. */
function together(bodies: readonly unknown[]): Promise<Decided[]> {
  return Promise.all(bodies.map((body) => seen(body)));
}

const reasonsOf = (answers: readonly Decided[]): Set<string> => new Set(answers.flatMap(({ reasons }) => reasons));

/** Unknown visitors at home, each in their own network. */
const strangers = (count: number, eventType: string, user_agent = CALM.user_agent): Visit[] =>
  Array.from({ length: count }, (_, n) => ({
    ...stranger(`84.${60 + (n >> 7)}.${(n & 127) * 2}.9`, eventType),
    user_agent,
  }));

describe('stuffing from many networks', () => {
  test('Stuffing fires from the 9th network of unknown visitors in 10 min, and does not affect known people', async () => {
    const people = await established();
    expect(reasonsOf(await together(strangers(8, 'login')))).toEqual(new Set());
    const ninth = await seen(stranger('85.10.10.9'));
    expect(ninth).toMatchObject({ score: 50, reasons: ['strangers_surge_10m'] });
    expect(await evidenceOf(ninth, 'strangers_surge_10m')).toMatch(
      /^logins of unknown identities, from 9 networks in 10 min \(9 or more; usually 0\.\d\)$/,
    );
    expect(reasonsOf(await together(people.map((person) => comes(person))))).toEqual(new Set());
    now += 10 * MINUTE;
    expect((await seen(stranger('85.10.12.9'))).reasons).toEqual([]);
  });

  test('Logins of unknown visitors on a customer’s first day, and a mail campaign that leads to the checkout, fire no surge rule', async () => {
    another();
    expect(reasonsOf(await together(strangers(40, 'login')))).toEqual(new Set());
    await established();
    expect(reasonsOf(await together(strangers(60, 'checkout')))).toEqual(new Set());
  });

  test('Stuffing with one tool fires on its user agent, which known people do not have', async () => {
    const people = await established();
    for (let round = 0; round < 2; round++) {
      await together(people.map((person) => comes(person)));
      now += HOUR + MINUTE;
    }
    const tool = strangers(10, 'login', IPHONE);
    const first = await together(tool.slice(0, 9));
    expect(reasonsOf(first)).not.toContain('agent_surge_1h');
    const [tenth = tool[0]] = tool.slice(9);
    const answer = await seen(tenth);
    expect(answer.reasons).toEqual(['strangers_surge_10m', 'agent_surge_1h']);
    expect(await evidenceOf(answer, 'agent_surge_1h')).toBe(
      'unknown identities with exactly this agent on 10 networks in 1 h (10 or more), 100 % of them; usually 0.0 %',
    );
    // A very common user agent does not stand out in a crowd.
    expect(reasonsOf(await together(strangers(30, 'signup')))).not.toContain('agent_surge_1h');
  });
});

describe('sign-ups', () => {
  test('Sign-ups from 14 networks in 1 h make the rule fire, and those of a class behind one address do not', async () => {
    await established();
    const school = Array.from({ length: 30 }, () => stranger('86.20.20.20', 'signup'));
    expect(reasonsOf(await together(school))).not.toContain('signup_surge_1h');
    expect(reasonsOf(await together(strangers(12, 'signup')))).not.toContain('signup_surge_1h');
    const answer = await seen(stranger('87.1.1.1', 'signup'));
    expect(answer).toMatchObject({ score: 50, reasons: ['signup_surge_1h'] });
    expect(await evidenceOf(answer, 'signup_surge_1h')).toMatch(/^sign-ups from 14 networks in 1 h/);
  });

  test('Sign-ups with spellings of one mailbox make the rule fire from the 3rd on, and two tags of one person do not', async () => {
    await established();
    const signUp = (email: string) => seen({ ...stranger(homeOf(50 + serial++), 'signup'), entity_keys: { email } });
    for (const email of ['anna.a@gmail.com', 'anna.a+shop@gmail.com'])
      expect((await signUp(email)).reasons).toEqual([]);
    const third = await signUp('an.naa@googlemail.com');
    expect(third).toMatchObject({ score: 55, reasons: ['email_same_mailbox'] });
    expect(await evidenceOf(third, 'email_same_mailbox')).toBe('3 spellings of one mailbox in 30 days (3 or more)');
    for (const email of ['a.bc@gmx.de', 'ab.c@gmx.de', 'abc@gmx.de']) expect((await signUp(email)).reasons).toEqual([]);
  });

  test('Sign-ups with a new mail domain make the rule fire from 5 networks on, and a company behind one address does not', async () => {
    await established();
    const signUp = (n: number, domain: string, ip = homeOf(60 + n)) =>
      seen({ ...stranger(ip, 'signup'), entity_keys: { email: `person.${n}@${domain}` } });
    for (let n = 0; n < 4; n++) expect((await signUp(n, `x${n}.farm.example`)).reasons).toEqual([]);
    now += HOUR;
    const fifth = await signUp(5, 'farm.example');
    expect(fifth).toMatchObject({ score: 50, reasons: ['email_new_domain_surge'] });
    expect(await evidenceOf(fifth, 'email_new_domain_surge')).toBe(
      'sign-ups from 5 networks at a mail domain first seen 1 h ago (5 or more)',
    );
    for (let n = 0; n < 12; n++) {
      expect((await signUp(n, 'firm.example', '88.1.1.1')).reasons).not.toContain('email_new_domain_surge');
    }
    now += 3 * DAY;
    for (let n = 0; n < 5; n++) expect((await signUp(20 + n, 'farm.example')).reasons).toEqual([]);
  });
});

describe('stuffing from an address', () => {
  test('Slow stuffing from one address fires from the 25th unknown account in 24 h', async () => {
    await established();
    for (let n = 0; n < 24; n++) {
      expect((await seen(stranger('86.20.20.20'))).reasons).toEqual([]);
      now += 50 * MINUTE;
    }
    const answer = await seen(stranger('86.20.20.20'));
    expect(answer).toMatchObject({ score: 50, reasons: ['strangers_ip_24h'] });
    expect(await evidenceOf(answer, 'strangers_ip_24h')).toMatch(
      /^25 of 25 logins from the address in 24 h were by unknown identities \(over 24; usually \d %\)$/,
    );
  });

  test('An office of 100 that logs in at 9, and a call centre that uses its customers’ accounts, do not count as stuffing', async () => {
    another();
    const people = Array.from({ length: 100 }, (_, n) => personOf(n));
    for (let day = 0; day < 2; day++) {
      for (const person of people) {
        await seen(comes(person));
        now += 10 * MINUTE;
      }
      now += DAY - (now % DAY);
    }
    now += 9 * HOUR;
    const office = await together(people.map((person) => comes(person, 'login', '86.20.20.20')));
    expect(reasonsOf(office)).not.toContain('strangers_ip_24h');
    expect(reasonsOf(office)).not.toContain('strangers_surge_10m');
    expect(reasonsOf(office)).not.toContain('cold_logins_network_1h');
    now += DAY;
    expect(reasonsOf(await together(people.map((person) => comes(person, 'login', '86.20.20.20'))))).toEqual(new Set());
  });

  test('Stuffing that requests a page first still counts as cold logins', async () => {
    await established();
    const logins: Decided[] = [];
    for (let n = 0; n < 11; n++) {
      const { entity_keys: entities, ...page } = stranger('86.20.20.20', 'search');
      await seen(page);
      now += 5;
      logins.push(await seen({ ...page, entity_keys: entities, event_type: 'login' }));
    }
    expect(reasonsOf(logins.slice(0, 10))).toEqual(new Set());
    expect(logins[10]?.reasons).toContain('velocity_ip_logins_10m');
  });

  test('Stuffing from neighbouring addresses fires from the 21st cold login in 1 h, and does not affect a known account there', async () => {
    const [person = personOf(0)] = await established();
    const rotating = Array.from({ length: 20 }, (_, n) => stranger(`86.20.20.${1 + (n % 10)}`));
    expect(reasonsOf(await together(rotating))).not.toContain('cold_logins_network_1h');
    const answer = await seen(stranger('86.20.20.99'));
    expect(answer.reasons).toEqual(['cold_logins_network_1h']);
    expect(await evidenceOf(answer, 'cold_logins_network_1h')).toMatch(
      /^21 cold logins from 11 addresses of the network in 1 h \(over 20; usually \d+ % are cold\)$/,
    );
    await seen(comes(person, 'search', '86.20.20.30'));
    expect((await seen(comes(person, 'login', '86.20.20.30'))).reasons).not.toContain('cold_logins_network_1h');
  });
});

describe('one account', () => {
  test('An account makes the rule fire from its 11th login in 1 h, whatever the networks, and a family that shares an account does not', async () => {
    await established();
    const guess = (n: number) => ({ ...stranger(homeOf(70 + n)), entity_keys: { user_id: 'victim' } });
    for (let n = 0; n < 10; n++) {
      expect((await seen(guess(n))).reasons).not.toContain('logins_entity_1h');
      now += MINUTE;
    }
    const answer = await seen(guess(10));
    expect(answer.reasons).toContain('logins_entity_1h');
    expect(await evidenceOf(answer, 'logins_entity_1h')).toBe('user_id: 11 logins in 1 h (over 10)');
    for (let n = 0; n < 10; n++) {
      const family = { ...stranger(homeOf(90)), entity_keys: { user_id: 'family' } };
      expect((await seen(family)).reasons).toEqual([]);
    }
  });
});

describe('cards', () => {
  test('Four cards of one person make the rule fire, whatever the session, and a person who buys gifts with one card does not', async () => {
    await established();
    const pay = (person: string, card: string, eventType = 'payment') => ({
      ...stranger(homeOf(80), eventType),
      entity_keys: { user_id: person, card },
    });
    for (let n = 0; n < 3; n++) {
      expect((await seen(pay('carder', `card-${n}`, 'checkout'))).reasons).not.toContain('values_per_actor_24h');
    }
    const answer = await seen(pay('carder', 'card-3', 'checkout'));
    expect(answer).toMatchObject({ score: 50, reasons: ['values_per_actor_24h'] });
    expect(await evidenceOf(answer, 'values_per_actor_24h')).toBe(
      '4 values of card with one person in 24 h (4 or more)',
    );
    for (let n = 0; n < 9; n++) {
      expect((await seen(pay('gift buyer', 'card-gift', 'checkout'))).reasons).not.toContain('values_per_actor_24h');
    }
  });
});

describe('a session', () => {
  test('A session with over 110 events in 10 min makes the rule fire, and one with repeated reloads does not', async () => {
    await established();
    const page = { ...stranger(homeOf(99), 'search'), session_token: 'scraper' };
    for (let n = 0; n < 110; n++) {
      expect((await seen(page)).reasons).not.toContain('session_pages');
      now += n % 2 === 0 ? 3 : 6;
    }
    const answer = await seen(page);
    expect(answer.score).toBeGreaterThanOrEqual(56);
    expect(await evidenceOf(answer, 'session_pages')).toBe('111 events of the session in 10 min (over 110)');
    const reload = { ...stranger(homeOf(100), 'search'), session_token: 'reload' };
    for (let n = 0; n < 100; n++) {
      expect((await seen(reload)).reasons).toEqual([]);
      now += 13 + (n % 7);
    }
  });

  test('No event of a session is lost between two workers', async () => {
    await established();
    const body = { ...stranger(homeOf(101), 'search'), session_token: 'busy' };
    for (let n = 0; n < 40; n++) await seen(body);
    const answers = await together(Array.from({ length: 70 }, () => body));
    expect(reasonsOf(answers)).not.toContain('session_pages');
    const answer = await seen(body);
    expect(await evidenceOf(answer, 'session_pages')).toMatch(/^111 events/);
  });
});
