import type { KeptMsOf } from './request-rows.ts';
import type { Database } from 'lmdb';
import type { CustomerNumber, FingerprintHash } from '../../kernel/brand.ts';
import { LABELS, type Label } from '../../risk/judgement.ts';
import { endOfCustomer, requestIdOf } from './request-rows.ts';
import type { RowCounters } from './row-counters.ts';
import { type Slices, walkInSlices } from './turns.ts';
import {
  FLAG_FIELD,
  packedNumber,
  MAYBE_FINGERPRINT,
  MAYBE_TEXT,
  numberedField,
  packedFields,
} from './packed-fields.ts';
import { DECISION_KEY, type DecisionKey, type TypedTable, typedTable } from './typed-table.ts';
import { u32Key } from './value.ts';

/** The fields of a decision that a label and a review need. */
export interface JudgedDecision {
  readonly requestId: string;
  /** null without a session token. */
  readonly fingerprintHash: FingerprintHash | null;
  /** The label of such a decision is stored but has no further effect. Source: contract, 4.6. */
  readonly publicKey: boolean;
}

export interface StoredLabel extends JudgedDecision {
  readonly label: Label;
  readonly note: string | null;
  readonly createdAtSeconds: number;
}

type LabelValue = Omit<StoredLabel, 'requestId'>;

/** Customers' labels of their decisions: one label per decision, in the order of the decisions. */
export class Labels {
  readonly #table: TypedTable<DecisionKey, LabelValue>;

  constructor(database: Database<Buffer, Buffer>, by: RowCounters) {
    this.#table = typedTable({ database, key: DECISION_KEY, value: VALUE, counted: { by, as: 'labels' } });
  }

  find(customer: CustomerNumber, requestId: string): StoredLabel | null {
    const found = this.#table.get({ customer, requestId });
    return found && { requestId, ...found };
  }

  /** For the rows of the decision log. */
  labelOf(customer: CustomerNumber, requestId: string): Label | null {
    return this.find(customer, requestId)?.label ?? null;
  }

  /** Returns the labels of the newest decisions, at most `rowsMax`, in slices. */
  async newest(customer: CustomerNumber, rowsMax: number, slices: Slices): Promise<ReadonlyMap<string, Label>> {
    const found = new Map<string, Label>();
    const range = { start: endOfCustomer(customer), end: u32Key(customer), exclusiveStart: true, reverse: true };
    await walkInSlices(this.#table.database, range, slices, (key, value) => {
      found.set(requestIdOf(Buffer.from(key)), this.#table.decode(Buffer.from(value)).label);
      return found.size < rowsMax ? 'on' : 'end';
    });
    return found;
  }

  rowsOf(customer: CustomerNumber): number {
    return this.#table.rowsOf(customer);
  }

  /** For `apply`, inside its transaction. Replaces the label of the decision. */
  put(customer: CustomerNumber, label: StoredLabel): void {
    this.#table.put({ customer, requestId: label.requestId }, label);
  }

  /** For `apply`, inside its transaction. Removes the label of the oldest decision. */
  removeOldest(customer: CustomerNumber): void {
    for (const key of this.#table.keys({ start: u32Key(customer), end: endOfCustomer(customer), limit: 1 })) {
      this.#table.removeKey(key);
    }
  }

  /** Returns the keys of labels of decisions older than `keptMsOf`, in at most `rowsMax` steps; the next call continues. */
  expired(nowMs: number, keptMsOf: KeptMsOf, rowsMax: number): readonly Buffer[] {
    return this.#table.expired((customer) => nowMs - keptMsOf(customer), rowsMax);
  }

  /** For `apply`, inside its transaction. Returns whether there was a row. */
  removeRow(key: Buffer): boolean {
    return this.#table.removeKey(key);
  }
}

const VALUE = packedFields<LabelValue>({
  label: numberedField(LABELS),
  note: MAYBE_TEXT,
  createdAtSeconds: packedNumber(),
  fingerprintHash: MAYBE_FINGERPRINT,
  publicKey: FLAG_FIELD,
});
