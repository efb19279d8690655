import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber, FingerprintHash } from '../kernel/brand.ts';
import { pack, unpack } from '../kernel/pack.ts';
import { LABELS, type Label } from '../risk/judgement.ts';
import { LABELS_KEEP_SECONDS, LABELS_PER_CUSTOMER_MAX } from '../kernel/limits.ts';
import { durably, type StoreWrite } from './durable.ts';
import { endOfCustomer, oldRows, removeRows, requestKey } from './request-rows.ts';
import type { RowCounters } from './row-counters.ts';
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
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  readonly #rowCounters: RowCounters;
  readonly #rowsMax: number;
  /** Customer with which the next `prune` continues. */
  #pruneFrom = 0;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    table: Database<Buffer, Buffer>,
    rowCounters: RowCounters,
    rowsMax = LABELS_PER_CUSTOMER_MAX,
  ) {
    this.#root = root;
    this.#table = table;
    this.#rowCounters = rowCounters;
    this.#rowsMax = rowsMax;
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

  /**
   * Must be called inside a write transaction. Replaces the decision's label; if there is no room, the label of the oldest decision is
   * removed.
   */
  putInside(customer: CustomerNumber, label: StoredLabel): void {
    const key = requestKey(customer, label.requestId);
    if (key === null) throw new Error('a label needs a request id');
    const isNew = !this.#table.doesExist(key);
    void this.#table.put(key, withSum(key, encode(label)));
    if (!isNew || this.#rowCounters.add('labels', customer, 1) <= this.#rowsMax) return;
    const [oldest] = this.#table.getKeys({ start: u32Key(customer), end: endOfCustomer(customer), limit: 1 });
    if (oldest === undefined) return;
    void this.#table.remove(Buffer.from(oldest));
    this.#rowCounters.add('labels', customer, -1);
  }

  /** Removes labels of decisions older than `LABELS_KEEP_SECONDS`, in at most `rowsMax` steps. Returns how many were removed. */
  async prune(nowSeconds: number, rowsMax: number): Promise<StoreWrite<number>> {
    const cutoffMs = (nowSeconds - LABELS_KEEP_SECONDS) * 1000;
    const { keys, next } = oldRows(this.#table, this.#pruneFrom, cutoffMs, rowsMax);
    this.#pruneFrom = next;
    if (keys.length === 0) return { kind: 'ok', value: 0 };
    return durably(this.#root, () => removeRows(this.#table, this.#rowCounters, 'labels', keys));
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
