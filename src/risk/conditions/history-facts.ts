import type { EntityHistory, IpHistory, SessionHistory } from '../history.ts';
import type { ConditionValue } from './condition.ts';
import { decisionFact as fact, type DecisionFact } from './decision-fact.ts';
import { accountOf, type DecisionInput, familiarity } from './decision-input.ts';

/** Facts of what happened before: at the address, on the device, with the account and other entities, in the session. */

const HOUR_SECONDS = 3_600;

function ofAddress(name: string, meaning: string, unit: string, read: (ip: IpHistory) => number): DecisionFact {
  return fact(
    `ip.${name}`,
    'number',
    meaning,
    ({ facts: { history } }) => (history === null || history.ip === null ? null : read(history.ip)),
    { unit, absentWhen: 'the address is not public, or the history is unavailable' },
  );
}

const ADDRESS_HISTORY: readonly DecisionFact[] = [
  ofAddress('decisions_1m', 'decisions at the address', 'in 1 min', (ip) => ip.decisions1m),
  ofAddress('signups_24h', 'sign-ups at the address', 'in 24 h', (ip) => ip.signups24h),
  ofAddress('cold_logins_10m', 'logins of unknown accounts at the address', 'in 10 min', (ip) => ip.coldLogins10m),
  ofAddress('cold_payments_1h', 'payments of unknown accounts at the address', 'in 1 h', (ip) => ip.coldPayments1h),
  ofAddress('cold_entities_1h', 'unknown entities at the address', 'in 1 h', (ip) => ip.coldEntities1h),
  ofAddress('accounts_succeeded_24h', 'accounts that logged in', 'in 24 h', (ip) => ip.accountsSucceeded24h),
  ofAddress('accounts_failing_24h', 'accounts that failed to log in', 'in 24 h', (ip) => ip.accountsFailing24h),
  ofAddress('logins_failed_24h', 'failed logins', 'in 24 h', (ip) => ip.loginsFailed24h),
  ofAddress('paid_1h', 'payments that succeeded', 'in 1 h', (ip) => ip.paid1h),
  ofAddress('declined_1h', 'payments that were declined', 'in 1 h', (ip) => ip.declined1h),
];

const NO_DEVICE = 'the token has no fingerprint, or the history is unavailable';

/** The day of the event is counted too. */
function isNewToday(days: number | undefined): boolean | undefined {
  return days === undefined ? undefined : days <= 1;
}

function negated(value: boolean | undefined): boolean | undefined {
  return value === undefined ? undefined : !value;
}

const DEVICE: readonly DecisionFact[] = [
  fact('device.fingerprint', 'text', 'fingerprint_hash of the answer', ({ facts }) => facts.fingerprintHash),
  fact('device.entities_24h', 'number', 'entities on the device', ({ facts }) => facts.history?.device?.entities24h, {
    unit: 'in 24 h',
    absentWhen: NO_DEVICE,
  }),
  fact(
    'device.networks_24h',
    'number',
    'networks that the device came from',
    ({ facts }) => facts.history?.device?.networks24h,
    {
      unit: 'in 24 h',
      absentWhen: NO_DEVICE,
    },
  ),
  fact('device.days', 'number', 'days on which the device was seen', ({ facts }) => facts.history?.device?.days, {
    unit: 'days',
    absentWhen: NO_DEVICE,
  }),
  fact('device.new', 'boolean', 'first seen today (UTC)', ({ facts }) => isNewToday(facts.history?.device?.days), {
    absentWhen: NO_DEVICE,
  }),
  fact(
    'device.known',
    'boolean',
    'also seen on an earlier day',
    ({ facts }) => negated(isNewToday(facts.history?.device?.days)),
    { absentWhen: NO_DEVICE },
  ),
  fact(
    'device.common',
    'boolean',
    'many devices share the fingerprint',
    ({ facts }) => facts.history?.device?.isCommon,
    {
      absentWhen: NO_DEVICE,
    },
  ),
  fact(
    'browser.entities_24h',
    'number',
    'entities in the browser, by its own id',
    ({ facts }) => facts.history?.device?.browser?.entities24h,
    {
      unit: 'in 24 h',
      absentWhen: NO_DEVICE,
    },
  ),
  fact(
    'browser.networks_24h',
    'number',
    'networks that the browser came from',
    ({ facts }) => facts.history?.device?.browser?.networks24h,
    {
      unit: 'in 24 h',
      absentWhen: NO_DEVICE,
    },
  ),
  fact(
    'browser.hash',
    'text',
    'hash of the id of the browser',
    ({ facts: { token } }) => (token.kind === 'collector' ? token.browserHash : null),
    { absentWhen: 'the token has no id of the browser' },
  ),
];

