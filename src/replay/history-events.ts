import type { Outcome } from '../risk/event-outcome.ts';
import { DEFAULT_ATTRIBUTES, type AttributeDeclarations } from '../risk/policy/attributes.ts';
import { readEventTime } from './event-time.ts';
import type { ColumnMap, HistoryField } from './history-columns.ts';
import type { HistoryRow } from './history-row.ts';
import {
  addUnknownWord,
  BOOLEAN_WORDS,
  LABEL_WORDS,
  meaningOf,
  OUTCOME_MEANINGS,
  type UnknownWord,
} from './history-words.ts';

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
  readonly outcomes: Map<string, UnknownWord>;
  readonly labels: Map<string, UnknownWord>;
}

export function noFaults(): HistoryFaults {
  return { withoutTime: 0, unreadable: 0, outcomes: new Map(), labels: new Map() };
}

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
      else if (field === 'outcome') outcome = this.#known(OUTCOME_MEANINGS, value, this.faults.outcomes);
      else if (field === 'label') isFraud = this.#known(LABEL_WORDS, value, this.faults.labels);
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

  /** Counts a line that is no row. */
  addUnreadable(): void {
    this.#rows++;
    this.faults.unreadable++;
  }

  /** Returns the meaning of a word; null without one, which is counted. */
  #known<T>(words: ReadonlyMap<string, T>, value: unknown, unknowns: Map<string, UnknownWord>): T | null {
    const word = columnText(value);
    const meaning = meaningOf(words, word);
    if (meaning !== undefined) return meaning;
    addUnknownWord(unknowns, word, this.#rows);
    return null;
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
    if (type === 'boolean') return meaningOf(BOOLEAN_WORDS, value);
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

/** Returns the text of a value: items of a list are joined by commas. */
export function columnText(value: unknown): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value) ? value.map(String).join(', ') : String(value);
}
