import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { VERSION_LOSSES, type VersionLoss } from '../../kernel/version-loss.ts';
import { LIST_KEY_BYTES } from '../../risk/lists/list-key.ts';
import type { NamedItem } from './named-list-table.ts';
import { TableWalk } from './table-walk.ts';
import {
  codec,
  type Codec,
  type KeyForm,
  type Schema,
  type StoredRow,
  type TypedTable,
  typedTable,
} from './typed-table.ts';

/** A named list as it was before a write. Source: contract, 7.6. */
export interface NamedListVersion {
  /** Rises by one with each write of the list. */
  readonly version: number;
  /** Changes with the same id that follow each other make one version. */
  readonly writeId: string;
  /** When the write began, and who made it, as in the audit log. */
  readonly replacedAtMs: number;
  readonly replacedBy: string;
  /** Sums over the changes of the write. */
  readonly added: number;
  readonly removed: number;
  /** Rows of what the write replaced, numbered from 0, and their bytes with keys; 0 if it is lost. */
  readonly parts: number;
  readonly bytes: number;
  /**
   * Why what the write replaced is not kept; null if it is. `too_large`: it was too much. `no_room`: the versions of all lists of the
   * customer had too much.
   */
  readonly lost: VersionLoss | null;
}

/** The versions of a list, the oldest first. */
export interface NamedListHistory {
  /** Number of the next version. */
  readonly next: number;
  readonly versions: readonly NamedListVersion[];
}

/** An item before a change: null if the list did not have it. */
export interface ReplacedItem {
  readonly key: string;
  readonly before: Omit<NamedItem, 'key'> | null;
}

/** Versions that are shown. Source: contract, 7.6. */
const NAMED_LIST_VERSIONS_SHOWN = 3;
/** One more is stored, so that a restore of the oldest one that was interrupted can be completed: its own write is a version too. */
export const NAMED_LIST_VERSIONS_STORED = NAMED_LIST_VERSIONS_SHOWN + 1;
/** Choice: some 400,000 added items, or 200,000 domains removed. */
export const NAMED_LIST_VERSION_BYTES_MAX = 16 * 2 ** 20;
/** In all lists of a customer. Choice: four versions of the largest size. */
export const NAMED_LIST_VERSIONS_BYTES_MAX = 64 * 2 ** 20;

const NOTHING: NamedListHistory = { next: 1, versions: [] };

/** The versions of all named lists, and what the writes between them replaced. */
export class NamedListVersions {
  readonly #histories: TypedTable<HistoryKey, NamedListHistory>;
  readonly #parts: TypedTable<PartKey, readonly ReplacedItem[]>;
  readonly #walk: TableWalk;

  constructor(histories: Database<Buffer, Buffer>, parts: Database<Buffer, Buffer>) {
    this.#histories = typedTable({ database: histories, key: HISTORY_KEY, value: codec(HISTORY, 1) });
    this.#parts = typedTable({ database: parts, key: PART_KEY, value: PART });
    this.#walk = new TableWalk(parts);
  }

  /** Empty also for a row that cannot be read. `list`: its number. */
  of(customer: CustomerNumber, list: number): NamedListHistory {
    try {
      return this.#histories.get({ customer, list }) ?? NOTHING;
    } catch {
      return NOTHING;
    }
  }

  /** Returns what the part of a write replaced; null if it is not kept. */
  part(key: PartKey): readonly ReplacedItem[] | null {
    return this.#parts.get(key);
  }

  /** Returns the keys of parts that no version needs among the next `rowsMax` of all customers. The next call continues after them. */
  unneeded(rowsMax: number): readonly Buffer[] {
    const known = new Map<string, NamedListHistory>();
    return this.#walk.next(rowsMax, (_value, key) => !this.#isNeeded(key, known));
  }

  /** The bytes of the row of a part that no version needs; null if one needs it, or if there is none. */
  unneededBytes(key: Buffer): number | null {
    if (this.#isNeeded(key, new Map())) return null;
    const stored = this.#parts.database.getBinary(key);
    return stored === undefined ? null : key.length + stored.length;
  }

  /** Encodes a part without writing it. */
  partRow(key: PartKey, replaced: readonly ReplacedItem[]): StoredRow {
    return this.#parts.row(key, replaced);
  }

  /** For `apply`, inside its transaction. */
  putPart(row: StoredRow): void {
    void this.#parts.putRow(row);
  }

  /** For `apply`, inside its transaction. */
  put(customer: CustomerNumber, list: number, history: NamedListHistory): void {
    this.#histories.put({ customer, list }, history);
  }

  /** For `apply`, inside its transaction. The parts stay until `unneeded` finds them. */
  remove(customer: CustomerNumber, list: number): void {
    this.#histories.remove({ customer, list });
  }

  /** For `apply`, inside its transaction. */
  removePart(key: Buffer): boolean {
    return this.#parts.removeKey(key);
  }

  #isNeeded(key: Buffer, known: Map<string, NamedListHistory>): boolean {
    const { customer, list, version } = PART_KEY.decode(key);
    const place = `${customer} ${list}`;
    const history = known.get(place) ?? this.of(customer, list);
    known.set(place, history);
    const found = history.versions.find((one) => one.version === version);
    return found !== undefined && lossOf(history, found) === null;
  }
}

