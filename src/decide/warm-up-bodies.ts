/**
 * Request bodies that exercise the usual branches of the engine: browsers, phones and a tool, with and without a collector token, headers
 * and a referrer, all event types, known and new sessions. Addresses are from networks that location databases contain.
 */

const AGENTS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0',
  'python-requests/2.32.3',
];
const EVENT_TYPES = ['login', 'search', 'checkout', 'payment', 'signup'];
const NETWORKS = [24, 31, 62, 81, 92, 109, 151, 188, 193, 212];
/** Choice: half of the requests belong to a session that the worker saw a moment ago. */
const SESSIONS = 256;
const BODIES = 512;

export const WARM_UP_BODIES: readonly [Uint8Array, ...Uint8Array[]] = [
  makeBody(0),
  ...Array.from({ length: BODIES - 1 }, (_, n) => makeBody(n + 1)),
];

function makeBody(n: number): Uint8Array {
  const session = n % SESSIONS;
  const eventType = EVENT_TYPES[n % EVENT_TYPES.length];
  return Buffer.from(
    JSON.stringify({
      ip: `${NETWORKS[session % NETWORKS.length]}.${session % 251}.${(session * 7) % 253}.${1 + (session % 250)}`,
      user_agent: AGENTS[session % AGENTS.length],
      url: `https://shop.example/${eventType}?step=${n % 9}`,
      ...(n % 3 !== 0 && { referrer: 'https://shop.example/basket' }),
      session_token: session % 5 < 3 ? collectorToken(session) : `session-${session}`,
      entity_keys: { user_id: `u${session}`, email: `person.${session}@mail.example` },
      ...(session % 2 === 0 && {
        headers: { accept: 'text/html', 'accept-language': 'en-GB,en;q=0.9', 'accept-encoding': 'gzip' },
      }),
      event_type: eventType,
    }),
  );
}

function collectorToken(session: number): string {
  const token = {
    v: 1,
    fp: session.toString(16).padStart(64, '0'),
    sid: `s${session}`,
    iat: 0,
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
