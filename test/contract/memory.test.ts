import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CALM, decide, newCustomer, newcomer, type SendOptions } from '../support/requests.ts';
import { REPEATABLE_ENV, startServer, type RunningServer } from '../support/server.ts';
import { collectorToken, contribution, stranger, visit, type Decided, type Visit } from '../support/visits.ts';

/** Promises of the default rules about sessions, addresses, entities and devices, observed from outside. */

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;
const LONDON = '81.2.69.160';
const SYDNEY = '1.1.1.1';
const FIREFOX_ON_MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:150.0) Gecko/20100101 Firefox/150.0';

let server: RunningServer;
let other: { readonly secretKey: string };
let scarce: { readonly secretKey: string };
/** Time of the customers, which the server's virtual clock follows; it never goes back. */
let now = Math.ceil(Date.now() / 1000 / DAY) * DAY;
let days = 0;

beforeAll(async () => {
  server = await startServer({ env: { ...REPEATABLE_ENV, GATEHOUSE_WORKERS: '2' } });
  // Creates the customers before the virtual clock leaves this machine's time.
  other = await newCustomer(server.url, server.dataDir);
  scarce = await newCustomer(server.url, server.dataDir, 10);
});
afterAll(() => server.stop());

/** Returns an address in a new /24 and advances to the start of a day on which all but the longest windows have expired. */
function anotherDay(): string {
  days++;
  now += 3 * DAY - (now % DAY);
  return `81.2.${64 + days}.7`;
}

function seen(body: unknown, key = server.secretKey, options: SendOptions = {}): Promise<Decided> {
  return visit(server.url, key, body, { timestampSeconds: now, ...options });
}

function why({ requestId }: Decided, reason: string, key = server.secretKey): ReturnType<typeof contribution> {
  return contribution(server.url, key, requestId, reason);
}

/** Sends requests of `count` unknown visitors from one address, one after the other. Returns all their reasons. */
async function strangers(count: number, ip: string, eventType = 'login', key = server.secretKey): Promise<string[]> {
  const reasons: string[] = [];
  for (let n = 0; n < count; n++) reasons.push(...(await seen(stranger(ip, eventType), key)).reasons);
  return reasons;
}

/** Sends a decide request that must be rejected. */
async function refused(code: string, body: unknown, options: SendOptions = {}, key = server.secretKey): Promise<void> {
  const { json } = await decide(server.url, key, body, { timestampSeconds: now, ...options });
  expect(json['code']).toBe(code);
}

describe('logins of strangers from one address', () => {
  test('Cold logins from one address make the rule fire from the 11th in 10 min on, not before, and no longer 10 min later', async () => {
    const ip = anotherDay();
    expect(await strangers(10, ip)).toEqual([]);
    const eleventh = await seen(stranger(ip));
    expect(eleventh.reasons).toContain('velocity_ip_logins_10m');
    expect(eleventh.score).toBeGreaterThanOrEqual(60);
    expect(await why(eleventh, 'velocity_ip_logins_10m')).toMatchObject({
      weight: 0.6,
      evidence: '11 cold logins from the address in 10 min (over 10)',
    });
    now += 10 * MINUTE - 1;
    const last = await seen(stranger(ip));
    expect((await why(last, 'velocity_ip_logins_10m')).evidence).toMatch(/^12 cold logins/);
    now += 1;
    expect((await seen(stranger(ip))).reasons).not.toContain('velocity_ip_logins_10m');
  });

  test('Cold logins from one address do not affect other addresses and other event types', async () => {
    const ip = anotherDay();
    await strangers(11, ip);
    expect((await seen(stranger(anotherAddress(ip)))).reasons).toEqual([]);
    expect((await seen(stranger(ip, 'search'))).reasons).toEqual([]);
  });

  test('Rejected and repeated requests do not count as cold logins', async () => {
    const ip = anotherDay();
    for (let n = 0; n < 10; n++) {
      const requestId = randomUUID();
      expect((await seen(stranger(ip), server.secretKey, { requestId })).reasons).toEqual([]);
      await refused('replayed_request', stranger(ip), { requestId });
      await refused('invalid_signature', stranger(ip), { headers: { 'X-SVC-Sig': '0'.repeat(64) } });
      await refused('invalid_signature', stranger(ip), { signedBody: '{}' });
      await refused('timestamp_out_of_window', stranger(ip), { timestampSeconds: now - 301 });
      await refused('unknown_key', stranger(ip), {}, `sk_live_${'x'.repeat(38)}`);
      await refused('malformed_json', `${JSON.stringify(stranger(ip))}}`);
      await refused('invalid_request', { ...stranger(ip), timestamp: 'now' });
    }
    const eleventh = await seen(stranger(ip));
    expect((await why(eleventh, 'velocity_ip_logins_10m')).evidence).toMatch(/^11 cold logins/);
  });

  test('Requests beyond the key’s rate limit do not count as cold logins', async () => {
    const ip = anotherDay();
    const { secretKey } = scarce;
    expect(await strangers(10, ip, 'login', secretKey)).toEqual([]);
    for (let n = 0; n < 5; n++) await refused('rate_limited', stranger(ip), {}, secretKey);
    now += MINUTE;
    const eleventh = await seen(stranger(ip), secretKey);
    expect((await why(eleventh, 'velocity_ip_logins_10m', secretKey)).evidence).toMatch(/^11 cold logins/);
  });

  test('Cold logins with a public key, with a secret key and at another customer are counted separately', async () => {
    const ip = anotherDay();
    const keys = [server.secretKey, server.publicKey, other.secretKey];
    for (let n = 0; n < 10; n++) {
      // Sends the same people and sessions with all three keys, as anyone who knows the public key could.
      const body = stranger(ip);
      for (const key of keys) expect((await seen(body, key)).reasons).toEqual([]);
    }
    const readers = [server.secretKey, server.secretKey, other.secretKey];
    for (const [n, key] of keys.entries()) {
      const eleventh = await seen(stranger(ip), key);
      expect((await why(eleventh, 'velocity_ip_logins_10m', readers[n])).evidence).toMatch(/^11 cold logins/);
    }
  });
});

