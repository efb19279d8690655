import { acceptLanguage } from './places.ts';
import type { Device, Person } from './people.ts';
import type { EventType, PlannedEvent, PlannedSession, Step } from './plan.ts';
import type { Random } from './random.ts';

const SHOP = 'https://shop.example';

const SEARCHES = ['red+shoes', 'rain+coat', 'espresso+cups', 'desk+lamp', 'football', 'bike+light', 'tea'];
const ENTRANCES = ['https://www.google.com/', 'https://www.bing.com/', 'https://duckduckgo.com/', null];

export interface Shopping {
  /** Referrer of the first page; null for none. Default: a search engine or none. */
  readonly entrance?: string | null;
  /** Default `login`; newcomers create an account. */
  readonly account?: 'login' | 'signup';
  /** Whether the login or sign-up comes first and browsing afterwards. */
  readonly accountFirst?: boolean;
  /** Probability of buying, default 0.5. */
  readonly buys?: number;
}

/** Generates the steps of a typical visit: people browse, most log in, some buy. */
export function shoppingSteps(
  random: Random,
  { entrance = random.pick(ENTRANCES), account = 'login', accountFirst = false, buys = 0.5 }: Shopping = {},
): Step[] {
  const steps: Step[] = [];
  let from = entrance;
  const go = (type: EventType, path: string, seconds: readonly [number, number]): void => {
    steps.push({ type, path, from, afterSeconds: steps.length === 0 ? 0 : random.whole(...seconds) });
    from = path;
  };
  const enter = (): void => go(account, account === 'login' ? '/login' : '/register', [20, 90]);
  if (accountFirst) enter();
  for (let i = random.whole(1, 3); i > 0; i--) go('search', `/search?q=${random.pick(SEARCHES)}`, [12, 140]);
  if (!accountFirst && (account === 'signup' || random.chance(0.75))) enter();
  if (!random.chance(buys)) return steps;
  from = '/basket';
  go('checkout', '/checkout', [40, 240]);
  // Some pay on another site and return from there.
  if (random.chance(0.25)) from = 'https://www.paypal.com/';
  go('payment', '/checkout/payment', [30, 180]);
  return steps;
}

/** A visit with a single step. */
export const only = (type: EventType, path: string, from: string | null = null): Step[] => [
  { type, path, from, afterSeconds: 0 },
];

export interface VisitOptions {
  /** Default `collector`; `opaque` is the shop's own token; `none` omits the field. */
  readonly token?: 'collector' | 'opaque' | 'none';
  readonly userAgent?: string;
  /** Overrides the person's device. */
  readonly device?: Device;
  readonly ip?: string;
  readonly email?: string;
  /** Merged into the collector's signals. */
  readonly signals?: Readonly<Record<string, unknown>>;
  /** Overrides the browser headers that the shop passes on. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Converts a person's visit into a session of events. */
export function visit(
  person: Person,
  startSeconds: number,
  steps: readonly Step[],
  random: Random,
  options: VisitOptions = {},
): PlannedSession {
  const own = options.device ?? person.device;
  const token = makeToken(person, own, startSeconds, random, options);
  let atSeconds = startSeconds;
  let ip = options.ip ?? person.ip;
  const events = steps.map((step): PlannedEvent => {
    atSeconds += step.afterSeconds;
    ip = step.ip ?? ip;
    const { type, path, from, who = person, device = own, early = false } = step;
    const referrer = from?.startsWith('/') === true ? SHOP + from : from;
    return {
      atSeconds,
      early,
      body: {
        event_type: type,
        ip,
        user_agent: options.userAgent ?? device.browser.userAgent,
        url: SHOP + path,
        ...(referrer !== null && { referrer }),
        ...(token !== null && { session_token: token }),
        // A visitor who only searches has not identified themselves.
        ...(type !== 'search' && { entity_keys: { user_id: who.userId, email: options.email ?? who.email } }),
        headers: options.headers ?? headersOf(person, device),
      },
    };
  });
  return { events };
}

function makeToken(
  person: Person,
  device: Device,
  startSeconds: number,
  random: Random,
  { token = 'collector', signals = {} }: VisitOptions,
): string | null {
  switch (token) {
    case 'none':
      return null;
    case 'opaque':
      return `s.${random.hex(40)}`;
    case 'collector':
      return collectorToken(person, device, { sid: random.hex(24), iat: startSeconds - random.whole(1, 4), signals });
  }
}

/** Creates a token as the collector script does in this browser. Source of the format: contract, 4.5. */
function collectorToken(
  person: Person,
  device: Device,
  { sid, iat, signals }: { sid: string; iat: number; signals: Readonly<Record<string, unknown>> },
): string {
  const { browser } = device;
  const sig = {
    webdriver: false,
    plugins: browser.plugins,
    languages: person.place.languages,
    platform: browser.platform,
    touch: browser.touchPoints,
    width: browser.screen[0],
    height: browser.screen[1],
    tz: device.timeZone,
    ...(browser.hint !== null && { mobile: browser.hint.mobile, platform_hint: browser.hint.platform }),
    ...signals,
  };
  const text = JSON.stringify({ v: 1, fp: device.fingerprint, sid, iat, sig });
  return `st1.${Buffer.from(text, 'utf8').toString('base64url')}`;
}

/** Returns the browser headers that a shop passes on. */
export function headersOf(person: Person, { browser }: Device): Record<string, string> {
  return {
    accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'accept-language': acceptLanguage(person.place.languages),
    ...(browser.hint !== null && {
      'sec-ch-ua-platform': `"${browser.hint.platform}"`,
      'sec-ch-ua-mobile': browser.hint.mobile ? '?1' : '?0',
    }),
    ...(browser.ja4 !== null && { 'x-svc-ja4': browser.ja4 }),
  };
}
