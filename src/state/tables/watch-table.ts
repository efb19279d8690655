import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { SeenRecord, Watch, WatchChange, WatchId } from '../../work/watch.ts';
import { ID_BYTES, readId, rowKey, writeId } from './request-rows.ts';
import { codec, type KeyForm, type OwnKey, ownKey, type Schema, type TypedTable, typedTable } from './typed-table.ts';
import { u32Key } from './value.ts';
import { endOfCustomer } from './request-rows.ts';

const PREFIX = 'wat';
const WATCH_AT = 4;
const SEEN_HASH_BYTES = 16;
const OWNER_BYTES = WATCH_AT + ID_BYTES;

interface SeenKey extends OwnKey<WatchId> {
  readonly generation: number;
  readonly keyHash: string;
}

interface ChangeKey extends OwnKey<WatchId> {
  readonly seq: number;
}

interface ChangeRange {
  readonly fromSeq: number;
  /** By default all. */
  readonly beforeSeq?: number;
  readonly limit: number;
  readonly newest?: boolean;
}

/** Customers' watches, what each saw last of every record, and the changes that it found. Only `apply` writes. Source: contract, 11.7. */
export class Watches {
  readonly #watches: TypedTable<OwnKey<WatchId>, Watch>;
  readonly #seen: TypedTable<SeenKey, SeenRecord>;
  readonly #changes: TypedTable<ChangeKey, WatchChange>;
  /** Where the next call of `unneeded` and `expired` continues. */
  #seenFrom: Buffer = Buffer.alloc(0);
  #changesFrom: Buffer = Buffer.alloc(0);

  constructor(watches: Database<Buffer, Buffer>, seen: Database<Buffer, Buffer>, changes: Database<Buffer, Buffer>) {
    this.#watches = typedTable({ database: watches, key: ownKey<WatchId>(PREFIX), value: codec(WATCH, 1) });
    this.#seen = typedTable({ database: seen, key: SEEN_KEY, value: codec(SEEN, 1) });
    this.#changes = typedTable({ database: changes, key: CHANGE_KEY, value: codec(CHANGE, 1) });
  }

  find(customer: CustomerNumber, id: string): Watch | null {
    return this.#watches.get({ customer, id: id as WatchId });
  }

  /** Oldest first. */
  of(customer: CustomerNumber): readonly Watch[] {
    return [...this.#watches.range({ start: u32Key(customer), end: endOfCustomer(customer) })].map(
      ([, watch]) => watch,
    );
  }