describe('other steps of strangers from one address', () => {
  test('Cold sign-ups from one address make the rule fire from the 4th in 24 h, with more weight from the 7th, and no longer 24 h later', async () => {
    const ip = anotherDay();
    expect(await strangers(3, ip, 'signup')).toEqual([]);
    const fourth = await seen(stranger(ip, 'signup'));
    expect(await why(fourth, 'velocity_ip_signups_24h')).toMatchObject({ weight: 0.25 });
    await strangers(2, ip, 'signup');
    const seventh = await seen(stranger(ip, 'signup'));
    expect(await why(seventh, 'velocity_ip_signups_24h')).toMatchObject({
      weight: 0.6,
      evidence: '7 sign-ups from the address in 24 h (over 6)',
    });
    now += DAY - MINUTE;
    expect((await seen(stranger(ip, 'signup'))).reasons).toEqual(['velocity_ip_signups_24h']);
    now += MINUTE;
    expect((await seen(stranger(ip, 'signup'))).reasons).toEqual([]);
  });

  test('Cold payments and checkouts from one address make the rule fire from the 10th in 1 h, and no longer 1 h later', async () => {
    const ip = anotherDay();
    const nine = [...(await strangers(5, ip, 'payment')), ...(await strangers(4, ip, 'checkout'))];
    expect(nine).toEqual(Array.from({ length: 5 }, () => 'journey_single_event'));
    const tenth = await seen(stranger(ip, 'payment'));
    expect(await why(tenth, 'velocity_ip_payments_1h')).toMatchObject({
      weight: 0.55,
      evidence: '10 cold payments from the address in 1 h (10 or more)',
    });
    now += HOUR - 1;
    expect((await seen(stranger(ip, 'checkout'))).reasons).toContain('velocity_ip_payments_1h');
    now += 1;
    expect((await seen(stranger(ip, 'checkout'))).reasons).toEqual([]);
  });
});

describe('people who share an address', () => {
  test('Rules about strangers do not fire for an office of known people, nor for visitors among them', async () => {
    const ip = anotherDay();
    const people = Array.from({ length: 20 }, () => stranger(ip));
    // On the first day they arrive one by one.
    for (const person of people) {
      now += 15 * MINUTE;
      expect((await seen(person)).reasons).toEqual([]);
    }
    now += DAY - (now % DAY) + 9 * HOUR;
    for (const [n, person] of people.entries()) {
      const morning = await seen({ ...person, session_token: `morning-${n}` });
      expect(morning.reasons).toEqual([]);
      now += 5;
    }
    // More than ten visitors, but still a minority.
    for (let n = 0; n < 12; n++) expect((await seen(stranger(ip))).score).toBeLessThan(28);
    const payments = people.slice(0, 12).map((person, n) => ({ ...person, session_token: `noon-${n}` }));
    for (const body of payments) {
      now += MINUTE;
      await seen({ ...body, event_type: 'search' });
      now += 10;
      expect((await seen({ ...body, event_type: 'payment' })).score).toBeLessThan(28);
    }
  });

  test('Sessions that began elsewhere do not count as cold, as behind a carrier’s gateway', async () => {
    const ip = anotherDay();
    for (let n = 0; n < 15; n++) {
      const person = stranger(ip);
      await seen({ ...person, ip: `81.2.${105 + n}.1`, event_type: 'search' });
      expect((await seen(person)).reasons).toEqual(['session_ip_change']);
    }
  });
});

