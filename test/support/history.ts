import type {
  DeviceHistory,
  EntityHistory,
  HistoryFacts,
  IpHistory,
  PlaceHistory,
  SessionHistory,
} from '../../src/core/history.ts';

/** The third event of a session, two minutes old. */
const CALM_SESSION: SessionHistory = {
  isFirstEvent: false,
  ageMs: 120_000,
  decisions1m: 2,
  payments1h: 0,
  rhythm: null,
  networkChanged: false,
  previousCountry: 'DE',
  previousCountryAgeSeconds: 40,
  regions1h: 1,
  agentChanged: false,
};

/** A home line: one person, who comes back. */
const CALM_IP: IpHistory = {
  decisions1m: 2,
  signups24h: 0,
  coldLogins10m: 0,
  coldPayments1h: 0,
  coldEntities1h: 0,
  coldShare10m: 0,
  coldShare1h: 0,
};

/** Known for a month, on its own device, at home. */
const CALM_ENTITY: EntityHistory = {
  name: 'email',
  decisions1m: 2,
  payments1h: 0,
  devices24h: 1,
  networks1h: 1,
  countries24h: 1,
  knownForSeconds: 30 * 86_400,
  deviceIsNew: false,
  places: [],
  placeIsFamiliar: false,
};

const PARIS: PlaceHistory = {
  latitude: 48.86,
  longitude: 2.35,
  accuracyKm: 20,
  country: 'FR',
  ageSeconds: 3_600,
  sameSession: false,
};

interface Overrides {
  readonly session?: Partial<SessionHistory>;
  readonly ip?: Partial<IpHistory> | null;
  readonly entities?: readonly Partial<EntityHistory>[];
  readonly device?: Partial<DeviceHistory> | null;
}

/** What memory says of a calm shopper, who fires no rule, with what a test changes. */
export function history({ session, ip = {}, entities = [{}], device = {} }: Overrides = {}): HistoryFacts {
  return {
    session: { ...CALM_SESSION, ...session },
    ip: ip === null ? null : { ...CALM_IP, ...ip },
    entities: entities.map((entity) => ({ ...CALM_ENTITY, ...entity })),
    device: device === null ? null : { entities24h: 1, ...device },
  };
}

/** Somewhere an entity was an hour ago: Paris, with what a test changes. */
export function place(overrides: Partial<PlaceHistory> = {}): PlaceHistory {
  return { ...PARIS, ...overrides };
}
