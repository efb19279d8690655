import type {
  DeviceHistory,
  EntityHistory,
  HistoryEvent,
  HistoryFacts,
  IpHistory,
  PlaceHistory,
  Rhythm,
  SessionHistory,
  Velocity,
} from '../../src/core/history.ts';

/**
 * Memory as it is meant: exact, without a bound, slow. What the table in shared memory is measured against.
 */
export class ExactVelocity implements Velocity {
  readonly #sessions = new Map<string, Session>();
  readonly #hosts = new Map<string, Host>();
  readonly #entities = new Map<string, Known>();
  readonly #devices = new Map<string, Map<string, number>>();

  observe(events: readonly HistoryEvent[]): HistoryFacts[] {
    return events.map((event) => this.#take(event));
  }

  #take(event: HistoryEvent): HistoryFacts {
    const scope = `${event.customer}/${event.publicKey ? 'p' : 's'}/`;
    const sessionKey = scope + event.sessionId;
    const before = this.#sessions.get(sessionKey);
    const session = before ?? newSession(event);
    this.#sessions.set(sessionKey, session);
    const entities = event.entities.map((entity) => {
      const key = `${scope}${entity.name}=${entity.value}`;
      const known = this.#entities.get(key) ?? newKnown(event.nowMs);
      this.#entities.set(key, known);
      return { ...entity, known };
    });
    const site = event.networks?.site;
    const isCold =
      before === undefined &&
      entities.length > 0 &&
      site !== undefined &&
      entities.every(({ known }) => !known.sites.has(site));
    const ip = event.networks === null ? null : this.#host(scope, event, session, isCold);
    const device = event.device === null ? null : this.#device(scope, event);
    return {
      session: takeSession(session, event, before === undefined),
      ip,
      entities: entities.map(({ name, known }) => takeEntity(name, known, event)),
      device,
    };
  }

  #host(scope: string, event: HistoryEvent, session: Session, isCold: boolean): IpHistory {
    const now = event.nowMs;
    const key = scope + (event.networks?.host ?? '');
    const host = this.#hosts.get(key) ?? newHost();
    this.#hosts.set(key, host);
    host.all.push(now);
    if (event.eventType === 'signup') host.signups.push(now);
    for (const [window, list, cold] of [
      [10 * MINUTE, host.arrivals10m, host.cold10m],
      [60 * MINUTE, host.arrivals1h, host.cold1h],
    ] as const) {
      const counted = session.arrivals.get(`${window}/${key}`);
      if (counted !== undefined && now - counted < window) continue;
      session.arrivals.set(`${window}/${key}`, now);
      list.push(now);
      if (isCold) cold.push(now);
    }
    if (isCold && event.eventType === 'login') host.coldLogins.push(now);
    if (isCold && isPaying(event.eventType)) host.coldPayments.push(now);
    let coldEntities = 0;
    for (const { name, value } of event.entities) {
      const set = host.coldEntities.get(name) ?? new Map<string, number>();
      host.coldEntities.set(name, set);
      if (isCold) set.set(value, now);
      coldEntities = Math.max(coldEntities, within(set.values(), now, 60 * MINUTE));
    }
    const share = (cold: readonly number[], all: readonly number[], window: number): number => {
      const sessions = within(all, now, window);
      return sessions === 0 ? 0 : within(cold, now, window) / sessions;
    };
    return {
      decisions1m: within(host.all, now, MINUTE),
      signups24h: within(host.signups, now, DAY),
      coldLogins10m: within(host.coldLogins, now, 10 * MINUTE),
      coldPayments1h: within(host.coldPayments, now, 60 * MINUTE),
      coldEntities1h: coldEntities,
      coldShare10m: share(host.cold10m, host.arrivals10m, 10 * MINUTE),
      coldShare1h: share(host.cold1h, host.arrivals1h, 60 * MINUTE),
    };
  }

  #device(scope: string, event: HistoryEvent): DeviceHistory {
    let entities24h = 0;
    for (const { name, value } of event.entities) {
      const key = `${scope}${event.device ?? ''}/${name}`;
      const set = this.#devices.get(key) ?? new Map<string, number>();
      this.#devices.set(key, set);
      set.set(value, event.nowMs);
      entities24h = Math.max(entities24h, within(set.values(), event.nowMs, DAY));
    }
    return { entities24h };
  }
}

const MINUTE = 60_000;
const DAY = 86_400_000;
const RING = 12;
const SAME_PLACE_KM = 50;
const FAMILIAR_KM = 100;

interface Session {
  readonly firstMs: number;
  readonly all: number[];
  readonly payments: number[];
  site: string | null;
  agent: string | null;
  country: string | null;
  countryAtMs: number;
  readonly regions: Map<string, number>;
  readonly arrivals: Map<string, number>;
}

interface Host {
  readonly all: number[];
  readonly signups: number[];
  readonly arrivals10m: number[];
  readonly cold10m: number[];
  readonly arrivals1h: number[];
  readonly cold1h: number[];
  readonly coldLogins: number[];
  readonly coldPayments: number[];
  readonly coldEntities: Map<string, Map<string, number>>;
}

interface Known {
  readonly firstMs: number;
  readonly all: number[];
  readonly payments: number[];
  readonly devices: Map<string, number>;
  readonly sites: Map<string, number>;
  readonly countries: Map<string, number>;
  readonly places: KnownPlace[];
}

