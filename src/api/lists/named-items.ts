import { NAMED_ITEMS_CHANGE } from '../../contract/requests/named-list-requests.ts';
import { validate, type Validated } from '../../contract/validate.ts';
import type { ParsedObject } from '../../contract/json-body.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { ListKeys } from '../../risk/lists/list-key.ts';
import { readNamedValue } from '../../risk/lists/named-list.ts';
import { namedItemOf } from '../../state/tables/list-change.ts';
import type { NamedItemChange, NamedList } from '../../state/tables/named-list-table.ts';
import type { Slices } from '../../state/tables/turns.ts';
import type { BodyReader } from '../kit/request-body.ts';

/** Each part is the JSON of several `GivenItem`s: passed as objects, 10,000 would block the receiving thread. */
export type NamedItemParts = readonly string[];

/** A call that changes items. */
export interface GivenItems {
  readonly parts: NamedItemParts;
  /** Null without one. */
  readonly importId: string | null;
}

/** An item as a client sends it: field, position in it, value, end in Unix seconds. */
export type GivenItem = readonly [field: 'add' | 'remove', index: number, value: string, expiresAt: number | null];

/** Choice: as rows of batches of entries (`ROWS_PER_PART`), which have four times the members. */
const ITEMS_PER_PART = 200;
/** Choice: as for a batch of entries. */
const QUICK_ITEMS_MAX = 50;
/** Measured, for a row of a batch of entries: what writing it and keeping it costs the main thread. */
const ITEM_HELD_MS = 0.007;

/** The body of `POST /v1/named-lists/{name}/items`. The values are read by the handler, which knows the kind. */
export const NAMED_ITEMS_BODY: BodyReader<Validated<GivenItems>> = {
  name: 'named_items',
  shape: 'object',
  schema: NAMED_ITEMS_CHANGE,
  isSlow: (body) => {
    const { add, remove } = body as ParsedObject;
    return lengthOf(add) + lengthOf(remove) > QUICK_ITEMS_MAX;
  },
  read(body) {
    const read = validate(NAMED_ITEMS_CHANGE, body);
    if (read.kind === 'problem') return read;
    const { add, remove, import: importId = null } = read.value;
    const given: GivenItem[] = [
      ...(remove ?? []).map((value, index): GivenItem => ['remove', index, String(value), null]),
      ...(add ?? []).map((item, index): GivenItem => {
        if (typeof item !== 'object') return ['add', index, String(item), null];
        return ['add', index, String(item.value), item.expires_at ?? null];
      }),
    ];
    const parts: string[] = [];
    for (let from = 0; from < given.length; from += ITEMS_PER_PART)
      parts.push(JSON.stringify(given.slice(from, from + ITEMS_PER_PART)));
    return { kind: 'ok', value: { parts, importId } };
  },
  heldMs: (read) => (read.kind === 'ok' ? read.value.parts.length * ITEMS_PER_PART * ITEM_HELD_MS : 0),
};

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

export interface RejectedItem {
  readonly index: number;
  readonly code: 'invalid_value';
  readonly pointer: string;
  readonly message: string;
}

export interface ReadItems {
  /** Each key once: a value that is removed and added is added. */
  readonly items: readonly NamedItemChange[];
  readonly rejected: readonly RejectedItem[];
}

export interface ItemReading {
  readonly list: NamedList;
  readonly customer: CustomerNumber;
  readonly keys: ListKeys;
  /** Whether values that name a person may be stored as they are. */
  readonly keepsIdentities: boolean;
  readonly nowSeconds: number;
}

/** Choice: enough for the longest value, a user agent; a longer one is in no form of any kind. */
const VALUE_CHARACTERS_MAX = 1_024;

/** Returns the change that an item makes; a sentence if the list cannot have its value. */
function readNamedItem(
  { list: { kind }, customer, keys, keepsIdentities, nowSeconds }: ItemReading,
  [field, , text, expiresAt]: GivenItem,
): NamedItemChange | string {
  if (text.length > VALUE_CHARACTERS_MAX) return `This must have at most ${VALUE_CHARACTERS_MAX} characters.`;
  if (expiresAt !== null && expiresAt <= nowSeconds) return 'expires_at must be in the future.';
  const read = readNamedValue(kind, text);
  if (read.kind === 'fault') return read.message;
  const item = { expiresAtSeconds: expiresAt, isRemoved: field === 'remove' };
  return namedItemOf(keys, customer, { kind, value: read.value }, item, keepsIdentities);
}

/** Reads the items of a call in slices. */
export async function readNamedItems(reading: ItemReading, parts: NamedItemParts, slices: Slices): Promise<ReadItems> {
  const items = new Map<string, NamedItemChange>();
  const rejected: RejectedItem[] = [];
  for (const part of parts) {
    for (const given of JSON.parse(part) as readonly GivenItem[]) {
      const [field, index] = given;
      const item = readNamedItem(reading, given);
      if (typeof item !== 'string') items.set(item.key, item);
      else rejected.push({ index, code: 'invalid_value', pointer: `/${field}/${index}`, message: item });
      if (slices.isOver) await slices.begin();
    }
  }
  return { items: [...items.values()], rejected };
}
