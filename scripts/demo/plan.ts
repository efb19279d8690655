import { acceptLanguage } from './places.ts';
import type { Device, Person } from './people.ts';
import type { Random } from './random.ts';

/** What a day consists of, before anything is sent. */
export interface Day {
  /** 0 for the first. */
  readonly number: number;
  /** Midnight UTC, Unix seconds. */
  readonly startSeconds: number;
}

export type EventType = 'search' | 'login' | 'signup' | 'checkout' | 'payment';

/** The body of POST /v1/decide, as far as the demo fills it. */
export interface DecideBody {
  readonly event_type: EventType;
  readonly ip: string;
  readonly user_agent: string;
  readonly url?: string;
  readonly referrer?: string;
  readonly session_token?: string;
  readonly entity_keys?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PlannedEvent {
  readonly atSeconds: number;
  readonly body: DecideBody;
}

/** Events of one session, oldest first. */
export interface PlannedSession {
  readonly events: readonly PlannedEvent[];
}

/** One kind of sender. A new one needs an entry in the table in personas.ts and nothing else. */
export interface Persona {
  readonly id: string;
  readonly title: string;
  readonly kind: 'shopper' | 'attacker' | 'integration';
  /** What must be remembered to recognise it; null where each of its requests shows it. */
  readonly history: string | null;
  /** The sessions of one day. The same day gives the same sessions; people keep their devices from day to day. */
  plan(day: Day): readonly PlannedSession[];
}

/** One step of a visit: which page, from where, how long after the step before. */
export interface Step {
  readonly type: EventType;
  readonly path: string;
  /** A path of the shop, an address elsewhere, or null for none. */
  readonly from: string | null;
  readonly afterSeconds: number;
}

const SHOP = 'https://shop.example';
const DAY_SECONDS = 86_400;
/** Choice: no visit is longer, so that all of a day's events lie in the day. */
const VISIT_SECONDS_MAX = 3_600;

export function pageUrl(path: string): string {
  return SHOP + path;
}

/** A moment between 7 in the morning and 11 at night where the person lives. */
export function momentAwake(day: Day, person: Person, random: Random): number {
  const localSeconds = random.whole(7 * 3_600, 23 * 3_600);
  const seconds = (localSeconds - person.place.utcHours * 3_600 + DAY_SECONDS) % DAY_SECONDS;
  return day.startSeconds + Math.min(seconds, DAY_SECONDS - VISIT_SECONDS_MAX);
}

/** A moment by the hours of the day, in UTC. */
export function momentAt(day: Day, hour: number, seconds = 0): number {
  return day.startSeconds + Math.round(hour * 3_600) + seconds;
}

const SEARCHES = ['red+shoes', 'rain+coat', 'espresso+cups', 'desk+lamp', 'football', 'bike+light', 'tea'];
const ENTRANCES = ['https://www.google.com/', 'https://www.bing.com/', 'https://duckduckgo.com/', null];

/** How people come and shop: they look around, most log in, some buy. */
export function shoppingSteps(random: Random, entrance: string | null = random.pick(ENTRANCES)): Step[] {
  const steps: Step[] = [];
  let from = entrance;
  const go = (type: EventType, path: string, seconds: readonly [number, number]): void => {
    steps.push({ type, path, from, afterSeconds: steps.length === 0 ? 0 : random.whole(...seconds) });
    from = path;
  };
  for (let i = random.whole(1, 3); i > 0; i--) go('search', `/search?q=${random.pick(SEARCHES)}`, [12, 140]);
  const [login, buy] = [random.chance(0.75), random.chance(0.5)];
  if (login) go('login', '/login', [20, 90]);
  if (!buy) return steps;
  from = '/basket';
  go('checkout', '/checkout', [40, 240]);
  // Some pay elsewhere and are sent back from there.
  if (random.chance(0.25)) from = 'https://www.paypal.com/';
  go('payment', '/checkout/payment', [30, 180]);
  return steps;
}

export interface VisitOptions {
  /** `collector` unless told; `opaque` is a token of the shop's own; `none` leaves the field out. */
  readonly token?: 'collector' | 'opaque' | 'none';
  readonly userAgent?: string;
  readonly device?: Device;
  readonly ip?: string;
  readonly email?: string;
  /** Laid over the collector's signals. */
  readonly signals?: Readonly<Record<string, unknown>>;
  /** In the place of what the shop passes on of the browser's headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A person's visit as a session of events. */
export function visit(
  person: Person,
  startSeconds: number,
  steps: readonly Step[],
  random: Random,
  options: VisitOptions = {},
): PlannedSession {
  const device = options.device ?? person.device;
  const token = makeToken(person, device, startSeconds, random, options);
  let atSeconds = startSeconds;
  const events = steps.map(({ type, path, from, afterSeconds }): PlannedEvent => {
    atSeconds += afterSeconds;
    const referrer = from === null ? null : from.startsWith('/') ? pageUrl(from) : from;
    return {
      atSeconds,
      body: {
        event_type: type,
        ip: options.ip ?? person.ip,
        user_agent: options.userAgent ?? device.browser.userAgent,
        url: pageUrl(path),
        ...(referrer !== null && { referrer }),
        ...(token !== null && { session_token: token }),
        // Whoever only looks around has not said who they are.
        ...(type !== 'search' && { entity_keys: { user_id: person.userId, email: options.email ?? person.email } }),
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

/** A token as the collector script writes it in this browser. Source of the form: open points, section 2. */
export function collectorToken(
  person: Person,
  device: Device,
  { sid, iat, signals = {} }: { sid: string; iat: number; signals?: Readonly<Record<string, unknown>> },
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

/** What a shop passes on of the browser's headers. */
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