describe('an entity in two places', () => {
  test('Impossible travel fires for an entity at two locations when nobody is that fast, and the log shows both, the distance and the time', async () => {
    anotherDay();
    const person = stranger(LONDON);
    expect((await seen(person)).reasons).toEqual([]);
    now += HOUR;
    const arrived = await seen({ ...person, ip: SYDNEY, user_agent: FIREFOX_ON_MAC, session_token: randomUUID() });
    expect(arrived).toMatchObject({ score: 62, reasons: ['travel_impossible', 'context_partly_unlike'] });
    const { weight, evidence } = await why(arrived, 'travel_impossible');
    expect(weight).toBe(0.62);
    const said = /^user_id: from GB 51\.5,-0\.1 to AU -33\.9,151\.2, (\d+) km beyond both radii in 1 h$/.exec(evidence);
    // 16,990 km from centre to centre, minus 200 km at each end.
    expect(Math.abs(Number(said?.[1]) - 16_590)).toBeLessThan(30);
  });

  test('Travel at the speed of an airliner is improbable, and none is reported after 24 h', async () => {
    anotherDay();
    const person = stranger(LONDON);
    await seen(person);
    now += 20 * HOUR;
    expect((await seen({ ...person, ip: SYDNEY, session_token: randomUUID() })).reasons).toEqual(['travel_improbable']);
    const slow = stranger(LONDON);
    await seen(slow);
    now += 25 * HOUR;
    expect((await seen({ ...slow, ip: SYDNEY, session_token: randomUUID() })).reasons).toEqual([]);
  });

  test('Travel rules do not fire within one session, which has its own rules', async () => {
    anotherDay();
    const person = stranger(LONDON);
    await seen(person);
    now += HOUR;
    const { reasons } = await seen({ ...person, ip: SYDNEY });
    expect(reasons).toEqual(['session_ip_change']);
    now += MINUTE;
    expect((await seen({ ...person, ip: LONDON })).reasons).toEqual(['session_ip_change', 'session_country_change']);
  });

  test('Travel rules do not fire near a location that the entity used more than 24 h ago', async () => {
    anotherDay();
    const person = stranger(SYDNEY);
    await seen(person);
    now += 26 * HOUR;
    expect((await seen({ ...person, ip: LONDON, session_token: randomUUID() })).reasons).toEqual([]);
    now += HOUR;
    expect((await seen({ ...person, ip: SYDNEY, session_token: randomUUID() })).reasons).toEqual([]);
  });

  test('Travel is tracked separately for each customer and for each kind of key', async () => {
    anotherDay();
    const person = stranger(LONDON);
    await seen(person);
    now += HOUR;
    const there = { ...person, ip: SYDNEY, session_token: randomUUID() };
    expect((await seen(there, other.secretKey)).reasons).toEqual([]);
    expect((await seen(there, server.publicKey)).reasons).toEqual([]);
    expect((await seen(there)).reasons).toEqual(['travel_impossible']);
  });
});

describe('a session', () => {
  test('The rule fires at the event at which a session changes its browser or system, and not for a newer version of the browser', async () => {
    const person = stranger(anotherDay(), 'search');
    await seen(person);
    const newer = CALM.user_agent.replace('Chrome/149', 'Chrome/150');
    expect((await seen({ ...person, user_agent: newer })).reasons).toEqual([]);
    expect((await seen({ ...person, user_agent: FIREFOX_ON_MAC })).reasons).toEqual(['session_agent_change']);
    expect((await seen({ ...person, user_agent: FIREFOX_ON_MAC })).reasons).toEqual([]);
    expect((await seen({ ...person, user_agent: newer })).reasons).toEqual(['session_agent_change']);
  });

  test('The rule fires on the 4th network of a session within an hour', async () => {
    const person = stranger(anotherDay(), 'search');
    const at = async (ip: string): Promise<readonly string[]> => (await seen({ ...person, ip })).reasons;
    await seen(person);
    // Networks in the same /16.
    for (let n = 0; n < 5; n++) expect(await at(`81.2.${200 + n}.1`)).not.toContain('session_many_networks');
    expect(await at('86.1.1.1')).not.toContain('session_many_networks');
    expect(await at('82.2.1.1')).not.toContain('session_many_networks');
    const fourth = await seen({ ...person, ip: '90.200.1.1' });
    expect(await why(fourth, 'session_many_networks')).toMatchObject({
      weight: 0.62,
      evidence: '4 networks in 1 h (over 3)',
    });
    now += HOUR;
    expect(await at('90.200.1.1')).toEqual([]);
  });

  test('The rule fires for a session that begins with a payment, and not for one with an earlier event', async () => {
    const ip = anotherDay();
    expect((await seen(stranger(ip, 'payment'))).reasons).toEqual(['journey_single_event']);
    const person = stranger(ip, 'search');
    await seen(person);
    now += MINUTE;
    expect((await seen({ ...person, event_type: 'payment' })).reasons).toEqual([]);
  });

  test('A session that pays within 3 s of its first event is too fast, and after 4 s it is not', async () => {
    const ip = anotherDay();
    const fast = stranger(ip, 'search');
    const slow = stranger(ip, 'search');
    await seen(fast);
    await seen(slow);
    now += 3;
    expect((await seen({ ...fast, event_type: 'payment' })).reasons).toEqual(['journey_too_fast']);
    now += 1;
    expect((await seen({ ...slow, event_type: 'checkout' })).reasons).toEqual([]);
  });
});

