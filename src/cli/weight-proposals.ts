import { join } from 'node:path';
import { PolicyArchive, POLICIES_NAME } from '../assets/policy-archive.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import { DECISIONS, type Decision } from '../risk/decision.ts';
import { decisionBy, isOverridden } from '../risk/explain.ts';
import type { Bands } from '../risk/policy/policy.ts';
import { DEFAULT_DOCUMENT } from '../risk/policy/policy-set.ts';
import { PolicyView } from '../risk/policy/policy-view.ts';
import { RULES } from '../risk/rules/rule-table.ts';
import type { Store } from '../state/feed/open-store.ts';

/** What a rule that weighs nothing yet would do to the decisions of one customer at the weight that is proposed for it. */
export interface WeightProposal {
  readonly customer: number;
  readonly rule: string;
  /** Decisions in which it fired at weight 0. */
  readonly decisions: number;
  /** 0 to 1. */
  readonly proposedWeight: number;
  /** Decisions that would be stricter, by what they would be. */
  readonly wouldBe: Readonly<Partial<Record<Decision, number>>>;
  /** Labelled decisions among `decisions`. */
  readonly labels: { readonly fraud: number; readonly legitimate: number };
}

const PROPOSED: ReadonlyMap<string, number> = new Map(
  RULES.flatMap(({ code, proposedWeight }) => (proposedWeight === undefined ? [] : [[code, proposedWeight] as const])),
);

type Growing = Omit<WeightProposal, 'decisions' | 'wouldBe' | 'labels'> & {
  decisions: number;
  wouldBe: Partial<Record<Decision, number>>;
  labels: { fraud: number; legitimate: number };
};

/** Counts what rules without a weight would do, by the bands of the present policy. */
export class WeightProposals {
  readonly #store: Pick<Store, 'labels' | 'customers'>;
  readonly #archive: Pick<PolicyArchive, 'at'>;
  readonly #rows = new Map<string, Growing>();
  /** Customer and event type → bands. */
  readonly #bands = new Map<string, Bands>();

  constructor(store: Pick<Store, 'labels' | 'customers'>, archive: Pick<PolicyArchive, 'at'>) {
    this.#store = store;
    this.#archive = archive;
  }

  static async of(store: Store): Promise<WeightProposals> {
    const archive = new PolicyArchive(join(store.dataDir, POLICIES_NAME), { info() {}, warn() {} });
    await archive.read();
    return new WeightProposals(store, archive);
  }

  add(customer: CustomerNumber, record: DecisionRecord): void {
    for (const { code, weight } of record.contributions) {
      const proposed = PROPOSED.get(code);
      if (proposed !== undefined && weight === 0) this.#count(customer, record, code, proposed);
    }
  }

  /** Sorted by customer, then by frequency. */
  rows(): readonly WeightProposal[] {
    return [...this.#rows.values()].toSorted((a, b) => a.customer - b.customer || b.decisions - a.decisions);
  }

  #count(customer: CustomerNumber, record: DecisionRecord, rule: string, proposedWeight: number): void {
    const row = this.#row(customer, rule, proposedWeight);
    row.decisions++;
    const label = this.#store.labels.find(customer, record.requestId)?.label ?? null;
    if (label !== null) row.labels[label]++;
    const now = record.wouldBe ?? record.decision;
    const weighed = record.contributions.map((one) => (one.code === rule ? { ...one, weight: proposedWeight } : one));
    const then = isOverridden(weighed) ? now : decisionBy(weighed, this.#bandsOf(customer, record.eventType));
    if (DECISIONS.indexOf(then) > DECISIONS.indexOf(now)) row.wouldBe[then] = (row.wouldBe[then] ?? 0) + 1;
  }

  #row(customer: CustomerNumber, rule: string, proposedWeight: number): Growing {
    const key = `${customer} ${rule}`;
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = { customer, rule, decisions: 0, proposedWeight, wouldBe: {}, labels: { fraud: 0, legitimate: 0 } };
      this.#rows.set(key, row);
    }
    return row;
  }

  #bandsOf(customer: CustomerNumber, eventType: string): Bands {
    const key = `${customer} ${eventType}`;
    let bands = this.#bands.get(key);
    if (bands === undefined) {
      const document = this.#archive.at(Infinity) ?? DEFAULT_DOCUMENT;
      bands = new PolicyView(document, this.#store.customers.find(customer)?.id ?? '').policyOf(eventType).bands;
      this.#bands.set(key, bands);
    }
    return bands;
  }
}
