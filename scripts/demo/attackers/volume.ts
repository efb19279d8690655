import { CHROMIUM_DESKTOPS, EVERYDAY } from '../browsers.ts';
import { makePerson } from '../people.ts';
import { addressIn, GERMANY, HOSTING_NETWORKS, PLACES } from '../places.ts';
import { momentAt, type Day, type Persona, type PlannedSession, type Step } from '../plan.ts';
import type { Random } from '../../traffic/random.ts';
import { only, visit } from '../visit.ts';
import { attacker, earlyUntil, eventsFrom, mask, times } from './attacker.ts';

/** Attackers that only volume reveals: each single request looks like a shopper's. */

/** Logins to one account after another from one address; the first `early` of them come before the threshold. */
function stuffing(
  day: Day,
  random: Random,
  {
    ip,
    hour,
    count,
    gapSeconds,
    early,
  }: { ip: string; hour: number; count: number; gapSeconds: number; early: number },
): PlannedSession[] {
  return times(count, (i) => {
    const start = momentAt(day, hour, i * gapSeconds + random.between(0, 3));
    const steps = earlyUntil(i < early ? 1 : 0, only('login', '/login', '/'));
    return visit(mask(GERMANY, ip, random), start, steps, random, { token: 'opaque' });
  });
}

const STUFFER = attacker({
  id: 'stuffer_one_address',
  title: 'Credential stuffer, one address',
  history: 'logins of an address',
  expectation: eventsFrom('the 11th login'),
  days: [0, 2],
  plan: (day, random) =>
    stuffing(day, random, {
      ip: addressIn(HOSTING_NETWORKS, random),
      hour: 3,
      count: 60,
      gapSeconds: 8,
      early: 10,
    }),
});

/** Four machines rented in the same network take turns. */
const STUFFER_FEW = attacker({
  id: 'stuffer_few_addresses',
  title: 'Credential stuffer, four addresses',
  history: 'logins of an address',
  expectation: eventsFrom('the 11th login of each address'),
  days: [1],
  plan(day, random) {
    const network = random.pick(HOSTING_NETWORKS);
    return times(4, (i) =>
      stuffing(day, random, { ip: `${network}.${20 + i}`, hour: 2 + i / 900, count: 40, gapSeconds: 18, early: 10 }),
    ).flat();
  },
});

/** The 9th network is the first that exceeds the threshold: the shop has no other unknown visitors at that hour. */
const SPREAD_EARLY = 8;

/** Uses a different address, account and token for each login: only the volume connects them. */
const STUFFER_SPREAD = attacker({
  id: 'stuffer_spread',
  title: 'Credential stuffer, 150 addresses',
  history: 'networks of strangers, of all days before',
  expectation: eventsFrom('the 9th network in 10 minutes'),
  days: [2],
  plan: (day, random) =>
    times(150, (i) => {
      const person = makePerson(random.pick(PLACES), random.pick(EVERYDAY), random);
      const steps = earlyUntil(i < SPREAD_EARLY ? 1 : 0, only('login', '/login'));
      return visit(person, momentAt(day, 4, i * 20 + random.between(0, 15)), steps, random);
    }),
});

const SIGNUP_FARM = attacker({
  id: 'signup_farm_patient',
  title: 'Sign-up farm, lasting e-mails',
  history: 'sign-ups of an address',
  // The 4th to the 6th sign-up only add 25 to the score.
  expectation: eventsFrom('the 7th sign-up'),
  days: [0, 1],
  plan(day, random) {
    const ip = addressIn(HOSTING_NETWORKS, random);
    return times(24, (i) => {
      const steps = earlyUntil(i < 6 ? 1 : 0, only('signup', '/register', '/'));
      const start = momentAt(day, 10, i * 900 + random.between(0, 600));
      return visit(mask(random.pick(PLACES), ip, random), start, steps, random, { token: 'opaque' });
    });
  },
});

/** Uses a different card and account for each payment, all from one residential connection. */
const CARDER = attacker({
  id: 'carder_one_address',
  title: 'Carder, one address',
  history: 'payments of an address',
  expectation: eventsFrom('the 10th payment'),
  days: [1, 2],
  plan(day, random) {
    const ip = addressIn(GERMANY.networks, random);
    return times(30, (i) => {
      const steps = earlyUntil(i < 9 ? 1 : 0, only('payment', '/checkout/payment', '/checkout'));
      const start = momentAt(day, 22, i * 80 + random.between(0, 30));
      return visit(mask(GERMANY, ip, random), start, steps, random, { token: 'opaque' });
    });
  },
});

/** Tries one card after another at the checkout of one session. */
const CARDER_SESSION = attacker({
  id: 'carder_one_session',
  title: 'Carder, one session',
  history: 'payments of a session',
  expectation: eventsFrom('the 5th payment'),
  plan: (day, random) =>
    times(3, (i) => {
      const person = makePerson(random.pick(PLACES), random.pick(EVERYDAY), random);
      const enter: Step[] = [
        { type: 'search', path: '/search?q=gift+card', from: null, afterSeconds: 0 },
        { type: 'checkout', path: '/checkout', from: '/basket', afterSeconds: random.between(30, 60) },
      ];
      const tries = times(12, (): Step => ({
        type: 'payment',
        path: '/checkout/payment',
        from: '/checkout',
        afterSeconds: random.between(15, 60),
      }));
      const steps = earlyUntil(enter.length + 4, [...enter, ...tries]);
      return visit(person, momentAt(day, 6 + i * 5, random.between(0, 3_000)), steps, random);
    }),
});

/** Waits for goods that sell out quickly: requests the checkout every two seconds, in a real browser and with its own account. */
const CHECKOUT_BOT = attacker({
  id: 'checkout_bot',
  title: 'Checkout bot, every two seconds',
  history: "an account's pace and rhythm",
  expectation: eventsFrom('the 21st event of a minute'),
  days: [0, 2],
  plan: (day, random) =>
    times(3, (i) => {
      const person = makePerson(GERMANY, random.pick(CHROMIUM_DESKTOPS), random);
      const login = only('login', '/login', '/');
      const tries = times(45, (): Step => ({ type: 'checkout', path: '/checkout', from: '/basket', afterSeconds: 2 }));
      return visit(person, momentAt(day, 17, i * 40), earlyUntil(20, [...login, ...tries]), random);
    }),
});

/** Reads the catalogue in a real browser, one page every twenty seconds: its rhythm is that of a machine, and it does nothing else. */
const METRONOME = attacker({
  id: 'scraper_metronome',
  title: 'Scraper, real browser, steady beat',
  history: "a session's rhythm",
  expectation: { kind: 'not_caught', why: 'its rhythm alone is ALLOW_WATCH, and it does nothing else' },
  plan: (day, random) =>
    times(2, (i) => {
      const person = makePerson(random.pick(PLACES), random.pick(CHROMIUM_DESKTOPS), random);
      const pages = times(30, (page): Step => ({
        type: 'search',
        path: `/search?q=shoes&page=${page + 1}`,
        from: '/search?q=shoes',
        afterSeconds: page === 0 ? 0 : 20,
      }));
      return visit(person, momentAt(day, 11 + i * 3, random.between(0, 900)), pages, random);
    }),
});

export const VOLUME_ATTACKERS: readonly Persona[] = [
  STUFFER,
  STUFFER_FEW,
  SIGNUP_FARM,
  CARDER,
  CARDER_SESSION,
  CHECKOUT_BOT,
  METRONOME,
  STUFFER_SPREAD,
];
