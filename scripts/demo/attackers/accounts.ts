import { ANDROIDS, CHROMIUM_DESKTOPS, EVERYDAY } from '../browsers.ts';
import { makeDevice, makePerson } from '../people.ts';
import { addressIn, AMERICA, AUSTRALIA, GERMAN_PROXIES, GERMANY, NIGERIA, PLACES, VIETNAM } from '../places.ts';
import { momentAt, type Day, type Persona, type PlannedSession, type Step } from '../plan.ts';
import type { Random } from '../../traffic/random.ts';
import { victimsOn } from '../shoppers/paying.ts';
import { only, visit } from '../visit.ts';
import { attacker, earlyUntil, eventsFrom, times } from './attacker.ts';

/** Attackers who use other people's accounts, tokens and devices. */

/** The owners log in at home around eight; within the following hour a thief uses the account on another continent. */
const TRAVELLER = attacker({
  id: 'traveller',
  title: 'Account thief, another continent',
  history: "an account's places",
  plan: (day, random) =>
    victimsOn(day).map((owner, i) => {
      const thief = makePerson(
        random.pick([VIETNAM, NIGERIA, AUSTRALIA, AMERICA]),
        random.pick(CHROMIUM_DESKTOPS),
        random,
      );
      const steps: Step[] = [
        { type: 'login', path: '/login', from: '/', afterSeconds: 0 },
        { type: 'checkout', path: '/checkout', from: '/basket', afterSeconds: 70 },
      ];
      const stolen = { ...thief, userId: owner.userId, email: owner.email };
      return visit(stolen, momentAt(day, 7.9, i * 120 + random.between(0, 60)), steps, random);
    }),
});

/** Guesses the password of one account, through a different proxy each time, and keeps using its first token. */
const TAKEOVER_ONE_TOKEN = attacker({
  id: 'takeover_one_token',
  title: 'Account takeover, one token',
  history: "a session's networks",
  expectation: eventsFrom('the 4th network'),
  plan: (day, random) =>
    times(3, (i) => {
      const account = makePerson(GERMANY, random.pick(EVERYDAY), random);
      const tries = GERMAN_PROXIES.map((network, n): Step => {
        const ip = addressIn([network], random);
        return {
          type: 'login',
          path: '/login',
          from: '/login',
          afterSeconds: n === 0 ? 0 : random.between(15, 70),
          ip,
        };
      });
      return visit(account, momentAt(day, 1 + i * 6, random.between(0, 3_000)), earlyUntil(3, tries), random);
    }),
});

/** Like the previous attacker, but with a different browser, token and fingerprint for each try, and with proxies of one country only. */
const TAKEOVER_FRESH_TOKENS = attacker({
  id: 'takeover_fresh_tokens',
  title: 'Account takeover, new tokens',
  history: "an account's networks and devices",
  expectation: eventsFrom('the 6th network'),
  days: [0, 1],
  plan: (day, random) =>
    times(2, (i) => {
      const account = makePerson(GERMANY, random.pick(EVERYDAY), random);
      const start = momentAt(day, 2 + i * 9, random.between(0, 3_000));
      return GERMAN_PROXIES.map((network, n) => {
        const tried = { ...account, device: makeDevice(random.pick(EVERYDAY), GERMANY, random) };
        const steps = earlyUntil(n < 5 ? 1 : 0, only('login', '/login', '/'));
        const ip = addressIn([network], random);
        return visit(tried, start + n * 120 + random.between(0, 90), steps, random, { ip });
      });
    }).flat(),
});

/** One account that was sold to many people, who log in from many countries within the hour. */
const SHARED_ACCOUNT = attacker({
  id: 'account_sharing',
  title: 'One account, people everywhere',
  history: "an account's places",
  expectation: eventsFrom('the 2nd place'),
  days: [1, 2],
  plan(day, random) {
    const account = makePerson(GERMANY, random.pick(EVERYDAY), random);
    const places = [GERMANY, AMERICA, AUSTRALIA, NIGERIA, VIETNAM, ...PLACES.slice(9, 13)];
    return places.map((place, i) => {
      const user = makePerson(place, random.pick(EVERYDAY), random);
      const steps = earlyUntil(i === 0 ? 1 : 0, only('login', '/login', '/'));
      const shared = { ...user, userId: account.userId, email: account.email };
      return visit(shared, momentAt(day, 18, i * 330 + random.between(0, 90)), steps, random);
    });
  },
});

