import type { CrowdHistory, ValuesHistory } from '../../src/risk/crowds.ts';
import type {
  AmountHistory,
  ContextHistory,
  DeviceHistory,
  EntityHistory,
  HistoryFacts,
  IpHistory,
  PlaceHistory,
  SessionHistory,
  SurgeHistory,
} from '../../src/risk/history.ts';

/** The third event of a session, which is ten seconds old. */
const CALM_SESSION: SessionHistory = {
  isFirstEvent: false,
  ageMs: 10_000,
  decisions1m: 2,
  payments1h: 0,
  paid1h: 0,
  declined1h: 0,
  rhythm: null,
  pages: null,
  networkChanged: false,
  previousCountry: 'DE',
  previousCountryAgeSeconds: 40,
  regions1h: 1,
  agentChanged: false,
  leftItsOrigin: false,
};

/** A residential line of one returning person. */
const CALM_IP: IpHistory = {
  decisions1m: 2,
  signups24h: 0,
  coldLogins10m: 0,
  coldPayments1h: 0,
  coldEntities1h: 0,
  coldShare10m: 0,
  coldShare1h: 0,
  accountsSucceeded24h: 0,
  knownAccountsSucceeded24h: 0,
  accountsFailing24h: 0,
  loginsFailed24h: 0,
  paid1h: 0,
  declined1h: 0,
};

/** An entity known for a month, on its own device, at home. */
const CALM_ENTITY: EntityHistory = {
  name: 'email',
  decisions1m: 2,
  payments1h: 0,
  devices24h: 1,
  networks1h: 1,
  countries24h: 1,
  loginsFailed1h: 0,
  declined1h: 0,
  hasSucceededHere: false,
  isNew: false,
  networkIsNew: false,
  agentIsNew: false,
  knownForSeconds: 30 * 86_400,
  deviceIsNew: false,
  places: [],
  placeIsFamiliar: false,
};

/** Thirty sessions, all on the same device, at home. */
const CALM_CONTEXT: ContextHistory = {
  name: 'email',
  sessions: 30,
  ratio: 0,
  device: 'known',
  exactAgent: 'known',
  agent: 'known',
  network: 'known',
  place: 'known',
  country: 'known',
};

const PARIS: PlaceHistory = {
  latitude: 48.86,
  longitude: 2.35,
  accuracyKm: 20,
  country: 'FR',
  ageSeconds: 3_600,
  isFamiliar: false,
  sameSession: false,
};

/** A customer known for a month, without unknown visitors. */
const CALM_CROWD: CrowdHistory = {
  customerAgeSeconds: 30 * 86_400,
  surge: null,
  agent: null,
  address: null,
  network: null,
  account: null,
  signups: null,
  mailDomain: null,
  spellings30d: 0,
};

interface Overrides {
  /** Default a month. */
  readonly customerAgeSeconds?: number;
  readonly session?: Partial<SessionHistory>;
  readonly ip?: Partial<IpHistory> | null;
  readonly entities?: readonly Partial<EntityHistory>[];
  /** Default null: rules that require a context then treat the account as one without history. */
  readonly context?: Partial<ContextHistory> | null;
  readonly device?: Partial<DeviceHistory> | null;
  readonly surge?: SurgeHistory | null;
  readonly crowd?: Partial<CrowdHistory> | null;
  readonly values?: ValuesHistory | null;
  readonly amounts?: AmountHistory | null;
  readonly counters?: ReadonlyMap<number, number>;
  readonly isTokenReplayed?: boolean;
}

/** History of a shopper that fires no rule, with the test's overrides. */
export function history({
  customerAgeSeconds = 30 * 86_400,
  session,
  ip = {},
  entities = [{}],
  context = null,
  device = {},
  surge = null,
  crowd = null,
  values = null,
  amounts = null,
  counters = new Map(),
  isTokenReplayed = false,
}: Overrides = {}): HistoryFacts {
  return {
    customerAgeSeconds,
    session: { ...CALM_SESSION, ...session },
    ip: ip === null ? null : { ...CALM_IP, ...ip },
    entities: entities.map((entity) => ({ ...CALM_ENTITY, ...entity })),
    context: context === null ? null : { ...CALM_CONTEXT, ...context },
    device:
      device === null ? null : { entities24h: 1, networks24h: 1, days: 1, isCommon: false, browser: null, ...device },
    surge,
    crowd: crowd === null ? null : { ...CALM_CROWD, ...crowd },
    values,
    amounts,
    counters,
    isTokenReplayed,
    trace: null,
  };
}

/** A location of an entity an hour ago: Paris, with the test's overrides. */
export function place(overrides: Partial<PlaceHistory> = {}): PlaceHistory {
  return { ...PARIS, ...overrides };
}
