import type { Database } from 'lmdb';
import type { CustomerNumber, FingerprintHash } from '../kernel/brand.ts';
import { pack, unpack } from '../kernel/pack.ts';
import { LABELS, type Label } from '../risk/judgement.ts';
import { LABELS_KEEP_SECONDS } from '../kernel/limits.ts';
import { endOfCustomer, oldRows, requestKey } from './request-rows.ts';
import { u32Key, withoutSum, withSum } from './value.ts';

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

/** Customers' labels of their decisions: one label per decision, in the order of the decisions. */
export class Labels {
  readonly #table: Database<Buffer, Buffer>;
  /** Customer with which the next `expired` continues. */
  #expiredFrom = 0;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  find(customer: CustomerNumber, requestId: string): StoredLabel | null {
    const key = requestKey(customer, requestId);
    const stored = key === null ? undefined : this.#table.getBinary(key);
    return stored === undefined ? null : decode(requestId, stored);
  }

  /** For the rows of the decision log. */
  labelOf(customer: CustomerNumber, requestId: string): Label | null {
    return this.find(customer, requestId)?.label ?? null;
  }

  /** For `apply`, inside its transaction. Replaces the label of the decision; returns whether it had none. */
  put(customer: CustomerNumber, label: StoredLabel): boolean {
    const key = requestKey(customer, label.requestId);
    if (key === null) throw new Error('a label needs a request id');
    const isNew = !this.#table.doesExist(key);
    void this.#table.put(key, withSum(key, encode(label)));
    return isNew;
  }

  /** For `apply`, inside its transaction. Removes the label of the oldest decision; returns whether there was one. */
  removeOldest(customer: CustomerNumber): boolean {
    const [oldest] = this.#table.getKeys({ start: u32Key(customer), end: endOfCustomer(customer), limit: 1 });
    if (oldest !== undefined) void this.#table.remove(Buffer.from(oldest));
    return oldest !== undefined;
  }

  /** Returns the keys of labels of decisions older than `LABELS_KEEP_SECONDS`, in at most `rowsMax` steps; the next call continues. */
  expired(nowSeconds: number, rowsMax: number): readonly Buffer[] {
    const { keys, next } = oldRows(this.#table, this.#expiredFrom, (nowSeconds - LABELS_KEEP_SECONDS) * 1000, rowsMax);
    this.#expiredFrom = next;
    return keys;
  }

  /** For `apply`, inside its transaction. Returns whether there was a row. */
  removeRow(key: Buffer): boolean {
    const found = this.#table.doesExist(key);
    if (found) void this.#table.remove(key);
    return found;
  }
}

function encode({ label, note, createdAtSeconds, fingerprintHash, publicKey }: StoredLabel): Buffer {
  const fingerprint = fingerprintHash === null ? null : Buffer.from(fingerprintHash, 'hex');
  return pack([LABELS.indexOf(label), note, createdAtSeconds, fingerprint, publicKey]);
}

function decode(requestId: string, stored: Uint8Array): StoredLabel {
  const [index, note, createdAt, fingerprint, publicKey] = unpack(withoutSum(stored));
  const label = LABELS[Number(index)];
  if (label === undefined) throw new Error('a stored label is unknown');
  return {
    requestId,
    label,
    note: typeof note === 'string' ? note : null,
    createdAtSeconds: Number(createdAt),
    fingerprintHash:
      fingerprint instanceof Uint8Array ? (Buffer.from(fingerprint).toString('hex') as FingerprintHash) : null,
    publicKey: publicKey === true,
  };
}