describe('a device', () => {
  const onDevice = (device: string, person: Visit): Visit => ({
    ...person,
    session_token: collectorToken(device, randomUUID(), now),
  });

  test('The rule fires with the 6th entity of a device in 24 h, where all names of one person are one entity', async () => {
    const ip = anotherDay();
    const people = Array.from({ length: 6 }, (_, n) => {
      const person = stranger(ip, 'search');
      return { ...person, entity_keys: { ...person.entity_keys, email: `person.${n}@mail.example` } };
    });
    for (const person of people.slice(0, 5)) {
      expect((await seen(onDevice('family tablet', person))).reasons).toEqual([]);
      expect((await seen(onDevice('family tablet', person))).reasons).toEqual([]);
    }
    const [sixth = stranger(ip)] = people.slice(5);
    const answer = await seen(onDevice('family tablet', sixth));
    expect(await why(answer, 'device_many_entities')).toMatchObject({
      weight: 0.15,
      evidence: '6 entities on this device in 24 h (over 5), on at most 2 networks',
    });
    expect((await seen(onDevice('another tablet', sixth))).reasons).toEqual([]);
    now += DAY + MINUTE;
    expect((await seen(onDevice('family tablet', stranger(ip, 'search')))).reasons).toEqual([]);
  });

  test('A device is new for an entity known for over 24 h, and not on the entity’s first day', async () => {
    const person = stranger(anotherDay(), 'search');
    const on = async (device: string): Promise<readonly string[]> => (await seen(onDevice(device, person))).reasons;
    expect(await on('laptop')).toEqual([]);
    now += DAY;
    expect(await on('phone')).toEqual([]);
    now += 1;
    expect(await on('laptop')).toEqual([]);
    expect(await on('stolen phone')).toEqual(['device_new_for_entity']);
    expect(await on('stolen phone')).toEqual([]);
  });
});

describe('two workers', () => {
  test('No decision of a session or an address is lost or counted twice between two workers', async () => {
    anotherDay();
    const agent = new Agent({ keepAlive: true, maxSockets: 32 });
    const sessions = Array.from({ length: 8 }, () => newcomer());
    for (const body of sessions) {
      // Sequential until all records of a busy session have been created.
      for (let n = 0; n < 14; n++) await seen(body, server.secretKey, { agent });
    }
    const all = Array.from({ length: 46 }, () => sessions).flat();
    const answers = await Promise.all(all.map((body) => seen(body, server.secretKey, { agent })));
    expect(answers.flatMap(({ reasons }) => reasons)).toEqual([]);
    for (const body of sessions) {
      const answer = await seen(body, server.secretKey, { agent });
      expect(await why(answer, 'velocity_session_1m')).toMatchObject({
        weight: 0.35,
        evidence: expect.stringMatching(/^61 decisions/) as string,
      });
    }
    now += MINUTE;
    for (const body of sessions) expect((await seen(body)).reasons).toEqual([]);
    agent.destroy();
  });

  test('Two workers share the counts of cold logins', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 9 });
    const first = anotherDay();
    const addresses = Array.from({ length: 8 }, (_, n) => first.replace(/\d+$/, String(10 + n)));
    for (const ip of addresses) await seen(stranger(ip));
    const logins = Array.from({ length: 9 }, () => addresses.map((ip) => stranger(ip))).flat();
    const answers = await Promise.all(logins.map((body) => seen(body, server.secretKey, { agent })));
    expect(answers.flatMap(({ reasons }) => reasons)).toEqual([]);
    for (const ip of addresses) {
      const eleventh = await seen(stranger(ip));
      expect((await why(eleventh, 'velocity_ip_logins_10m')).evidence).toMatch(/^11 cold logins/);
    }
    agent.destroy();
  });
});

function anotherAddress(ip: string): string {
  return ip.replace(/\d+$/, '8');
}