  /** Yields the watches of all customers, for a start. */
  *all(): Generator<Watch> {
    for (const [, watch] of this.#watches.range({})) yield watch;
  }

  findSeen(watch: Watch, keyHash: string): SeenRecord | null {
    const { customer, id, generation } = watch;
    return this.#seen.get({ customer, id, generation, keyHash });
  }

  /** Yields the hashes of the keys of all records that the watch remembers, in the order of the hashes. */
  *seenKeys({ customer, id, generation }: Watch): Generator<string> {
    const from = SEEN_KEY.encode({ customer, id, generation, keyHash: '0'.repeat(32) });
    const end = SEEN_KEY.encode({ customer, id, generation: generation + 1, keyHash: '0'.repeat(32) });
    if (from === null || end === null) return;
    for (const key of this.#seen.keys({ start: from, end })) yield SEEN_KEY.decode(key).keyHash;
  }

  /** Returns changes from number `fromSeq` on, or with `newest` the last ones before number `beforeSeq`, newest first. */
  changes(
    { customer, id, firstSeq, nextSeq }: Watch,
    { fromSeq, beforeSeq = nextSeq, limit, newest = false }: ChangeRange,
  ): readonly (WatchChange & { readonly seq: number })[] {
    const endSeq = Math.min(beforeSeq, nextSeq);
    const start = Math.max(fromSeq, firstSeq, newest ? endSeq - limit : 0);
    if (start >= endSeq) return [];
    const from = CHANGE_KEY.encode({ customer, id, seq: start });
    const end = CHANGE_KEY.encode({ customer, id, seq: endSeq });
    if (from === null || end === null) return [];
    const rows = [...this.#changes.range({ start: from, end, limit })].map(([{ seq }, change]) => ({ ...change, seq }));
    return newest ? rows.reverse() : rows;
  }

  /** Returns stored keys of remembered records that no watch uses any more. Scans at most `rowsMax` rows; the next call continues. */
  unneeded(rowsMax: number): readonly Buffer[] {
    const keys = [...this.#seen.keys({ start: this.#seenFrom, limit: rowsMax })];
    this.#seenFrom = keys.length < rowsMax ? Buffer.alloc(0) : (keys.at(-1) ?? Buffer.alloc(0));
    return keys.filter((key) => !this.#isNeeded(key));
  }

  /** The same for changes: those of removed watches, those before the first that is kept, and those that are too old. */
  expired(cutoffMs: number, rowsMax: number): readonly Buffer[] {
    const rows = [...this.#changes.range({ start: this.#changesFrom, limit: rowsMax })];
    const last = rows.at(-1);
    this.#changesFrom =
      (rows.length < rowsMax || last === undefined ? null : CHANGE_KEY.encode(last[0])) ?? Buffer.alloc(0);
    return rows.flatMap(([key, { atMs }]) => {
      const stored = CHANGE_KEY.encode(key);
      return stored !== null && this.#isChangeOver(key, atMs, cutoffMs) ? [stored] : [];
    });
  }

  /** For `apply`, inside its transaction, as are all that follow. */
  put(watch: Watch): void {
    this.#watches.put({ customer: watch.customer, id: watch.id }, watch);
  }

  /** What it saw and found is removed later, by `unneeded` and `expired`. */
  remove(customer: CustomerNumber, id: string): boolean {
    return this.#watches.remove({ customer, id: id as WatchId });
  }

  putSeen({ customer, id, generation }: Watch, keyHash: string, seen: SeenRecord): void {
    this.#seen.put({ customer, id, generation, keyHash }, seen);
  }

  removeSeen({ customer, id, generation }: Watch, keyHash: string): void {
    this.#seen.remove({ customer, id, generation, keyHash });
  }

  putChange({ customer, id }: Watch, seq: number, change: WatchChange): void {
    this.#changes.put({ customer, id, seq }, change);
  }

  /** Returns the bytes that it had; 0 if there was none. */
  removeChange({ customer, id }: Watch, seq: number): number {
    const change = this.#changes.get({ customer, id, seq });
    return change !== null && this.#changes.remove({ customer, id, seq }) ? changeBytes(change) : 0;
  }

  /** Removes a row that `unneeded` has named, if it still is. */
  removeUnneeded(key: Buffer): boolean {
    return !this.#isNeeded(key) && this.#seen.removeKey(key);
  }

  /** Removes a row that `expired` has named, if it still is, and takes its bytes from its watch's. */
  removeExpired(stored: Buffer, cutoffMs: number): boolean {
    const key = CHANGE_KEY.decode(stored);
    const change = this.#changes.get(key);
    if (change === null || !this.#isChangeOver(key, change.atMs, cutoffMs)) return false;
    const watch = this.find(key.customer, key.id);
    if (watch !== null && key.seq >= watch.firstSeq) {
      this.put({ ...watch, firstSeq: key.seq + 1, changeBytes: Math.max(0, watch.changeBytes - changeBytes(change)) });
    }
    return this.#changes.removeKey(stored);
  }

  #isNeeded(stored: Buffer): boolean {
    const { customer, id, generation } = SEEN_KEY.decode(stored);
    return this.find(customer, id)?.generation === generation;
  }

  #isChangeOver({ customer, id, seq }: ChangeKey, atMs: number, cutoffMs: number): boolean {
    const watch = this.find(customer, id);
    return watch === null || seq < watch.firstSeq || atMs < cutoffMs;
  }
}

export function changeBytes({ keyJson, recordJson, beforeJson }: WatchChange): number {
  return keyJson.length + (recordJson?.length ?? 0) + (beforeJson?.length ?? 0);
}

/** Customer's number, u32; watch's id; generation, u32; hash of the key (4+16+4+16). */
const SEEN_KEY: KeyForm<SeenKey> = {
  encode({ customer, id, generation, keyHash }) {
    const owner = rowKey(PREFIX, customer, id);
    const digest = Buffer.from(keyHash, 'hex');
    return owner === null || digest.length !== SEEN_HASH_BYTES
      ? null
      : Buffer.concat([owner, u32Key(generation), digest]);
  },
  decode: (bytes) => ({
    customer: bytes.readUInt32BE(0) as CustomerNumber,
    id: readId(PREFIX, bytes, WATCH_AT) as WatchId,
    generation: bytes.readUInt32BE(OWNER_BYTES),
    keyHash: bytes.toString('hex', OWNER_BYTES + 4),
  }),
};

/** Customer's number, u32; watch's id; number of the change, u32 (4+16+4). */
const CHANGE_KEY: KeyForm<ChangeKey> = {
  encode({ customer, id, seq }) {
    const bytes = Buffer.alloc(OWNER_BYTES + 4);
    bytes.writeUInt32BE(customer, 0);
    bytes.writeUInt32BE(seq, OWNER_BYTES);
    return writeId(PREFIX, id, bytes, WATCH_AT) ? bytes : null;
  },
  decode: (bytes) => ({
    customer: bytes.readUInt32BE(0) as CustomerNumber,
    id: readId(PREFIX, bytes, WATCH_AT) as WatchId,
    seq: bytes.readUInt32BE(OWNER_BYTES),
  }),
};

/** Returns a schema that requires these members to be of these types. The checksum of a row holds the rest. */
function rowOf<Row>(what: string, types: Readonly<Record<string, string>>): Schema<Row> {
  return {
    parse(value) {
      const row = Object(value) as Readonly<Record<string, unknown>>;
      for (const [name, type] of Object.entries(types)) {
        if (typeof row[name] !== type) throw new Error(`a stored ${what} has the wrong form`);
      }
      return row as Row;
    },
  };
}

const WATCH = rowOf<Watch>('watch', {
  id: 'string',
  schedule: 'object',
  dueAtMs: 'number',
  runs: 'number',
  nextSeq: 'number',
});
const SEEN = rowOf<SeenRecord>('watched record', { hash: 'string', keyJson: 'string', missed: 'number' });
const CHANGE = rowOf<WatchChange>('change of a watch', { kind: 'string', keyJson: 'string', atMs: 'number' });
