import { createHash } from 'node:crypto';
import { signRequest } from '../src/client/sign.ts';
import { randomOf } from '../scripts/traffic/random.ts';

/** Varied, signed decide requests for load tests. Seeded, so that two runs send the same bodies. */

const AGENTS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:150.0) Gecko/20100101 Firefox/150.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36 Edg/149.0.0.0',
  'Mozilla/5.0 (Linux; Android 14; SM-S921B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/29.0 Chrome/136.0.0.0 Mobile Safari/537.36',
  'python-requests/2.32.3',
];
export const EVENTS = ['login', 'search', 'checkout', 'payment', 'signup'] as const;
export type EventMix = Readonly<Partial<Record<(typeof EVENTS)[number], number>>>;
/** First octets of public networks in wide use. */
const FIRST_OCTETS = [24, 31, 46, 62, 71, 78, 81, 84, 88, 92, 109, 134, 151, 178, 188, 193, 201, 212];

/**
 * Number of concurrent sessions; the next constant is the mean number of events per session. Choice: more sessions than a worker caches, so
 * that most session data has to be read again, as in real traffic; with 2,000 sessions decide is a tenth faster.
 */
const SESSIONS = 20_000;
const EVENTS_PER_SESSION = 8;
const PEOPLE = 200_000;

/** Properties of the generated bodies. */
export interface TrafficShape {
  /** Number of concurrent sessions. */
  readonly sessions: number;
  /** Share of the sessions with a collector token, of about 350 characters. */
  readonly collectorShare: number;
  /** Share of the sessions that pass their headers on. */
  readonly headersShare: number;
  /** Weight of each event type; types that are missing do not occur. */
  readonly events: EventMix;
}

const EQUAL_EVENTS: EventMix = Object.fromEntries(EVENTS.map((name) => [name, 1]));
const USUAL: TrafficShape = { sessions: SESSIONS, collectorShare: 0.6, headersShare: 0.5, events: EQUAL_EVENTS };

interface Session {
  readonly ip: string;
  readonly agent: string;
  readonly token: string;
  readonly person: number;
  readonly passesHeaders: boolean;
  left: number;
}

/**
 * Generates bodies as a shop sends them, 450 to 900 bytes: events of concurrent sessions, about eight each, so that an address, an agent
 * and a token recur a few times and then never again. Six of ten sessions have a collector token.
 */
export function createTraffic(seed: number, nowSeconds: number, shape: Partial<TrafficShape> = {}): () => string {
  const { sessions: underWay, collectorShare, headersShare, events } = { ...USUAL, ...shape };
  const random = randomOf(seed);
  const sessions: Session[] = [];
  let serial = 0;
  const begin = (): Session => {
    const person = Math.floor(random() * PEOPLE);
    const isCollector = random() < collectorShare;
    // Address and agent depend on the person, so that a returning person comes from the same address with the same browser.
    const home = randomOf(person);
    serial++;
    return {
      person,
      ip: `${pick(FIRST_OCTETS, home(), 81)}.${octet(home())}.${octet(home())}.${octet(home())}`,
      agent: pick(AGENTS, home(), ''),
      token: isCollector ? collectorToken(person, serial, nowSeconds) : `session-${seed}-${serial}`,
      passesHeaders: random() < headersShare,
      left: 1 + Math.floor(random() * 2 * EVENTS_PER_SESSION),
    };
  };
  return () => {
    const at = Math.floor(random() * underWay);
    let session = sessions[at];
    if (session === undefined || session.left === 0) session = sessions[at] = begin();
    session.left--;
    const event = pickWeighted(events, random());
    return JSON.stringify({
      ip: session.ip,
      user_agent: session.agent,
      url: `https://shop.example/${event}?step=${Math.floor(random() * 9)}`,
      ...(random() < 0.7 && { referrer: 'https://shop.example/basket' }),
      session_token: session.token,
      entity_keys: { user_id: `u${session.person}`, email: `person.${session.person}@mail.example` },
      ...(session.passesHeaders && {
        headers: {
          accept: 'text/html,application/xhtml+xml',
          'accept-language': 'en-GB,en;q=0.9',
          'accept-encoding': 'gzip',
        },
      }),
      event_type: event,
      timestamp: nowSeconds,
    });
  };
}

function pick<T>(list: readonly T[], drawn: number, otherwise: T): T {
  return list[Math.floor(drawn * list.length)] ?? otherwise;
}

function pickWeighted(weights: EventMix, drawn: number): string {
  const entries = Object.entries(weights);
  let left = drawn * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [name, weight] of entries) {
    left -= weight;
    if (left < 0) return name;
  }
  return 'login';
}

function octet(drawn: number): number {
  return 1 + Math.floor(drawn * 254);
}

function collectorToken(person: number, serial: number, nowSeconds: number): string {
  const token = {
    v: 1,
    fp: createHash('sha256').update(`device ${person}`).digest('hex'),
    sid: `s${person}.${serial}`,
    iat: nowSeconds - 60,
    sig: {
      webdriver: false,
      plugins: 5,
      languages: ['en-GB', 'en'],
      width: 1920,
      height: 1080,
      touch: 0,
      tz: 'Europe/London',
    },
  };
  return `st1.${Buffer.from(JSON.stringify(token)).toString('base64url')}`;
}

/** A complete HTTP request as bytes. Each id is used once. */
export function requestOf(n: number, body: string, key: string, host: string, nowSeconds: number): Buffer {
  const signed = signRequest({
    key,
    method: 'POST',
    path: '/v1/decide',
    body,
    timestampSeconds: nowSeconds,
    requestId: `bench-${process.pid}-${nowSeconds}-${n}`,
  });
  const lines = Object.entries(signed).map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = Buffer.byteLength(body);
  return Buffer.from(
    `POST /v1/decide HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n${lines.join('')}\r\n${body}`,
  );
}
