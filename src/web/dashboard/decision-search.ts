import { HASH_FORM } from './value-forms.ts';

/** The search text of decisions: words and `name:value` pairs, read here and turned into parameters of `GET /v1/decisions`. */

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

export interface SearchTerm {
  /** As it was typed. */
  readonly text: string;
  readonly name: string;
  readonly value: string;
}

export interface DecisionSearch {
  readonly terms: readonly SearchTerm[];
  readonly filters: DecisionFilters;
  /** What the API cannot compare: the country, and bounds that a whole number does not express. null: every row of a response counts. */
  readonly keeps: ((row: { readonly country: string | null; readonly score: number }) => boolean) | null;
  /** What cannot be searched for, as a sentence. */
  readonly faults: readonly string[];
}

const TERM = /"[^"]*"|(?:[^\s"]|"[^"]*")+/g;
const SCORE = /^score\s*(>=|<=|>|<|=|:)\s*(\d{1,3})$/i;
/** An e-mail address without a name before it, as support tickets quote it: no address, country or reason contains an @. */
const EMAIL = /^[^\s"@:]+@[^\s"@:]+$/;

/** Names that stand for the links of a decision. Any other entity is written with its own name: `entity.phone:`. */
const LINKS: Readonly<Record<string, string>> = {
  ip: 'ip',
  address: 'ip',
  network: 'network',
  session: 'session',
  email: 'entity.email',
  user: 'entity.user_id',
  phone: 'entity.phone',
  card: 'entity.card',
};

const DECISIONS: Readonly<Record<string, string>> = {
  allow: 'ALLOW',
  watch: 'ALLOW_WATCH',
  allow_watch: 'ALLOW_WATCH',
  challenge: 'SOFT_CHALLENGE',
  soft_challenge: 'SOFT_CHALLENGE',
  review: 'REVIEW',
  block: 'BLOCK',
};

/** Every name that a search knows, for the sentence about one that it does not. */
const FIELDS = [
  ...Object.keys(LINKS),
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
const FIELD = /^[a-z][\w.-]*$/;
const NOT_A_FIELD = /^(?:[0-9a-f]{0,4}:[0-9a-f:.]*|\w+:\/\/.*)$/i;

function unknownField(name: string): string {
  const near = FIELDS.map((field) => [field, editsBetween(name.toLowerCase(), field)] as const).sort(
    (a, b) => a[1] - b[1],
  )[0];
  const hint =
    near !== undefined && near[1] <= 2
      ? ` Did you mean ${near[0]}:?`
      : ` There are ${FIELDS.join(', ')}, and entity.<name>.`;
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

export function readSearch(text: string): DecisionSearch {
  const terms: SearchTerm[] = [];
  const faults: string[] = [];
  const free: string[] = [];
  let filters: DecisionFilters = {};
  let country: string | null = null;
  let above = -1;
  let below = 101;
  const set = (change: DecisionFilters, what: string): void => {
    const [name] = Object.keys(change) as (keyof DecisionFilters)[];
    if (name !== undefined && filters[name] !== undefined)
      faults.push(`Only one ${what} can be searched for at a time.`);
    else filters = { ...filters, ...change };
  };
  // Spaces around a comparison belong to it: `score > 70`.
  for (const [typed] of text.replaceAll(/\bscore\s*(>=|<=|>|<|=)\s*/gi, 'score$1').matchAll(TERM)) {
    const score = SCORE.exec(typed);
    if (score !== null) {
      const [, sign = '', digits = ''] = score;
      const value = Number(digits);
      terms.push({ text: typed, name: 'score', value: `${sign === ':' ? '=' : sign} ${value}` });
      // The API's bounds include their value: rows with exactly 70 are left out on the page.
      if (sign === '>') above = value;
      if (sign === '<') below = value;
      if (sign.startsWith('>') || sign === '=' || sign === ':') set({ score_min: Math.min(100, value) }, 'lower bound');
      if (sign.startsWith('<') || sign === '=' || sign === ':') set({ score_max: Math.min(100, value) }, 'upper bound');
      continue;
    }
    const colon = typed.indexOf(':');
    const bare = EMAIL.test(typed) ? 'email' : HASH_FORM.test(typed) ? 'fp' : '';
    const name = colon < 1 ? bare : typed.slice(0, colon).toLowerCase();
    const value = typed.slice(colon + 1).replaceAll('"', '');
    if (name === '' || value === '') {
      free.push(typed.replaceAll('"', ''));
      terms.push({ text: typed, name: 'text', value: typed.replaceAll('"', '') });
      continue;
    }
    const kind = LINKS[name] ?? (name.startsWith('entity.') ? typed.slice(0, colon) : undefined);
    if (kind !== undefined) set({ link: `${kind}:${value}` }, 'address, network, session or identity');
    else if (name === 'reason') set({ reason: value }, 'reason');
    else if (name === 'event' || name === 'type') set({ event_type: value }, 'event type');
    else if (name === 'fp' || name === 'fingerprint') {
      if (HASH_FORM.test(value)) set({ fingerprint_hash: value.toLowerCase() }, 'fingerprint');
      else faults.push('A fingerprint has 64 hex digits: open it from a decision.');
    } else if (name === 'decision') {
      const decision = DECISIONS[value.toLowerCase()];
      if (decision === undefined) faults.push('A decision is allow, watch, challenge, review or block.');
      else set({ decision }, 'decision');
    } else if (name === 'country') country = value.toUpperCase();
    else if (name === 'asn' || name === 'as') {
      const number = /^(?:as)?(\d{1,10})$/i.exec(value)?.[1];
      if (number === undefined) faults.push('A network number is written as asn:64496.');
      else set({ asn: Number(number) }, 'network number');
    } else if (name === 'path') {
      if (value.startsWith('/')) set({ path: value.slice(0, 100) }, 'path');
      else faults.push('A path begins with a slash: path:/login.');
    } else if (name === 'domain') set({ email_domain: value.replace(/^@/, '').toLowerCase() }, 'domain');
    else {
      // Addresses of IPv6, times and URLs have colons too.
      if (FIELD.test(name) && !NOT_A_FIELD.test(typed)) faults.push(unknownField(typed.slice(0, colon)));
      free.push(typed);
      terms.push({ text: typed, name: 'text', value: typed });
      continue;
    }
    terms.push({ text: typed, name, value });
  }
  if (free.length > 0) filters = { ...filters, q: free.join(' ') };
  else if (country !== null) filters = { ...filters, q: country };
  const isExact = country === null && above === -1 && below === 101;
  const keeps: DecisionSearch['keeps'] = isExact
    ? null
    : (row) => (country === null || row.country === country) && row.score > above && row.score < below;
  return { terms, filters, keeps, faults };
}

/** The search without one of its terms. */
export function withoutTerm(terms: readonly SearchTerm[], removed: SearchTerm): string {
  return terms
    .filter((term) => term !== removed)
    .map(({ text }) => text)
    .join(' ');
}