interface EntityPart {
  readonly name: string;
  readonly type: 'number' | 'boolean';
  readonly meaning: string;
  readonly unit?: string;
  read(entity: EntityHistory): number | boolean;
}

/** What is known of every entity: after `account.` and `entity.<name>.`. */
const ENTITY_PARTS: readonly EntityPart[] = [
  { name: 'new', type: 'boolean', meaning: 'nothing was known of it before', read: ({ isNew }) => isNew },
  {
    name: 'known_for_hours',
    type: 'number',
    meaning: 'time since it was first seen',
    unit: 'hours',
    read: (one) => one.knownForSeconds / HOUR_SECONDS,
  },
  {
    name: 'decisions_1m',
    type: 'number',
    meaning: 'its decisions',
    unit: 'in 1 min',
    read: ({ decisions1m }) => decisions1m,
  },
  {
    name: 'payments_1h',
    type: 'number',
    meaning: 'its payments',
    unit: 'in 1 h',
    read: ({ payments1h }) => payments1h,
  },
  {
    name: 'declined_1h',
    type: 'number',
    meaning: 'its declined payments',
    unit: 'in 1 h',
    read: ({ declined1h }) => declined1h,
  },
  {
    name: 'logins_failed_1h',
    type: 'number',
    meaning: 'its failed logins',
    unit: 'in 1 h',
    read: ({ loginsFailed1h }) => loginsFailed1h,
  },
  {
    name: 'devices_24h',
    type: 'number',
    meaning: 'its devices',
    unit: 'in 24 h',
    read: ({ devices24h }) => devices24h,
  },
  {
    name: 'networks_1h',
    type: 'number',
    meaning: 'its networks',
    unit: 'in 1 h',
    read: ({ networks1h }) => networks1h,
  },
  {
    name: 'countries_24h',
    type: 'number',
    meaning: 'its countries',
    unit: 'in 24 h',
    read: ({ countries24h }) => countries24h,
  },
  {
    name: 'network_new',
    type: 'boolean',
    meaning: 'the network was not seen with it before',
    read: ({ networkIsNew }) => networkIsNew,
  },
  {
    name: 'agent_new',
    type: 'boolean',
    meaning: 'the browser or system is none of its last three',
    read: ({ agentIsNew }) => agentIsNew,
  },
  {
    name: 'device_new',
    type: 'boolean',
    meaning: 'the fingerprint was not seen with it before',
    read: ({ deviceIsNew }) => deviceIsNew,
  },
  {
    name: 'succeeded_here',
    type: 'boolean',
    meaning: 'a login of it succeeded here before',
    read: ({ hasSucceededHere }) => hasSucceededHere,
  },
];

function entityFact(
  prefix: string,
  part: EntityPart,
  find: (input: DecisionInput) => EntityHistory | null | undefined,
): DecisionFact {
  const { name, type, meaning, unit } = part;
  const read = (input: DecisionInput): ConditionValue => {
    const entity = find(input);
    return entity === null || entity === undefined ? undefined : part.read(entity);
  };
  const notes = {
    absentWhen: 'the request does not name it, or the history is unavailable',
    ...(unit === undefined ? {} : { unit }),
  };
  return fact(`${prefix}.${name}`, type, meaning, read, notes);
}

const NO_CONTEXT = 'the account was not used before';

function familiar(name: string, meaning: string, part: Parameters<typeof familiarity>[1]): DecisionFact {
  return fact(`account.${name}`, 'text', `known or new: ${meaning}`, ({ facts }) => familiarity(facts, part), {
    absentWhen: NO_CONTEXT,
  });
}

