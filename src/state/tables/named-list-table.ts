import type { Database } from 'lmdb';
import { BoundedCache } from '../../kernel/bounded-cache.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { LIST_KEY_BYTES } from '../../risk/lists/list-key.ts';
import { NAMED_LIST_NAME, type NamedListHead, namedListKindOf } from '../../risk/lists/named-list.ts';
import { MAYBE_TEXT, omittedField, packedFields, packedNumber } from './packed-fields.ts';
import { endOfCustomer } from './request-rows.ts';
import { TableWalk } from './table-walk.ts';
import { type Slices, walkInSlices } from './turns.ts';
import { codec, type Codec, type KeyForm, type Schema, type TypedTable, typedTable } from './typed-table.ts';
import { u32Key } from './value.ts';

/** A list that rules can name. Source: contract, 7.6. */
export interface NamedList extends NamedListHead {
  readonly name: string;
  readonly note: string | null;
  /** Rows of items, with expired ones that were not removed yet. */
  readonly items: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface NamedItem {
  /** The key of the value (`ListKeys`), 64 hex digits. */
  readonly key: string;
  /** Null if the key says it, or if it names a person and may not be kept. */
  readonly value: string | null;
  readonly createdAtSeconds: number;
  /** First second in which the item is expired; null for never. */
  readonly expiresAtSeconds: number | null;
}

export interface NamedItemChange extends Pick<NamedItem, 'key' | 'value' | 'expiresAtSeconds'> {
  /** false: added, or its expiry replaced. */
  readonly isRemoved: boolean;
  /** Given for an item that comes back; by default the time of the change. */
  readonly createdAtSeconds?: number;
}

/** Items that were not in the list before, and items that were. */
export interface NamedItemCounts {
  readonly added: number;
  readonly removed: number;
}

export interface NamedItemPage {
  readonly items: readonly NamedItem[];
  /** The key after which the next page starts; null at the end. */
  readonly next: string | null;
}

/** `expired`: there is a row that was not removed yet. */
export type NamedItemState = 'none' | 'expired' | 'live';

/** Choice: 4,096 customers with the lists that their rules name, some 300 bytes each. */
const CUSTOMERS_KEPT = 4_096;
const NAME_BYTES = 40;
const LIST_ROW_KEY_BYTES = 4 + NAME_BYTES;
const NUMBER_AT = 4;
const ITEM_AT = 8;
const ITEM_KEY_BYTES = ITEM_AT + LIST_KEY_BYTES;
const EXPIRY_BYTES = 4;

interface KeptHead {
  readonly key: Buffer;
  readonly stored: Buffer;
  readonly list: NamedList;
}

/** The named lists of all customers, and their items. A key begins with the customer's number, and no method takes one. */
export class NamedLists {
  readonly #lists: TypedTable<NamedListKey, NamedList>;
  readonly #items: TypedTable<NamedItemKey, NamedItem>;
  readonly #kept = new BoundedCache<CustomerNumber, Map<string, KeptHead>>(CUSTOMERS_KEPT);
  /** Choice: `hasItem` writes its key here instead of allocating a buffer per call. */
  readonly #scratch = Buffer.alloc(ITEM_KEY_BYTES);
  readonly #walk: TableWalk;

  constructor(lists: Database<Buffer, Buffer>, items: Database<Buffer, Buffer>) {
    this.#lists = typedTable({ database: lists, key: LIST_KEY, value: codec(LIST, 1) });
    this.#items = typedTable({ database: items, key: ITEM_KEY, value: ITEM });
    this.#walk = new TableWalk(items);
  }

  /** On the hot path. Null if there is no such list. Throws on a row that this build cannot read. */
  head(customer: CustomerNumber, name: string): NamedList | null {
    const ofCustomer = this.#kept.get(customer);
    const kept = ofCustomer?.get(name);
    const key = kept?.key ?? LIST_KEY.encode({ customer, name });
    const stored = key === null ? undefined : this.#lists.database.getBinaryFast(key);
    if (key === null || stored === undefined) return null;
    // The buffer is borrowed and may be longer than its `length`.
    if (kept?.stored.compare(stored, 0, stored.length) === 0) return kept.list;
    const copy = Buffer.from(stored.subarray(0, stored.length));
    const list = this.#lists.decode(copy);
    const heads = ofCustomer ?? new Map<string, KeptHead>();
    if (ofCustomer === undefined) this.#kept.set(customer, heads);
    heads.set(name, { key, stored: copy, list });
    return list;
  }

