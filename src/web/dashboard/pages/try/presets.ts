/** Requests to begin with. */

export type DecideBody = Readonly<Record<string, unknown>>;

export interface Preset {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly body: DecideBody;
  /** Requests in sequence; more than one only as real decisions, because simulations store nothing. */
  readonly count: number;
  /** Returns the body of request `n`, from 0. */
  readonly bodyOf: (body: DecideBody, n: number) => DecideBody;
}

const same: Preset['bodyOf'] = (body) => body;

const PHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1';
const HEADLESS =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/131.0.0.0 Safari/537.36';

const LOGIN: DecideBody = {
  event_type: 'login',
  session_token: 'try-it-session',
  ip: '81.2.69.160',
  user_agent: PHONE,
  url: 'https://shop.example/login',
  entity_keys: { email: 'anna@example.com' },
};

export const PRESETS: readonly [Preset, ...Preset[]] = [
  { id: 'login', title: 'Plain login', about: 'One person on a phone, at home.', body: LOGIN, count: 1, bodyOf: same },
  {
    id: 'headless',
    title: 'Headless login',
    about: 'A browser that says it is driven by a program.',
    body: { ...LOGIN, user_agent: HEADLESS },
    count: 1,
    bodyOf: same,
  },
  {
    id: 'tor',
    title: 'Tor',
    about: 'An address in a network of Tor exits. The exits themselves need an anonymiser database.',
    body: { ...LOGIN, ip: '185.220.101.1' },
    count: 1,
    bodyOf: same,
  },
  {
    id: 'travel',
    title: 'Travel ×2',
    about: 'The same account in London and, seconds later, in Sydney: the second decision sees the first.',
    body: { ...LOGIN, entity_keys: { email: 'traveller@example.com' } },
    count: 2,
    bodyOf: (body, n) => (n === 0 ? body : { ...body, ip: '1.128.0.1', session_token: 'try-it-session-2' }),
  },
  {
    id: 'stuffing',
    title: 'Stuffing ×12',
    about: 'Twelve accounts tried from one address, all with a wrong password.',
    body: { ...LOGIN, outcome: 'failed', entity_keys: { email: 'user-1@example.com' } },
    count: 12,
    bodyOf: (body, n) => ({
      ...body,
      session_token: `try-it-session-${n + 1}`,
      entity_keys: { email: `user-${n + 1}@example.com` },
    }),
  },
];

/** Returns the object of a JSON text; null for any other text. */
export function readPresetBody(text: string): DecideBody | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as DecideBody) : null;
  } catch {
    return null;
  }
}

export function writeBody(body: DecideBody): string {
  return JSON.stringify(body, null, 2);
}
