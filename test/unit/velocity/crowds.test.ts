import { describe, expect, it } from 'vitest';
import type { CrowdHistory, MailKey } from '../../../src/risk/crowds.ts';
import type { HistoryEvent, HistoryFacts } from '../../../src/risk/history.ts';
import { readVelocityStats } from '../../../src/velocity/stats.ts';
import { DAY, event, HOUR, MINUTE, networksOf, SECOND, users, World } from './events.ts';

let serial = 0;

/** An account that was never seen, in its own session. */
function stranger(host: string, fields: Partial<HistoryEvent> = {}): Partial<HistoryEvent> {
  serial++;
  return {
    eventType: 'login',
    sessionId: `stranger-${serial}`,
    entities: users(`stranger-${serial}`),
    networks: networksOf(host),
    device: null,
    place: null,
    ...fields,
  };
}

/** An address in its own /24. */
const hostAt = (n: number): string => `81.${100 + Math.floor(n / 250)}.${n % 250}.7`;

function crowdOf(facts: HistoryFacts) {
  if (facts.crowd === null) throw new Error('no crowd');
  return facts.crowd;
}

const mail = (spelling: string, canonical: string): MailKey => ({
  spelling,
  canonical,
  registrable: canonical.slice(canonical.indexOf('@') + 1),
});

/** A customer of some days, whose ten known accounts log in once an hour, with one unknown account among them. */
function oldCustomer(days = 3): World {
  const world = new World(8 * 2 ** 20);
  for (let hour = 0; hour < days * 24; hour++) {
    for (let n = 0; n < 10; n++) {
      world.see({
        eventType: 'login',
        sessionId: `visit-${hour}-${n}`,
        entities: users(`known-${n}`),
        networks: networksOf(`90.1.${n}.1`),
      });
    }
    world.see(stranger(`90.2.${hour}.1`));
    world.wait(HOUR);
  }
  return world;
}

describe('surges of unknown accounts', () => {
  it('A surge of unknown accounts counts networks and not logins, in a sliding window', () => {
    const world = new World();
    const surges: unknown[] = [];
    for (let n = 0; n < 12; n++) surges.push(crowdOf(world.see(stranger(hostAt(n >> 1)))).surge?.networks);
    expect(surges).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    world.wait(10 * MINUTE);
    expect(crowdOf(world.see(stranger(hostAt(50)))).surge?.networks).toBe(1);
  });

  it('A surge excludes known accounts, and counts public and secret keys separately', () => {
    const world = new World();
    const known = { eventType: 'login', entities: users('u1') };
    world.see(known);
    expect(crowdOf(world.see({ ...known, sessionId: 'other' })).surge).toBeNull();
    for (let n = 0; n < 5; n++) world.see(stranger(hostAt(n)));
    expect(crowdOf(world.see(stranger(hostAt(9), { publicKey: true }))).surge?.networks).toBe(1);
  });

  it('A surge counts the networks of sessions that began over 20 s before apart, for events of such sessions', () => {
    const world = new World();
    for (let n = 0; n < 6; n++) {
      const late = stranger(hostAt(n));
      world.see({ ...late, eventType: 'search', entities: [] });
      world.wait(n < 3 ? 20 * SECOND : 21 * SECOND);
      const { surge } = crowdOf(world.see(late));
      expect(surge).toMatchObject({ networks: n + 1, slowNetworks: n < 3 ? 0 : n - 2 });
    }
  });

  it('A surge counts sign-ups in 1 h and returns the age of the customer', () => {
    const world = new World();
    for (let n = 0; n < 20; n++) world.see(stranger(hostAt(n), { eventType: 'signup' }));
    world.wait(59 * MINUTE);
    const last = crowdOf(world.see(stranger(hostAt(30), { eventType: 'signup' })));
    expect(last.surge).toEqual({ networks: 21, slowNetworks: 0, usual: 0 });
    expect(last.customerAgeSeconds).toBe(59 * 60);
  });

  it('Every event has the age of the customer, from its first login on, and until then from its first event', () => {
    const world = new World();
    const page = { eventType: 'page', entities: [] };
    const ages = [world.see(page).customerAgeSeconds];
    world.wait(2 * DAY);
    ages.push(world.see({ ...page, eventType: 'payment' }).customerAgeSeconds);
    ages.push(world.see({ eventType: 'login' }).customerAgeSeconds);
    world.wait(MINUTE);
    ages.push(world.see(page).customerAgeSeconds, world.see({ ...page, publicKey: true }).customerAgeSeconds);
    expect(ages).toEqual([0, 2 * 86_400, 0, 60, 0]);
  });

  it('A surge is compared with the usual number at this hour', () => {
    const world = new World(8 * 2 ** 20);
    const at = (day: number, minute: number): number => Date.UTC(2026, 10, 1 + day, 9, minute);
    for (let day = 0; day < 5; day++) {
      for (let slot = -6; slot <= 6; slot++) {
        for (let n = 0; n < 6; n++) {
          world.nowMs = at(day, 10 * slot) + n * SECOND;
          world.see(stranger(hostAt(n)));
        }
      }
    }
    world.nowMs = at(5, 0);
    const usual = crowdOf(world.see(stranger(hostAt(1)))).surge?.usual ?? 0;
    expect(usual).toBeGreaterThanOrEqual(5.5);
    expect(usual).toBeLessThan(8);
  });
});