  /** On the hot path. `list`: its number. `key`: of a value, `LIST_KEY_BYTES`. */
  hasItem(customer: CustomerNumber, list: number, key: Uint8Array, nowSeconds: number): boolean {
    const scratch = this.#scratch;
    scratch.writeUInt32BE(customer, 0);
    scratch.writeUInt32BE(list, NUMBER_AT);
    scratch.set(key, ITEM_AT);
    const stored = this.#items.database.getBinaryFast(scratch);
    return stored !== undefined && isUnexpired(stored, nowSeconds);
  }

  /** Null also for a row that cannot be read. */
  find(customer: CustomerNumber, name: string): NamedList | null {
    try {
      return this.#lists.get({ customer, name });
    } catch {
      return null;
    }
  }

  /** Returns the lists in the order of their names, without rows that cannot be read. */
  of(customer: CustomerNumber): readonly NamedList[] {
    const found: NamedList[] = [];
    const range = { start: u32Key(customer), end: endOfCustomer(customer) };
    for (const { value } of this.#lists.database.getRange(range)) {
      try {
        found.push(this.#lists.decode(Buffer.from(value)));
      } catch {
        continue;
      }
    }
    return found;
  }

  count(customer: CustomerNumber): number {
    return this.#lists.database.getKeysCount({ start: u32Key(customer), end: endOfCustomer(customer) });
  }

  stateOf(customer: CustomerNumber, list: number, key: string, nowSeconds: number): NamedItemState {
    const stored = this.#items.database.getBinary(namedItemKey(customer, list, key));
    if (stored === undefined) return 'none';
    return isUnexpired(stored, nowSeconds) ? 'live' : 'expired';
  }

  /** Returns an item; null for one that is not in the list or has expired. */
  item(customer: CustomerNumber, list: number, key: string, nowSeconds: number): NamedItem | null {
    const stored = this.#items.database.getBinary(namedItemKey(customer, list, key));
    return stored === undefined || !isUnexpired(stored, nowSeconds) ? null : { ...this.#items.decode(stored), key };
  }

  /** Returns a page in the order of the keys, without expired items. In slices; items written meanwhile may or may not be on it. */
  async page(
    customer: CustomerNumber,
    list: number,
    { after, limit }: { readonly after: string | null; readonly limit: number },
    nowSeconds: number,
    slices: Slices,
  ): Promise<NamedItemPage> {
    const items: NamedItem[] = [];
    let next: string | null = null;
    const range = {
      start: namedItemKey(customer, list, after ?? ''),
      end: endOfList(customer, list),
      ...(after !== null && { exclusiveStart: true }),
    };
    await walkInSlices(this.#items.database, range, slices, (key, value) => {
      if (!isUnexpired(value, nowSeconds)) return 'on';
      if (items.length === limit) {
        next = items.at(-1)?.key ?? null;
        return 'end';
      }
      items.push({ ...this.#items.decode(value), key: key.toString('hex', ITEM_AT) });
      return 'on';
    });
    return { items, next };
  }

  /**
   * Returns the keys of expired items, and of those of deleted lists, among the next `rowsMax` of all customers. The next call continues
   * after them.
   */
  expired(nowSeconds: number, rowsMax: number): readonly Buffer[] {
    const numbers = new Map<number, ReadonlySet<number>>();
    return this.#walk.next(rowsMax, (value, key) => {
      if (!isUnexpired(value, nowSeconds)) return true;
      const customer = key.readUInt32BE(0) as CustomerNumber;
      let known = numbers.get(customer);
      if (known === undefined) {
        known = new Set(this.of(customer).map(({ number }) => number));
        numbers.set(customer, known);
      }
      return !known.has(key.readUInt32BE(NUMBER_AT));
    });
  }

  /** Returns whether the row exists and has expired: it may have been put again since it was scanned. */
  isExpired(key: Buffer, nowSeconds: number): boolean {
    const stored = this.#items.database.getBinary(key);
    return stored !== undefined && !isUnexpired(stored, nowSeconds);
  }

  /** For `apply`, inside its transaction. */
  put(customer: CustomerNumber, list: NamedList): void {
    this.#lists.put({ customer, name: list.name }, list);
  }

  /** For `apply`, inside its transaction. The items stay until `expired` finds them. */
  remove(customer: CustomerNumber, name: string): boolean {
    return this.#lists.remove({ customer, name });
  }

  /** For `apply`, inside its transaction. */
  putItem(customer: CustomerNumber, list: number, item: NamedItem): void {
    this.#items.put({ customer, list, key: item.key }, item);
  }

  /** For `apply`, inside its transaction. */
  removeItem(customer: CustomerNumber, list: number, key: string): boolean {
    return this.#items.remove({ customer, list, key });
  }

  /** For `apply`, inside its transaction. Removes a row by its stored key. */
  removeRow(key: Buffer): boolean {
    return this.#items.removeKey(key);
  }
}

/** Returns customer and list of the stored key of an item. */
export function ownerOfNamedItem(key: Buffer): { readonly customer: CustomerNumber; readonly list: number } {
  return { customer: key.readUInt32BE(0) as CustomerNumber, list: key.readUInt32BE(NUMBER_AT) };
}

/** In a stored value 0 means never. */
function isUnexpired(stored: Buffer, nowSeconds: number): boolean {
  const expiry = stored.readUInt32BE(0);
  return expiry === 0 || nowSeconds < expiry;
}

interface NamedListKey {
  readonly customer: CustomerNumber;
  readonly name: string;
}

/** Customer's number, u32; the name, filled up with zeros (4+40). */
const LIST_KEY: KeyForm<NamedListKey> = {
  encode({ customer, name }) {
    if (!NAMED_LIST_NAME.test(name)) return null;
    const bytes = Buffer.alloc(LIST_ROW_KEY_BYTES);
    bytes.writeUInt32BE(customer, 0);
    bytes.write(name, 4, 'latin1');
    return bytes;
  },
  decode: (bytes) => ({
    customer: bytes.readUInt32BE(0) as CustomerNumber,
    name: bytes.toString('latin1', 4).replace(/\0+$/, ''),
  }),
};

const LIST: Schema<NamedList> = {
  parse(value) {
    const { name, kind, note, number, items, details, createdAtMs, updatedAtMs } = Object(value) as Readonly<
      Record<keyof NamedList, unknown>
    >;
    const known = typeof kind === 'string' ? namedListKindOf(kind) : null;
    if (known === null || typeof name !== 'string' || !Array.isArray(details))
      throw new Error('a stored named list has the wrong form');
    return {
      name,
      kind: known,
      note: typeof note === 'string' ? note : null,
      number: Number(number),
      items: Number(items),
      details: details.map(Number),
      createdAtMs: Number(createdAtMs),
      updatedAtMs: Number(updatedAtMs),
    };
  },
};

interface NamedItemKey {
  readonly customer: CustomerNumber;
  readonly list: number;
  readonly key: string;
}

export function namedItemKey(customer: CustomerNumber, list: number, key: string): Buffer {
  const bytes = Buffer.alloc(ITEM_KEY_BYTES);
  bytes.writeUInt32BE(customer, 0);
  bytes.writeUInt32BE(list, NUMBER_AT);
  bytes.write(key, ITEM_AT, 'hex');
  return bytes;
}

function endOfList(customer: CustomerNumber, list: number): Buffer {
  return Buffer.concat([u32Key(customer), u32Key(list), Buffer.alloc(LIST_KEY_BYTES + 1, 0xff)]);
}

/** Customer's number and list's number, u32; the key of the value (4+4+32). */
const ITEM_KEY: KeyForm<NamedItemKey> = {
  encode: ({ customer, list, key }) => namedItemKey(customer, list, key),
  decode: (bytes) => ({
    customer: bytes.readUInt32BE(0) as CustomerNumber,
    list: bytes.readUInt32BE(NUMBER_AT),
    key: bytes.toString('hex', ITEM_AT),
  }),
};

interface StoredItemRest {
  readonly createdAtSeconds: number;
  readonly value: string | null;
}

const ITEM_REST = packedFields<StoredItemRest>({
  createdAtSeconds: packedNumber(),
  value: omittedField(MAYBE_TEXT),
});

/** The expiry, u32, which the hot path reads alone; then the other fields, packed. The key is not in it. */
const ITEM: Codec<NamedItem> = {
  encode({ expiresAtSeconds, createdAtSeconds, value }) {
    const head = Buffer.allocUnsafe(EXPIRY_BYTES);
    head.writeUInt32BE(expiresAtSeconds ?? 0, 0);
    return Buffer.concat([head, ITEM_REST.encode({ createdAtSeconds, value })]);
  },
  decode(bytes) {
    const expiry = bytes.readUInt32BE(0);
    const rest = ITEM_REST.decode(bytes.subarray(EXPIRY_BYTES));
    return { key: '', expiresAtSeconds: expiry === 0 ? null : expiry, ...rest };
  },
};