const ACCOUNT: readonly DecisionFact[] = [
  ...ENTITY_PARTS.map((part) => entityFact('account', part, ({ facts }) => accountOf(facts))),
  fact(
    'account.sessions',
    'number',
    'sessions of the account before',
    ({ facts }) => facts.history?.context?.sessions,
    {
      absentWhen: NO_CONTEXT,
    },
  ),
  familiar('device', 'the fingerprint', 'device'),
  familiar('agent', 'the whole user agent', 'exactAgent'),
  familiar('network', 'the network', 'network'),
  familiar('place', 'the location', 'place'),
  familiar('country', 'the country', 'country'),
];

function ofSession(
  name: string,
  type: 'number' | 'boolean',
  meaning: string,
  read: (session: SessionHistory) => ConditionValue | null,
  unit?: string,
): DecisionFact {
  return fact(
    `session.${name}`,
    type,
    meaning,
    ({ facts }) => (facts.history === null ? null : read(facts.history.session)),
    {
      absentWhen: 'the history is unavailable',
      ...(unit === undefined ? {} : { unit }),
    },
  );
}

const SESSION: readonly DecisionFact[] = [
  ofSession('first', 'boolean', 'this is its first event', ({ isFirstEvent }) => isFirstEvent),
  ofSession('age_seconds', 'number', 'time since its first event', ({ ageMs }) => ageMs / 1_000, 'seconds'),
  ofSession('decisions_1m', 'number', 'its decisions', ({ decisions1m }) => decisions1m, 'in 1 min'),
  ofSession(
    'events_10m',
    'number',
    'its events; absent while they are few',
    ({ pages }) => pages?.events10m,
    'in 10 min',
  ),
  ofSession('events_1h', 'number', 'its events; absent while they are few', ({ pages }) => pages?.events1h, 'in 1 h'),
  ofSession('payments_1h', 'number', 'its payments', ({ payments1h }) => payments1h, 'in 1 h'),
  ofSession('paid_1h', 'number', 'its payments that succeeded', ({ paid1h }) => paid1h, 'in 1 h'),
  ofSession('declined_1h', 'number', 'its declined payments', ({ declined1h }) => declined1h, 'in 1 h'),
  ofSession('regions_1h', 'number', 'its networks (/16, /32)', ({ regions1h }) => regions1h, 'in 1 h'),
  ofSession(
    'network_changed',
    'boolean',
    'its event before came from another network',
    ({ networkChanged }) => networkChanged,
  ),
  ofSession(
    'agent_changed',
    'boolean',
    'its event before came from another browser or system',
    ({ agentChanged }) => agentChanged,
  ),
];

export const HISTORY_FACTS: readonly DecisionFact[] = [...ADDRESS_HISTORY, ...DEVICE, ...ACCOUNT, ...SESSION];

/** The facts of an entity whose name the customer chose, for documents and completion: `<name>` stands for it. */
export const ENTITY_FACTS: readonly DecisionFact[] = [
  entityValue('<name>'),
  ...ENTITY_PARTS.map((part) => entityFact('entity.<name>', part, () => null)),
];

function entityValue(name: string): DecisionFact {
  return fact(
    `entity.${name}.value`,
    'text',
    'its value',
    ({ facts }) => facts.entities.find((one) => one.name === name)?.value,
    {
      absentWhen: 'the request does not name it',
      isIdentity: true,
    },
  );
}

/** Returns the fact `part` of the entity `name`; null if there is no such fact. */
export function factOfEntity(name: string, part: string): DecisionFact | null {
  if (part === 'value') return entityValue(name);
  const found = ENTITY_PARTS.find((one) => one.name === part);
  if (found === undefined) return null;
  return entityFact(`entity.${name}`, found, ({ facts }) => facts.history?.entities.find((one) => one.name === name));
}

/** Returns the names of all facts of the entity. */
export function entityFactNames(entity: string): readonly string[] {
  return ['value', ...ENTITY_PARTS.map(({ name }) => name)].map((part) => `entity.${entity}.${part}`);
}
