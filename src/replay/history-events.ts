import type { Outcome } from '../risk/event-outcome.ts';
import { DEFAULT_ATTRIBUTES, type AttributeDeclarations } from '../risk/policy/attributes.ts';
import { readEventTime } from './event-time.ts';
import type { ColumnMap, HistoryField } from './history-columns.ts';
import type { HistoryRow } from './history-rows.ts';

/** An event of a customer's own history. */
export interface HistoryEventRow {
  /** Unix ms. */
  readonly atMs: number;
  /** Value of the column `customer`; '' without one. */
  readonly customer: string;
  /** Body of the decide request, as JSON; its own outcome is absent. */
  readonly body: string;
  /** The outcome of the action, which is reported after the decision. */
  readonly outcome: Outcome | null;
  /** True: fraud. False: legitimate. Null: unknown. */
  readonly isFraud: boolean | null;
  /** The person: the first entity; null without one. */
  readonly person: { readonly name: string; readonly value: string } | null;
}

/** What of the rows could not be read. */
export interface HistoryFaults {
  /** Rows without a time, which are left out. */
  withoutTime: number;
  /** Lines that are no rows. */
  unreadable: number;
  /** Values of the columns `outcome` and `label` that mean nothing here. */
  readonly outcomes: Map<string, number>;
  readonly labels: Map<string, number>;
}

export function noFaults(): HistoryFaults {
  return { withoutTime: 0, unreadable: 0, outcomes: new Map(), labels: new Map() };
}

const OUTCOME_WORDS: Readonly<Record<Outcome, readonly string[]>> = {
  succeeded: [
    'succeeded',
    'success',
    'successful',
    'ok',
    'true',
    '1',
    'yes',
    'approved',
    'accepted',
    'paid',
    'completed',
  ],
  failed: ['failed', 'failure', 'fail', 'false', '0', 'no', 'error', 'wrong_password', 'invalid'],
  declined: ['declined', 'refused', 'rejected', 'denied'],
  challenge_passed: ['challenge_passed', 'challenge_succeeded'],
  challenge_failed: ['challenge_failed'],
};
const OUTCOME_OF: ReadonlyMap<string, Outcome> = new Map(
  Object.entries(OUTCOME_WORDS).flatMap(([outcome, words]) => words.map((word) => [word, outcome as Outcome] as const)),
);
const FRAUD_WORDS = 'fraud fraudulent true 1 yes bad attack abuse chargeback attacker bot malicious'.split(' ');
const LEGITIMATE_WORDS = 'legitimate legit false 0 no good honest genuine ok human benign normal'.split(' ');
const IS_FRAUD: ReadonlyMap<string, boolean> = new Map([
  ...FRAUD_WORDS.map((word) => [word, true] as const),
  ...LEGITIMATE_WORDS.map((word) => [word, false] as const),
]);
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'yes', 't', 'y'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'f', 'n'].map((word) => [word, false] as const),
]);
/** Choice: different words that are counted; the rest has one count. */
const WORDS_MAX = 20;
const OTHER_WORDS = '(others)';

/** Fields of a decide request that are texts at its top level. */
const TEXT_FIELDS = new Set<HistoryField>(['event_type', 'ip', 'user_agent', 'url', 'referrer', 'session_token']);

/** Turns rows into events. Missing values are absent; a row without a session gets its own token. */
export class HistoryReader {
  readonly faults = noFaults();
  readonly #columns: readonly (readonly [column: string, field: HistoryField])[];
  readonly #attributes: AttributeDeclarations;
  #rows = 0;

  /** `attributes`: types by name, besides those that need no declaration. */
  constructor(columns: ColumnMap, attributes: AttributeDeclarations) {
    this.#columns = [...columns];
    this.#attributes = { ...DEFAULT_ATTRIBUTES, ...attributes };
  }

  /** Returns null for a row without a time. */
  read(row: HistoryRow): HistoryEventRow | null {
    this.#rows++;
    let atMs: number | null = null;
    let customer = '';
    let outcome: Outcome | null = null;
    let isFraud: boolean | null = null;
    const body: Record<string, unknown> = {};
    const parts = { entity_keys: {}, headers: {}, attributes: {} } as Record<string, Record<string, unknown>>;
    for (const [column, field] of this.#columns) {
      const value = row.get(column);
      if (value === undefined) continue;
      if (field === 'timestamp') atMs = readEventTime(value);
      else if (field === 'outcome') outcome = known(OUTCOME_OF, value, this.faults.outcomes);
      else if (field === 'label') isFraud = known(IS_FRAUD, value, this.faults.labels);
      else if (field === 'customer') customer = columnText(value);
      else if (TEXT_FIELDS.has(field)) body[field] = columnText(value);
      else this.#addPart(parts, field, value);
    }
    if (atMs === null) {
      this.faults.withoutTime++;
      return null;
    }
    body['session_token'] ??= `row-${this.#rows}`;
    for (const [name, members] of Object.entries(parts)) if (Object.keys(members).length > 0) body[name] = members;
    const [entity] = Object.entries(parts['entity_keys'] ?? {});
    const person = entity === undefined ? null : { name: entity[0], value: String(entity[1]) };
    return { atMs, customer, body: JSON.stringify(body), outcome, isFraud, person };
  }

  #addPart(parts: Readonly<Record<string, Record<string, unknown>>>, field: HistoryField, value: unknown): void {
    const at = field.indexOf('.');
    const name = field.slice(at + 1);
    const part = parts[field.slice(0, at)];
    if (part === undefined) return;
    const given = field.startsWith('attributes.') ? this.#attribute(name, value) : columnText(value);
    if (given !== undefined) part[name] = given;
  }

  /** A column of a CSV file has only texts, so the declared type decides. */
  #attribute(name: string, value: unknown): unknown {
    const type = this.#attributes[name]?.type;
    if (typeof value !== 'string') return type === 'text' && typeof value === 'number' ? String(value) : value;
    if (type === 'boolean') return BOOLEANS.get(value.trim().toLowerCase());
    if (type === 'list') return value.split(/[,;|]/).map((item) => item.trim());
    if (type !== 'number') return value.slice(0, 256);
    if (name === 'account_created_at') {
      const ms = readEventTime(value);
      return ms === null ? undefined : Math.floor(ms / 1_000);
    }
    const number = Number(value.trim().replace(/^[$€£]\s*/, ''));
    return value.trim() === '' || Number.isNaN(number) ? undefined : number;
  }
}

/** Returns the meaning of a word; null without one, which is counted. */
function known<T>(meanings: ReadonlyMap<string, T>, value: unknown, unknowns: Map<string, number>): T | null {
  const word = columnText(value).trim().toLowerCase();
  const meaning = meanings.get(word);
  if (meaning !== undefined) return meaning;
  const counted = unknowns.has(word) || unknowns.size < WORDS_MAX ? word : OTHER_WORDS;
  unknowns.set(counted, (unknowns.get(counted) ?? 0) + 1);
  return null;
}

/** Returns the text of a value: items of a list are joined by commas. */
export function columnText(value: unknown): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value) ? value.map(String).join(', ') : String(value);
}
