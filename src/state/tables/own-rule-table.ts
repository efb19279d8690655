import { hash } from 'node:crypto';
import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { DECISIONS } from '../../risk/decision.ts';
import {
  OWN_CODE,
  OWN_RULE_MODES,
  OWN_RULES_MAX,
  type OwnRule,
  type TouchedShare,
} from '../../risk/policy/own-rule.ts';
import { CUSTOMER_MAX, endOfCustomer } from './request-rows.ts';
import { codec, type KeyForm, type Schema, type TypedTable, typedTable } from './typed-table.ts';
import { u32Key } from './value.ts';

/** A rule that a customer wrote over the API. */
export interface StoredRule extends OwnRule {
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Since when its condition, event types and mode are as they are; absent in rows of older builds. */
  readonly sinceMs?: number;
  /** What the circuit breaker counted when it set the rule back to `observe`, until that or the condition changes. */
  readonly tripped?: RuleTrip;
}

/** A reaction of the circuit breaker. */
export interface RuleTrip extends TouchedShare {
  readonly atMs: number;
}

/** The rules of one customer. */
export interface CustomerRules {
  /** By their codes. */
  readonly rules: readonly StoredRule[];
  /** Number of rows that this build cannot read. */
  readonly unreadable: number;
}

/** The rules that customers write over the API, in the order of their codes. Source: contract, 6.8. */
export class OwnRules {
  readonly #table: TypedTable<RuleKey, StoredRule>;

  constructor(database: Database<Buffer, Buffer>) {
    this.#table = typedTable({ database, key: KEY, value: codec(RULE, 1) });
  }

  /** Null also for a row that cannot be read. */
  find(customer: CustomerNumber, code: string): StoredRule | null {
    try {
      return this.#table.get({ customer, code });
    } catch {
      return null;
    }
  }

  /** Never throws because of a row: score workers depend on it. */
  of(customer: CustomerNumber): CustomerRules {
    const { database } = this.#table;
    const rules: StoredRule[] = [];
    let unreadable = 0;
    for (const { value } of database.getRange({ start: u32Key(customer), end: endOfCustomer(customer) })) {
      try {
        rules.push(this.#table.decode(Buffer.from(value)));
      } catch {
        unreadable++;
      }
    }
    return { rules: rules.slice(0, OWN_RULES_MAX), unreadable };
  }

  /** Returns the customers that have rules, for a start. */
  customers(): readonly CustomerNumber[] {
    const found: CustomerNumber[] = [];
    for (let from = 0; ;) {
      const [key] = this.#table.keys({ start: u32Key(from), limit: 1 });
      if (key === undefined) return found;
      const customer = key.readUInt32BE(0) as CustomerNumber;
      found.push(customer);
      if (customer === CUSTOMER_MAX) return found;
      from = customer + 1;
    }
  }

  count(customer: CustomerNumber): number {
    return this.#table.database.getKeysCount({ start: u32Key(customer), end: endOfCustomer(customer) });
  }

  /** For `apply`, inside its transaction. */
  put(customer: CustomerNumber, rule: StoredRule): void {
    this.#table.put({ customer, code: rule.code }, rule);
  }

  /** For `apply`, inside its transaction. Returns whether it existed. */
  remove(customer: CustomerNumber, code: string): boolean {
    return this.#table.remove({ customer, code });
  }
}

/** Returns the rule as a change has it, without what its application adds. */
export function withoutHistory(stored: StoredRule): OwnRule {
  const { createdAtMs: _created, updatedAtMs: _updated, sinceMs: _since, tripped: _tripped, ...rule } = stored;
  return rule;
}

/** Returns the entity tag of a rule, without quotation marks. It differs whenever anything of the rule does. */
export function ruleTag(rule: OwnRule & Partial<StoredRule>): string {
  return hash('sha256', JSON.stringify(rule, MEMBERS), 'base64url').slice(0, TAG_CHARACTERS);
}

const TAG_CHARACTERS = 22;
const MEMBERS: (keyof StoredRule | keyof RuleTrip)[] = [
  'code',
  'when',
  'weight',
  'decision',
  'mode',
  'eventTypes',
  'note',
  'expiresAtSeconds',
  'createdAtMs',
  'updatedAtMs',
  'predicted',
  'touched',
  'decisions',
  'tripped',
  'atMs',
];

interface RuleKey {
  readonly customer: CustomerNumber;
  readonly code: string;
}

const CODE_PREFIX = 'own_';
const CODE_BYTES = 40;

/** Customer's number, u32; the code without `own_`, filled up with zeros (4+40). */
const KEY: KeyForm<RuleKey> = {
  encode({ customer, code }) {
    if (!OWN_CODE.test(code)) return null;
    const bytes = Buffer.alloc(4 + CODE_BYTES);
    bytes.writeUInt32BE(customer, 0);
    bytes.write(code.slice(CODE_PREFIX.length), 4, 'latin1');
    return bytes;
  },
  decode: (bytes) => ({
    customer: bytes.readUInt32BE(0) as CustomerNumber,
    code: CODE_PREFIX + bytes.toString('latin1', 4).replace(/\0+$/, ''),
  }),
};

const RULE: Schema<StoredRule> = {
  parse(value) {
    const rule = readOwnRule(value);
    if (rule === null) throw new Error('a stored rule has the wrong form');
    const { createdAtMs, updatedAtMs, sinceMs, tripped } = Object(value) as Readonly<Record<keyof StoredRule, unknown>>;
    const trip = readTouchedShare(tripped);
    return {
      ...rule,
      createdAtMs: Number(createdAtMs),
      updatedAtMs: Number(updatedAtMs),
      ...(typeof sinceMs === 'number' && { sinceMs }),
      ...(trip !== null && { tripped: { ...trip, atMs: Number(Object(tripped).atMs) } }),
    };
  },
};

/** Reads a rule that was stored or sent by the command line; null for another form. Its condition may still be wrong. */
export function readOwnRule(value: unknown): OwnRule | null {
  const { code, when, weight, decision, mode, eventTypes, note, expiresAtSeconds, predicted } = Object(
    value,
  ) as Readonly<Record<keyof OwnRule, unknown>>;
  const decides = DECISIONS.find((one) => one === decision) ?? null;
  const known = OWN_RULE_MODES.find((one) => one === mode);
  if (typeof code !== 'string' || !OWN_CODE.test(code) || typeof when !== 'string' || known === undefined) return null;
  if ((decides === null) !== isWeight(weight)) return null;
  const share = readTouchedShare(predicted);
  return {
    code,
    when,
    weight: isWeight(weight) ? weight : null,
    decision: decides,
    mode: known,
    eventTypes: Array.isArray(eventTypes) ? eventTypes.map(String) : null,
    note: typeof note === 'string' ? note : '',
    expiresAtSeconds: typeof expiresAtSeconds === 'number' ? expiresAtSeconds : null,
    ...(share !== null && { predicted: share }),
  };
}

function readTouchedShare(value: unknown): TouchedShare | null {
  const { touched, decisions } = Object(value) as Readonly<Record<keyof TouchedShare, unknown>>;
  return typeof touched === 'number' && typeof decisions === 'number' ? { touched, decisions } : null;
}

function isWeight(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1;
}