/** Returns why a version cannot be brought back: it needs what its write and all later ones replaced. Null if it can. */
export function lossOf({ versions }: NamedListHistory, { version }: NamedListVersion): VersionLoss | null {
  return versions.find((one) => one.version >= version && one.lost !== null)?.lost ?? null;
}

/** Returns the versions that are shown, the newest first, each with why it cannot be brought back. */
export function shownVersions(history: NamedListHistory): readonly NamedListVersion[] {
  const shown = history.versions.slice(-NAMED_LIST_VERSIONS_SHOWN).reverse();
  return shown.map((one) => ({ ...one, lost: lossOf(history, one) }));
}

interface HistoryKey {
  readonly customer: CustomerNumber;
  readonly list: number;
}

export interface PartKey extends HistoryKey {
  readonly version: number;
  readonly part: number;
}

/** Returns the stored key of a part. */
export function partKeyOf({ customer, list, version, part }: PartKey): Buffer {
  return numbers(customer, list, version, part);
}

function numbers(...all: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * all.length);
  for (const [at, one] of all.entries()) bytes.writeUInt32BE(one, 4 * at);
  return bytes;
}

/** Customer's number and list's number, u32 (4+4). */
const HISTORY_KEY: KeyForm<HistoryKey> = {
  encode: ({ customer, list }) => numbers(customer, list),
  decode: (bytes) => ({ customer: bytes.readUInt32BE(0) as CustomerNumber, list: bytes.readUInt32BE(4) }),
};

/** Customer's number, list's number, version and part, u32 (4+4+4+4). */
const PART_KEY: KeyForm<PartKey> = {
  encode: partKeyOf,
  decode: (bytes) => ({
    customer: bytes.readUInt32BE(0) as CustomerNumber,
    list: bytes.readUInt32BE(4),
    version: bytes.readUInt32BE(8),
    part: bytes.readUInt32BE(12),
  }),
};

const HISTORY: Schema<NamedListHistory> = {
  parse(value) {
    const { next, versions } = Object(value) as Readonly<Record<keyof NamedListHistory, unknown>>;
    if (!Array.isArray(versions)) throw new Error('stored versions of a named list have the wrong form');
    return { next: Number(next), versions: versions.map(readVersion) };
  },
};

function readVersion(value: unknown): NamedListVersion {
  const { version, writeId, replacedAtMs, replacedBy, added, removed, parts, bytes, lost } = Object(value) as Readonly<
    Record<keyof NamedListVersion, unknown>
  >;
  return {
    version: Number(version),
    writeId: String(writeId),
    replacedAtMs: Number(replacedAtMs),
    replacedBy: String(replacedBy),
    added: Number(added),
    removed: Number(removed),
    parts: Number(parts),
    bytes: Number(bytes),
    lost: VERSION_LOSSES.find((one) => one === lost) ?? null,
  };
}

/** An item that the list did not have is its key alone, else key, second of its creation, end (0 = never) and value. */
type PackedItem = readonly [key: Uint8Array, createdAt?: number, expiresAt?: number, value?: string | null];

const REPLACED: Schema<readonly ReplacedItem[]> = {
  parse(value) {
    if (!Array.isArray(value)) throw new Error('a stored part of a version has the wrong form');
    return (value as readonly PackedItem[]).map(([key, createdAtSeconds, expiresAt = 0, text = null]) => {
      const hex = Buffer.from(key).toString('hex');
      if (hex.length !== 2 * LIST_KEY_BYTES) throw new Error('a stored part of a version has the wrong form');
      if (createdAtSeconds === undefined) return { key: hex, before: null };
      const expiresAtSeconds = expiresAt === 0 ? null : expiresAt;
      return { key: hex, before: { createdAtSeconds, expiresAtSeconds, value: text } };
    });
  },
};

const STORED = codec<readonly ReplacedItem[] | readonly PackedItem[]>(REPLACED, 1);
const PART: Codec<readonly ReplacedItem[]> = {
  decode: (bytes) => STORED.decode(bytes) as readonly ReplacedItem[],
  encode: (replaced) => STORED.encode(replaced.map(packItem)),
};

function packItem({ key, before }: ReplacedItem): PackedItem {
  const bytes = Buffer.from(key, 'hex');
  return before === null ? [bytes] : [bytes, before.createdAtSeconds, before.expiresAtSeconds ?? 0, before.value];
}
