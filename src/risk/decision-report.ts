import { DECISIONS, type Decision } from './decision.ts';
import { trustedName, type DecisionRecord } from './decision-record.ts';

/** Summary of the decisions of one customer and event type: as made, or in observe mode as they would have been made. */
export interface ReportRow {
  readonly customer: number;
  readonly eventType: string;
  readonly decisions: number;
  /** Decisions that observe mode answered as ALLOW, whatever they would have been. */
  readonly observed: number;
  /** By the decision made, or in observe mode the one that would have been made. */
  readonly counts: Readonly<Record<Decision, number>>;
  /** Rules that fired on decisions to challenge, review or block, in observe mode too; the most frequent first. */
  readonly rules: readonly NamedCount[];
  /** Decisions about trusted sources, by name. */
  readonly trusted: readonly NamedCount[];
}

export interface NamedCount {
  readonly name: string;
  readonly count: number;
}

interface Growing {
  readonly customer: number;
  readonly eventType: string;
  observed: number;
  readonly counts: Record<Decision, number>;
  readonly rules: Map<string, number>;
  readonly trusted: Map<string, number>;
}

/** Choice: event types are the callers' own text; beyond this number of a customer's types, the rest share one row. */
const EVENT_TYPES_PER_CUSTOMER_MAX = 100;
const OTHER_EVENT_TYPES = '(others)';

/** Counts decisions by customer and event type. */
export class DecisionReport {
  readonly #byCustomer = new Map<number, Map<string, Growing>>();

  add(customer: number, record: DecisionRecord): void {
    const { eventType, decision, wouldBe, contributions } = record;
    const trusted = trustedName(record);
    const row = this.#row(customer, eventType);
    const effective = wouldBe ?? decision;
    if (wouldBe !== null) row.observed++;
    if (trusted !== null) bump(row.trusted, trusted);
    row.counts[effective]++;
    if (effective === 'ALLOW' || effective === 'ALLOW_WATCH') return;
    for (const { code } of contributions) bump(row.rules, code);
  }

  /** Sorted by customer, then by frequency, the most frequent event type first. */
  rows(): readonly ReportRow[] {
    const rows = [...this.#byCustomer.values()].flatMap((types) => [...types.values()]);
    return rows
      .map(({ counts, rules, trusted, ...row }) => ({
        ...row,
        decisions: DECISIONS.reduce((sum, decision) => sum + counts[decision], 0),
        counts,
        rules: mostFrequent(rules),
        trusted: mostFrequent(trusted),
      }))
      .toSorted((a, b) => a.customer - b.customer || b.decisions - a.decisions);
  }

  #row(customer: number, given: string): Growing {
    let types = this.#byCustomer.get(customer);
    if (types === undefined) this.#byCustomer.set(customer, (types = new Map<string, Growing>()));
    const isRoom = types.has(given) || types.size < EVENT_TYPES_PER_CUSTOMER_MAX;
    const eventType = isRoom ? given : OTHER_EVENT_TYPES;
    let row = types.get(eventType);
    if (row === undefined) {
      const counts = { ALLOW: 0, ALLOW_WATCH: 0, SOFT_CHALLENGE: 0, REVIEW: 0, BLOCK: 0 };
      row = {
        customer,
        eventType,
        observed: 0,
        counts,
        rules: new Map<string, number>(),
        trusted: new Map<string, number>(),
      };
      types.set(eventType, row);
    }
    return row;
  }
}

function bump(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function mostFrequent(counts: ReadonlyMap<string, number>): readonly NamedCount[] {
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .toSorted((a, b) => b.count - a.count || a.name.localeCompare(b.name));
}
