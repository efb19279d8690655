import { HashSet40 } from '../kernel/hash-set.ts';
import { codeOfKind, isEntityCode, visitLinks } from '../risk/link-tail.ts';
import type { RawRecord } from './decision-log/raw-record.ts';

/** What one of the customer's own rules did. */
export interface OwnRuleCounts {
  /** Decisions that it had an effect on. */
  fired: number;
  /** Decisions that it fired on while it was only observed. */
  observed: number;
  /** Distinct persons of both: the first entity of a decision, or its session without one. */
  people: number;
}

/**
 * Choice: pairs of a rule and a person; 4 bytes each. Beyond it `people` is too low, and `isFull`.
 * One customer reaches it when ten rules fire on each of 100,000 decisions of different persons.
 */
const PAIRS_MAX = 1_000_000;

/** Counts what the customer's own rules did in many decisions. */
export class OwnRuleCounter {
  readonly #counts: ReadonlyMap<string, OwnRuleCounts>;
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #people = new HashSet40();
  #pairs = 0;
  /** Rules of the present row. */
  readonly #fired: string[] = [];

  /** Counts these rules, and no others. */
  constructor(codes: Iterable<string>) {
    const all = [...new Set(codes)];
    this.#counts = new Map(all.map((code) => [code, { fired: 0, observed: 0, people: 0 }]));
    this.#numbers = new Map(all.map((code, at) => [code, at + 1]));
  }

  get isFull(): boolean {
    return this.#pairs >= PAIRS_MAX;
  }

  of(code: string): OwnRuleCounts {
    return this.#counts.get(code) ?? { fired: 0, observed: 0, people: 0 };
  }

  /** `bytes` has the record up to `end`. */
  add(record: RawRecord, bytes: Buffer, end: number): void {
    const rules = this.#fired;
    rules.length = 0;
    record.contributions((code) => this.#note(code, 'fired'));
    record.observed((code) => this.#note(code, 'observed'));
    if (rules.length === 0 || this.isFull) return;
    const from = record.linksAt();
    if (from === -1) return;
    let person = -1;
    let isEntity = false;
    visitLinks(bytes, from, end, (code, _name, hashAt) => {
      if (isEntity || (code !== SESSION && !isEntityCode(code))) return;
      person = hashAt;
      isEntity = code !== SESSION;
    });
    if (person !== -1)
      for (const code of rules) this.#meet(code, bytes.readUInt32BE(person), bytes.readUInt32BE(person + 4));
  }

  #note(code: string, kind: 'fired' | 'observed'): void {
    const counts = this.#counts.get(code);
    if (counts === undefined) return;
    counts[kind]++;
    this.#fired.push(code);
  }

  #meet(code: string, high: number, low: number): void {
    const number = this.#numbers.get(code) ?? 0;
    const counts = this.#counts.get(code);
    if (counts === undefined || !this.#people.add(high ^ Math.imul(number, HIGH_MIX), low ^ Math.imul(number, LOW_MIX)))
      return;
    counts.people++;
    this.#pairs++;
  }
}

const SESSION = codeOfKind('session').code;
/** Source: the finalizer of MurmurHash3. */
const HIGH_MIX = 0x85ebca6b;
const LOW_MIX = 0xc2b2ae35;
