import { crc32 } from 'node:zlib';
import type { Device } from '../traffic/devices.ts';
import { hintOf, ja4Of } from './browsers.ts';
import type { Person } from './people.ts';
import type { EventType, PlannedEvent, PlannedSession, Step } from './plan.ts';
import type { Random } from '../traffic/random.ts';

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
    steps.push({ type, path, from, afterSeconds: steps.length === 0 ? 0 : random.between(...seconds) });
    from = path;
  };
  const enter = (): void => go(account, account === 'login' ? '/login' : '/register', [20, 90]);
  if (accountFirst) enter();
  for (let i = random.between(1, 3); i > 0; i--) go('search', `/search?q=${random.pick(SEARCHES)}`, [12, 140]);
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
  const token = makeToken(own, startSeconds, random, options);
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
        user_agent: options.userAgent ?? device.agent,
        url: SHOP + path,
        ...(referrer !== null && { referrer }),
        ...(token !== null && { session_token: token }),
        // A visitor who only searches has not identified themselves.
        ...(type !== 'search' && { entity_keys: { user_id: who.userId, email: options.email ?? who.email } }),
        ...((type === 'checkout' || type === 'payment') && { attributes: orderOf(who.userId, startSeconds) }),
        headers: options.headers ?? headersOf(device),
      },
    };
  });
  return { events };
}

/** Choice: most orders of a shop are small, one in five is above 500 EUR. */
const ORDER_MIN = 15;
const ORDER_SPAN = 900;

/** Returns the order of a visit. It draws no random number, so that a visit is the same with and without it. */
function orderOf(userId: string, startSeconds: number): Readonly<Record<string, number | string>> {
  const part = crc32(`${userId} ${startSeconds}`) / 2 ** 32;
  return { amount: Math.round((ORDER_MIN + ORDER_SPAN * part ** 3) * 100) / 100, currency: 'EUR' };
}

function makeToken(
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
      return collectorToken(device, { sid: random.hex(24), iat: startSeconds - random.between(1, 4), signals });
  }
}

/** Creates a token as the collector script does in this browser. Source of the format: contract, 4.5. */
function collectorToken(
  device: Device,
  { sid, iat, signals }: { sid: string; iat: number; signals: Readonly<Record<string, unknown>> },
): string {
  const hint = hintOf(device);
  const sig = {
    ...device.signals,
    ...(hint !== null && { mobile: hint.mobile, platform_hint: hint.platform }),
    ...signals,
  };
  const text = JSON.stringify({ v: 1, fp: device.fingerprint, sid, iat, sig });
  return `st1.${Buffer.from(text, 'utf8').toString('base64url')}`;
}

/** Returns the browser headers that a shop passes on. */
export function headersOf(device: Device): Record<string, string> {
  const hint = hintOf(device);
  const ja4 = ja4Of(device);
  return {
    accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'accept-language': device.language,
    ...(hint !== null && {
      'sec-ch-ua-platform': `"${hint.platform}"`,
      'sec-ch-ua-mobile': hint.mobile ? '?1' : '?0',
    }),
    ...(ja4 !== null && { 'x-svc-ja4': ja4 }),
  };
}