interface KnownPlace {
  readonly latitude: number;
  readonly longitude: number;
  readonly accuracyKm: number;
  readonly country: string | null;
  readonly firstMs: number;
  lastMs: number;
  sessionId: string;
}

function newSession(event: HistoryEvent): Session {
  return {
    firstMs: event.nowMs,
    all: [],
    payments: [],
    site: null,
    agent: null,
    country: null,
    countryAtMs: 0,
    regions: new Map(),
    arrivals: new Map(),
  };
}

function newHost(): Host {
  return {
    all: [],
    signups: [],
    arrivals10m: [],
    cold10m: [],
    arrivals1h: [],
    cold1h: [],
    coldLogins: [],
    coldPayments: [],
    coldEntities: new Map(),
  };
}

function newKnown(nowMs: number): Known {
  return {
    firstMs: nowMs,
    all: [],
    payments: [],
    devices: new Map(),
    sites: new Map(),
    countries: new Map(),
    places: [],
  };
}

function takeSession(session: Session, event: HistoryEvent, isFirstEvent: boolean): SessionHistory {
  const now = event.nowMs;
  session.all.push(now);
  if (event.eventType === 'payment') session.payments.push(now);
  if (event.networks !== null) session.regions.set(event.networks.region, now);
  const agent = event.agent === null ? null : `${event.agent.browser}/${event.agent.system}`;
  const site = event.networks?.site ?? null;
  const facts: SessionHistory = {
    isFirstEvent,
    ageMs: now - session.firstMs,
    decisions1m: within(session.all, now, MINUTE),
    payments1h: within(session.payments, now, 60 * MINUTE),
    rhythm: rhythmOf(session.all.slice(-RING)),
    networkChanged: site !== null && session.site !== null && site !== session.site,
    previousCountry: session.country,
    previousCountryAgeSeconds: session.country === null ? 0 : Math.floor((now - session.countryAtMs) / 1_000),
    regions1h: within(session.regions.values(), now, 60 * MINUTE),
    agentChanged: agent !== null && session.agent !== null && agent !== session.agent,
  };
  if (site !== null) session.site = site;
  if (agent !== null) session.agent = agent;
  if (event.country !== null) {
    session.country = event.country;
    session.countryAtMs = now;
  }
  return facts;
}

function rhythmOf(times: readonly number[]): Rhythm | null {
  if (times.length < 8) return null;
  const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
  return { events: times.length, variation: mean === 0 ? 0 : Math.sqrt(variance) / mean };
}

function takeEntity(name: string, known: Known, event: HistoryEvent): EntityHistory {
  const now = event.nowMs;
  known.all.push(now);
  if (event.eventType === 'payment') known.payments.push(now);
  const deviceIsNew = event.device !== null && !known.devices.has(event.device);
  if (event.device !== null) known.devices.set(event.device, now);
  if (event.networks !== null) known.sites.set(event.networks.site, now);
  if (event.country !== null) known.countries.set(event.country, now);
  const { places, placeIsFamiliar } = takePlace(known, event);
  return {
    name,
    decisions1m: within(known.all, now, MINUTE),
    payments1h: within(known.payments, now, 60 * MINUTE),
    devices24h: within(known.devices.values(), now, DAY),
    networks1h: within(known.sites.values(), now, 60 * MINUTE),
    countries24h: within(known.countries.values(), now, DAY),
    knownForSeconds: Math.floor((now - known.firstMs) / 1_000),
    deviceIsNew,
    places,
    placeIsFamiliar,
  };
}

function takePlace(known: Known, event: HistoryEvent): Pick<EntityHistory, 'places' | 'placeIsFamiliar'> {
  const { place, nowMs, sessionId, country } = event;
  let here: KnownPlace | undefined;
  let placeIsFamiliar = false;
  if (place !== null) {
    placeIsFamiliar = known.places.some((one) => nowMs - one.firstMs > DAY && distanceKm(one, place) <= FAMILIAR_KM);
    here = known.places.find((one) => distanceKm(one, place) <= SAME_PLACE_KM);
    if (here === undefined) {
      here = { ...place, country, firstMs: nowMs, lastMs: nowMs, sessionId };
      known.places.push(here);
    } else {
      here.lastMs = nowMs;
      here.sessionId = sessionId;
    }
  }
  const places = known.places
    .filter((one) => one !== here)
    .sort((a, b) => b.lastMs - a.lastMs)
    .map(
      (one): PlaceHistory => ({
        latitude: one.latitude,
        longitude: one.longitude,
        accuracyKm: one.accuracyKm,
        country: one.country,
        ageSeconds: Math.floor((nowMs - one.lastMs) / 1_000),
        sameSession: one.sessionId === sessionId,
      }),
    );
  return { places, placeIsFamiliar };
}

interface Point {
  readonly latitude: number;
  readonly longitude: number;
}

function distanceKm(a: Point, b: Point): number {
  const rad = Math.PI / 180;
  const h =
    Math.sin(((b.latitude - a.latitude) * rad) / 2) ** 2 +
    Math.cos(a.latitude * rad) *
      Math.cos(b.latitude * rad) *
      Math.sin(((b.longitude - a.longitude) * rad) / 2) ** 2;
  return 2 * 6_371 * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** Times in the window that ends now. */
function within(times: Iterable<number>, nowMs: number, windowMs: number): number {
  let count = 0;
  for (const time of times) if (nowMs - time < windowMs) count++;
  return count;
}

function isPaying(eventType: string): boolean {
  return eventType === 'payment' || eventType === 'checkout';
}
