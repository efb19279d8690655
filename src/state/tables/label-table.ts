import type { RootDatabase } from 'lmdb';
import type { CustomerNumber, FingerprintHash } from '../../kernel/brand.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import { LABELS, type Label } from '../../risk/judgement.ts';
import { LABELS_KEEP_SECONDS } from '../../kernel/limits.ts';
import { endOfCustomer, requestIdOf } from './request-rows.ts';
import type { RowCounters } from './row-counters.ts';
import { type Slices, walkInSlices } from './turns.ts';
import { type Codec, DECISION_KEY, type DecisionKey, type Table, table } from './typed-table.ts';
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
  readonly #table: Table<DecisionKey, LabelValue>;

  constructor(env: RootDatabase<Buffer, Buffer>, by: RowCounters) {
    this.#table = table({ env, name: 'labels', key: DECISION_KEY, value: VALUE, counted: { by, as: 'labels' } });
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

  /** Returns the keys of labels of decisions older than `LABELS_KEEP_SECONDS`, in at most `rowsMax` steps; the next call continues. */
  expired(nowSeconds: number, rowsMax: number): readonly Buffer[] {
    return this.#table.expired((nowSeconds - LABELS_KEEP_SECONDS) * 1000, rowsMax);
  }

  /** For `apply`, inside its transaction. Returns whether there was a row. */
  removeRow(key: Buffer): boolean {
    return this.#table.removeKey(key);
  }
}

/** Rows of this table have no version byte. */
const VALUE: Codec<LabelValue> = {
  encode({ label, note, createdAtSeconds, fingerprintHash, publicKey }) {
    const fingerprint = fingerprintHash === null ? null : Buffer.from(fingerprintHash, 'hex');
    return pack([LABELS.indexOf(label), note, createdAtSeconds, fingerprint, publicKey]);
  },
  decode(bytes) {
    const [index, note, createdAt, fingerprint, publicKey] = unpack(bytes);
    const label = LABELS[Number(index)];
    if (label === undefined) throw new Error('a stored label is unknown');
    return {
      label,
      note: typeof note === 'string' ? note : null,
      createdAtSeconds: Number(createdAt),
      fingerprintHash:
        fingerprint instanceof Uint8Array ? (Buffer.from(fingerprint).toString('hex') as FingerprintHash) : null,
      publicKey: publicKey === true,
    };
  },
};