/** The token of a stolen session is sold and used from many networks, for one account after another. */
const TOKEN_REPLAY = attacker({
  id: 'token_replay',
  title: 'One session token, many networks',
  history: "a session's networks",
  expectation: eventsFrom('the 4th network'),
  days: [0, 2],
  plan: (day, random) =>
    times(4, (i) => {
      const victim = makePerson(GERMANY, random.pick(CHROMIUM_DESKTOPS), random);
      const uses = GERMAN_PROXIES.slice(0, 10).map((network): Step => {
        const who = makePerson(GERMANY, random.pick(EVERYDAY), random);
        const ip = addressIn([network], random);
        return { type: 'login', path: '/login', from: '/', afterSeconds: random.between(20, 90), ip, who };
      });
      return visit(victim, momentAt(day, 15, i * 1_200), earlyUntil(3, uses), random);
    }),
});

/** Takes over an active session: within half an hour its token comes from another country and another browser. */
const HIJACK = attacker({
  id: 'session_hijack',
  title: 'Session hijacker',
  history: "a session's country and browser",
  days: [1, 2],
  plan: (day, random) =>
    times(8, (i) => {
      const victim = makePerson(GERMANY, random.pick(CHROMIUM_DESKTOPS), random);
      const thief = makePerson(random.pick([VIETNAM, NIGERIA]), random.pick(ANDROIDS), random);
      const steps: Step[] = [
        { type: 'search', path: '/search?q=tea', from: null, afterSeconds: 0 },
        { type: 'login', path: '/login', from: '/search?q=tea', afterSeconds: random.between(20, 60) },
        {
          type: 'checkout',
          path: '/checkout',
          from: '/basket',
          afterSeconds: random.between(120, 1_500),
          ip: thief.ip,
          device: thief.device,
        },
        { type: 'payment', path: '/checkout/payment', from: '/checkout', afterSeconds: 40, device: thief.device },
      ];
      return visit(victim, momentAt(day, 9 + i, random.between(0, 1_500)), earlyUntil(2, steps), random);
    }),
});

/** One machine that uses one account after another through `proxies` alternating addresses. */
const farm = (day: Day, random: Random, proxies: number, early: number): PlannedSession[] => {
  const make = random.pick(CHROMIUM_DESKTOPS);
  const device = makeDevice(make, GERMANY, random);
  const addresses = GERMAN_PROXIES.slice(0, proxies).map((network) => addressIn([network], random));
  return times(GERMAN_PROXIES.length, (i) => {
    const account = makePerson(GERMANY, make, random, addresses[i % proxies]);
    const steps = earlyUntil(i < early ? 1 : 0, only('login', '/login', '/'));
    return visit(account, momentAt(day, 12, i * 500 + random.between(0, 300)), steps, random, { device });
  });
};

const DEVICE_FARM = attacker({
  id: 'device_farm',
  title: 'One device, many accounts',
  history: "a device's accounts and networks",
  expectation: eventsFrom('the 10th account'),
  days: [0, 2],
  plan: (day, random) => farm(day, random, 3, 9),
});

const DEVICE_FARM_PROXIES = attacker({
  id: 'device_farm_proxies',
  title: 'One device, a proxy for each account',
  history: 'nothing',
  expectation: {
    kind: 'not_caught',
    why: 'owners of one phone model look like that; only the registry or a model can tell',
  },
  days: [1],
  plan: (day, random) => farm(day, random, GERMAN_PROXIES.length, 0),
});

export const ACCOUNT_ATTACKERS: readonly Persona[] = [
  TRAVELLER,
  TAKEOVER_ONE_TOKEN,
  TAKEOVER_FRESH_TOKENS,
  SHARED_ACCOUNT,
  TOKEN_REPLAY,
  HIJACK,
  DEVICE_FARM,
  DEVICE_FARM_PROXIES,
];
