import { HASH_FORM } from './value-forms.ts';

/** The fields that the search text of decisions may name, `name:value`, and the parameters of `GET /v1/decisions` that they become. */

/** Parameters of the API besides the range of time. */
export interface DecisionFilters {
  readonly q?: string;
  readonly decision?: string;
  readonly event_type?: string;
  readonly reason?: string;
  readonly score_min?: number;
  readonly score_max?: number;
  readonly asn?: number;
  readonly path?: string;
  readonly email_domain?: string;
  readonly fingerprint_hash?: string;
  readonly link?: string;
}

/** A sentence for a value that is not valid, or the parameter and its name for people: of each there is at most one in a search. */
export type FieldReading =
  | { readonly kind: 'filter'; readonly filter: DecisionFilters; readonly what: string }
  | { readonly kind: 'country'; readonly country: string }
  | { readonly kind: 'fault'; readonly fault: string };

/** Names that stand for the links of a decision. Any other entity is written with its own name: `entity.phone:`. */
const LINKS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ip: 'ip',
    address: 'ip',
    network: 'network',
    session: 'session',
    email: 'entity.email',
    user: 'entity.user_id',
    phone: 'entity.phone',
    card: 'entity.card',
  }),
);

const DECISIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    allow: 'ALLOW',
    watch: 'ALLOW_WATCH',
    allow_watch: 'ALLOW_WATCH',
    challenge: 'SOFT_CHALLENGE',
    soft_challenge: 'SOFT_CHALLENGE',
    review: 'REVIEW',
    block: 'BLOCK',
  }),
);

/** Every name that a search knows, for the sentence about one that it does not. */
const FIELD_NAMES = [
  ...LINKS.keys(),
  'reason',
  'event',
  'decision',
  'score',
  'country',
  'asn',
  'path',
  'domain',
  'fingerprint',
] as const;
const PATH_CHARACTERS_MAX = 100;
const NAME_FORM = /^[a-z][\w.-]*$/;
/** Addresses of IPv6, times and URLs have colons too. */
const VALUE_WITH_COLON = /^(?:[0-9a-f]{0,4}:[0-9a-f:.]*|\w+:\/\/.*)$/i;

type FieldReader = (value: string) => FieldReading;

function readFingerprint(value: string): FieldReading {
  if (!HASH_FORM.test(value)) return faultOf('A fingerprint has 64 hex digits: open it from a decision.');
  return filterOf({ fingerprint_hash: value.toLowerCase() }, 'fingerprint');
}

function readDecision(value: string): FieldReading {
  const decision = DECISIONS.get(value.toLowerCase());
  if (decision === undefined) return faultOf('A decision is allow, watch, challenge, review or block.');
  return filterOf({ decision }, 'decision');
}

function readNetworkNumber(value: string): FieldReading {
  const number = /^(?:as)?(\d{1,10})$/i.exec(value)?.[1];
  if (number === undefined) return faultOf('A network number is written as asn:64496.');
  return filterOf({ asn: Number(number) }, 'network number');
}

function readPath(value: string): FieldReading {
  if (!value.startsWith('/')) return faultOf('A path begins with a slash: path:/login.');
  return filterOf({ path: value.slice(0, PATH_CHARACTERS_MAX) }, 'path');
}

const readEvent: FieldReader = (value) => filterOf({ event_type: value }, 'event type');

const READERS: ReadonlyMap<string, FieldReader> = new Map<string, FieldReader>([
  ['reason', (value) => filterOf({ reason: value }, 'reason')],
  ['event', readEvent],
  ['type', readEvent],
  ['fingerprint', readFingerprint],
  ['fp', readFingerprint],
  ['decision', readDecision],
  ['country', (value) => ({ kind: 'country', country: value.toUpperCase() })],
  ['asn', readNetworkNumber],
  ['as', readNetworkNumber],
  ['path', readPath],
  ['domain', (value) => filterOf({ email_domain: value.replace(/^@/, '').toLowerCase() }, 'domain')],
]);

/** Returns the parameter for a field; null if there is none of this name. Letters of an entity's name count as typed, others do not. */
export function readSearchField(typedName: string, value: string): FieldReading | null {
  const name = typedName.toLowerCase();
  const link = LINKS.get(name) ?? (name.startsWith('entity.') ? typedName : undefined);
  if (link !== undefined) return filterOf({ link: `${link}:${value}` }, 'address, network, session or identity');
  return READERS.get(name)?.(value) ?? null;
}

/** Returns a sentence about text with a colon whose name is unknown; null if it rather is a value. */
export function unknownFieldFault(typed: string): string | null {
  const name = typed.slice(0, typed.indexOf(':'));
  if (!NAME_FORM.test(name.toLowerCase()) || VALUE_WITH_COLON.test(typed)) return null;
  const [nearest] = FIELD_NAMES.map((field) => [field, editsBetween(name.toLowerCase(), field)] as const).sort(
    (a, b) => a[1] - b[1],
  );
  const hint =
    nearest !== undefined && nearest[1] <= 2
      ? ` Did you mean ${nearest[0]}:?`
      : ` There are ${FIELD_NAMES.join(', ')}, and entity.<name>.`;
  return `There is no field ${name}.${hint}`;
}

/** Levenshtein's distance. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1]);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

function filterOf(filter: DecisionFilters, what: string): FieldReading {
  return { kind: 'filter', filter, what };
}

function faultOf(fault: string): FieldReading {
  return { kind: 'fault', fault };
}