describe('agents of unknown accounts', () => {
  it('The agent of unknown accounts is compared with its share among known accounts', () => {
    const world = oldCustomer(3);
    const tool = 123_456_789;
    let last = null;
    for (let n = 0; n < 12; n++) last = crowdOf(world.see(stranger(hostAt(n), { agentLanguageHash: tool }))).agent;
    expect(last).toMatchObject({ networks1h: 12, usualShare: 0 });
    expect(last?.share).toBeGreaterThan(0.9);
    // All known accounts have that agent.
    expect(crowdOf(world.see(stranger(hostAt(40)))).agent).toBeNull();
  });

  it('An agent has no usual share before 50 logins of known accounts, and unknown ones add none', () => {
    const world = new World();
    for (let n = 0; n < 100; n++) {
      expect(crowdOf(world.see(stranger(hostAt(n)))).agent).toBeNull();
    }
  });
});

describe('logins of an account', () => {
  it('Logins of an account count exactly from the second in 1 h on, on any network', () => {
    const world = new World();
    const login = (n: number) =>
      crowdOf(world.see(stranger(hostAt(n), { entities: users('victim') }))).account?.logins1h ?? null;
    expect(Array.from({ length: 12 }, (_, n) => login(n))).toEqual([null, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    world.wait(HOUR);
    expect(login(20)).toBeNull();
  });

  it('People who log in once an hour need no record of logins', () => {
    const world = new World();
    // Creates the records that the customer itself needs.
    for (const name of ['b', 'c', 'd', 'a', 'b', 'c', 'd', 'b', 'c', 'd']) {
      world.wait(2 * HOUR).see(stranger(hostAt(0), { entities: users(name) }));
    }
    world.wait(2 * HOUR);
    const { made } = readVelocityStats(world.memory);
    expect(crowdOf(world.see(stranger(hostAt(0), { entities: users('a'), sessionId: 's' }))).account).toBeNull();
    // Its session, and at most one record of cells.
    expect(readVelocityStats(world.memory).made - made).toBeLessThanOrEqual(2);
  });
});

describe('unknown accounts at an address', () => {
  it('Unknown accounts at an address are counted over a day, with the accounts that return there and the usual share of the customer', () => {
    const world = oldCustomer(3);
    const known = { eventType: 'login', entities: users('known-1'), networks: networksOf('81.9.9.9') };
    world.see({ ...known, sessionId: 'before' });
    world.wait(2 * DAY);
    let last = null;
    for (let n = 0; n < 20; n++) {
      last = crowdOf(world.wait(30 * MINUTE).see(stranger('81.9.9.9'))).address;
    }
    expect(last).toMatchObject({ strangers24h: 20, logins24h: 20 });
    expect(last?.usualShare).toBeGreaterThan(0.08);
    // Once, however often it logs in.
    for (let n = 0; n < 3; n++) {
      const again = crowdOf(world.see({ ...known, sessionId: `x${n}` }));
      expect(again.address).toMatchObject({ strangers24h: 20, logins24h: 21 });
    }
    // An account that is known, but has not come from there before.
    const own = crowdOf(world.see({ ...known, entities: users('known-2'), sessionId: 'y' }));
    expect(own.address).toMatchObject({ strangers24h: 20, logins24h: 21 });
  });

  it('All accounts of a new customer are unknown, so the usual share is 1 and no address stands out', () => {
    const world = new World();
    for (let n = 0; n < 30; n++) world.see(stranger('81.9.9.9'));
    expect(crowdOf(world.see(stranger('81.9.9.9'))).address?.usualShare).toBe(1);
  });
});

describe('cold-start logins of a network', () => {
  it('Cold-start logins of a network count from the second on, with their addresses, over 1 h', () => {
    const world = oldCustomer(2);
    let last = null;
    for (let n = 0; n < 24; n++) last = crowdOf(world.see(stranger(`81.9.9.${n % 6}`))).network;
    expect(last).toMatchObject({ cold1h: 24, logins1h: 24, addresses1h: 6 });
    expect(last?.usualShare).toBeLessThan(0.25);
    const known = { eventType: 'login', entities: users('known-1'), networks: networksOf('81.9.9.3') };
    expect(crowdOf(world.see({ ...known, sessionId: 'a' })).network).toMatchObject({ cold1h: 25, logins1h: 25 });
    for (const sessionId of ['b', 'c'])
      expect(crowdOf(world.see({ ...known, sessionId })).network).toMatchObject({ cold1h: 25, logins1h: 26 });
    world.wait(2 * DAY);
    for (let n = 0; n < 10; n++) world.see(stranger(`81.9.9.${n % 6}`));
    for (let n = 0; n < 3; n++)
      expect(crowdOf(world.see({ ...known, sessionId: `d${n}` })).network).toMatchObject({ cold1h: 9, logins1h: 10 });
  });

  it('A network counts outcomes, in the request or reported later, once it has a record', () => {
    const world = new World();
    let last: CrowdHistory['network'] = null;
    for (let n = 0; n < 12; n++)
      last = crowdOf(world.see(stranger(`81.9.9.${n % 6}`, { outcome: n === 11 ? 'succeeded' : 'failed' }))).network;
    // The first one was counted before there was a record; the outcome of the present event counts from the next event on.
    expect(last).toMatchObject({ cold1h: 12, failed1h: 10, succeeded1h: 0 });
    expect(crowdOf(world.see(stranger('81.9.9.1'))).network).toMatchObject({ failed1h: 10, succeeded1h: 1 });
    world.wait(2 * HOUR);
    expect(crowdOf(world.see(stranger('81.9.9.1'))).network).toBeNull();
  });
});

describe('a cold-start login', () => {
  const after = (pages: number, ms: number, entities: HistoryEvent['entities'] = []): number => {
    const world = new World();
    for (let n = 0; n < 20; n++) {
      const one = stranger('81.9.9.9');
      for (let page = 0; page < pages; page++) world.see({ ...one, eventType: 'search', entities });
      world.wait(ms);
      world.see(one);
    }
    return world.see(stranger('81.9.9.9', { eventType: 'search' })).ip?.coldLogins10m ?? 0;
  };

  it('A cold-start login may follow up to 3 events without an entity within 2 min', () => {
    expect(after(0, 0)).toBe(20);
    expect(after(3, SECOND)).toBe(20);
    expect(after(4, SECOND)).toBe(0);
    expect(after(1, SECOND, users('known'))).toBe(0);
  });

  it('A login is no cold start if its session began over 2 min before', () => {
    const world = new World();
    const one = stranger('81.9.9.9');
    world.see({ ...one, eventType: 'search', entities: [] });
    world.wait(2 * MINUTE + 1);
    expect(world.see(one).ip?.coldLogins10m).toBe(0);
  });

  it('A cold-start login makes its session cold, even if it was counted as warm before', () => {
    const world = new World();
    let last = world.see();
    for (let n = 0; n < 12; n++) {
      const one = stranger('81.9.9.9');
      world.see({ ...one, eventType: 'search', entities: [] });
      last = world.see(one);
    }
    expect(last.ip).toMatchObject({ coldLogins10m: 12, coldShare10m: 1, coldShare1h: 1 });
  });
});

describe('mail', () => {
  it('A mail domain is new only for customers that knew others, and counts networks of sign-ups', () => {
    const world = new World();
    const signup = (n: number) =>
      crowdOf(
        world.see(stranger(hostAt(n), { eventType: 'signup', mail: mail(`u${n}@farm.example`, `u${n}@farm.example`) })),
      ).mailDomain;
    world.see(stranger(hostAt(0)));
    world.wait(4 * DAY);
    for (let n = 0; n < 6; n++) signup(n % 3);
    world.wait(DAY);
    expect(signup(7)).toEqual({ networks3d: 4, knownForSeconds: 86_400, customerAgeThenSeconds: 4 * 86_400 });
    world.wait(2 * DAY);
    expect(signup(8)?.networks3d).toBe(0);
  });

  it('A mail domain is recorded by the login of a new account, and not read for other accounts', () => {
    const world = new World();
    const one = { mail: mail('a@firm.example', 'a@firm.example'), entities: users('a') };
    expect(crowdOf(world.see(stranger(hostAt(0), one))).mailDomain).toBeNull();
    world.wait(DAY);
    const later = stranger(hostAt(1), { eventType: 'signup', mail: mail('b@firm.example', 'b@firm.example') });
    expect(crowdOf(world.see(later)).mailDomain?.knownForSeconds).toBe(86_400);
  });

  it('Spellings of a mailbox are counted over 30 days, and the plain spelling needs no record', () => {
    const world = new World();
    const spell = (spelling: string) =>
      crowdOf(world.see(stranger(hostAt(serial % 9), { eventType: 'signup', mail: mail(spelling, 'ab@gmail.com') })))
        .spellings30d;
    expect(spell('ab@gmail.com')).toBe(0);
    expect(spell('a.b@gmail.com')).toBe(1);
    expect(spell('a.b@gmail.com')).toBe(1);
    world.wait(20 * DAY);
    expect(spell('ab+1@gmail.com')).toBe(2);
    world.wait(11 * DAY);
    expect(spell('ab+2@gmail.com')).toBe(2);
  });
});

describe('values of an actor', () => {
  const pay = (world: World, card: string, fields: Partial<HistoryEvent>, person: string) =>
    world.see({
      eventType: 'payment',
      ...fields,
      entities: [...users(person), { name: 'card', value: card }],
    }).values;

  it('Payment values count by person, by session, by device and by address', () => {
    const world = new World();
    for (let n = 0; n < 4; n++) {
      const found = pay(world, `card-${n}`, { sessionId: `s${n}`, device: null, networks: networksOf(hostAt(n)) }, 'p');
      expect(found).toMatchObject({ actor: 'person', ofActor24h: n + 1, ofAddress24h: 0 });
    }
    // A session that changes the name at each card is counted from its second payment on.
    for (let n = 0; n < 5; n++) {
      const found = pay(world, `card-1${n}`, { sessionId: 'one', device: null, networks: null }, `payer-${n}`);
      expect(found).toMatchObject({ ofActor24h: Math.max(1, n), ofAddress24h: 0 });
    }
    for (let n = 0; n < 4; n++) {
      const check = {
        eventType: 'gift_card_check',
        sessionId: 'two',
        device: null,
        entities: [{ name: 'gift_card', value: `g${n}` }],
      };
      expect(world.see(check).values).toMatchObject({ actor: 'session', ofActor24h: n + 1 });
    }
    for (let n = 0; n < 4; n++) {
      const found = pay(
        world,
        `card-2${n}`,
        { sessionId: `t${n}`, device: 'd', networks: networksOf('81.9.9.9') },
        `p2${n}`,
      );
      expect(found).toMatchObject({ actor: n === 0 ? 'person' : 'device', ofActor24h: n + 1, ofAddress24h: 0 });
    }
    for (let n = 0; n < 4; n++) {
      const declined = {
        sessionId: `v${n}`,
        device: null,
        networks: networksOf('81.9.9.9'),
        outcome: 'declined',
      } as const;
      expect(pay(world, `card-3${n}`, declined, `p3${n}`)).toMatchObject({ ofActor24h: 1, ofAddress24h: n + 1 });
    }
  });

  it('The payment values of a person need no record until the second value, and each counts once, including the first', () => {
    const counts = (world: World, cards: string, person: string) =>
      cards.split('').map((card, n) => {
        const visit = { sessionId: `${person}-${n}`, device: null, networks: networksOf(hostAt(n)) };
        return pay(world, card, visit, person)?.ofActor24h;
      });
    const world = new World();
    expect(counts(world, 'abacabcd', 'one')).toEqual([1, 2, 2, 3, 3, 3, 3, 4]);
    expect(counts(world, 'aaab', 'another')).toEqual([1, 1, 1, 2]);
    const recordsFor = (cards: string): number => {
      const fresh = new World();
      for (let n = 0; n < 8; n++) counts(fresh, cards, `payer-${n}`);
      return readVelocityStats(fresh.memory).made;
    };
    // Eight sets of values, one per person, and one record for the second card, a separate entity; one of them may share a cell.
    const more = recordsFor('ab') - recordsFor('aa');
    expect(more).toBeGreaterThanOrEqual(8);
    expect(more).toBeLessThanOrEqual(9);
  });

  it('The same card counts once however often it pays, and is forgotten after a day', () => {
    const world = new World();
    for (let n = 0; n < 9; n++) expect(pay(world, 'mine', {}, 'p')?.ofActor24h).toBe(1);
    world.wait(DAY);
    expect(pay(world, 'new', {}, 'p')?.ofActor24h).toBe(1);
    expect(world.see().values).toBeNull();
  });
});

describe('sign-ups of a network', () => {
  it('Sign-ups of a network count from the second on, with their addresses and the networks of all sign-ups', () => {
    const world = new World();
    const signUp = (host: string) => crowdOf(world.see(stranger(host, { eventType: 'signup' }))).signups;
    expect(signUp('81.9.9.1')).toBeNull();
    expect(signUp('81.9.9.2')).toEqual({ signups1h: 2, addresses1h: 1, networks1h: 1 });
    for (let n = 3; n <= 13; n++) signUp(`81.9.9.${n}`);
    expect(signUp('81.9.8.1')).toBeNull();
    expect(signUp('81.9.9.13')).toEqual({ signups1h: 14, addresses1h: 12, networks1h: 2 });
    world.wait(HOUR + 10 * MINUTE);
    expect(signUp('81.9.9.1')?.signups1h ?? 1).toBe(1);
  });
});

describe('networks of unknown accounts that are asked for a code', () => {
  it('Networks of code requests are counted separately from those of logins, and only for events that name an account', () => {
    const world = oldCustomer(3);
    const ask = (n: number, fields = {}) =>
      world.see(stranger(hostAt(n), { eventType: 'password_reset', ...fields })).crowd;
    for (let n = 0; n < 12; n++) expect(ask(n)?.surge).toEqual({ networks: n + 1, slowNetworks: 0, usual: 0 });
    expect(ask(20, { entities: users('known-1') })).toBeNull();
    expect(ask(20, { entities: [] })).toBeNull();
    expect(crowdOf(world.see(stranger(hostAt(30)))).surge?.networks).toBe(1);
  });
});

describe('pages of a session', () => {
  it('Pages of a session count exactly from the 16th on, for 10 min and for 1 h', () => {
    const world = new World();
    const pages: unknown[] = [];
    for (let n = 0; n < 120; n++) pages.push(world.wait(SECOND).see().session.pages?.events10m ?? null);
    expect(pages.slice(0, 15)).toEqual(Array.from({ length: 15 }, () => null));
    expect(pages.slice(15)).toEqual(Array.from({ length: 105 }, (_, n) => 16 + n));
    world.wait(30 * MINUTE);
    expect(world.see().session.pages).toEqual({ events10m: 1, events1h: 121 });
    world.wait(HOUR + 10 * MINUTE);
    expect(world.see().session.pages).toEqual({ events10m: 1, events1h: 1 });
  });
});

describe('bytes', () => {
  it('The table grows by under 5.5 records for each new person, and by under 1.06 for each returning one', () => {
    const world = new World(64 * 2 ** 20);
    const people = 20_000;
    const visit = (n: number, day: number): HistoryEvent =>
      event({
        nowMs: world.nowMs + Math.floor((n * DAY) / people),
        eventType: 'login',
        sessionId: `s-${day}-${n}`,
        entities: users(`person-${n}`),
        networks: networksOf(`${60 + (n >> 14)}.${(n >> 6) & 255}.${(n & 63) * 4}.${n >> 14}`),
        exactAgentHash: 1 + (n % 400),
        agentLanguageHash: 1 + (n % 400) * 7_919,
      });
    const made = (): number => readVelocityStats(world.memory).made;
    for (let n = 0; n < people; n++) world.velocity.observe([visit(n, 0)]);
    // Five records per person: session, address, entity, the set of the cold-start event, and the account's contexts. All share one device.
    const first = made() / people;
    expect(first).toBeLessThan(5.5);
    world.wait(DAY);
    const before = made();
    for (let n = 0; n < people; n++) world.velocity.observe([visit(n, 1)]);
    expect((made() - before) / people).toBeLessThan(1.06);
  });
});
