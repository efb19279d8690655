import { FILE_FORMATS } from '../kernel/formats.ts';

/**
 * Layout of the velocity table: everything stored about sessions, addresses, entities and devices, in one block of shared memory that all
 * workers read and write. 137 bytes a record, and 1,088 for the table's head. A session, an address, an entity, a device, a browser with an
 * id of its own, and a nonce whose tokens were used take one record each; the `…-record.ts` files describe their contents. Few need more:
 * - an address: one for each key name of unknown identities (for an hour), and one for sign-ups;
 * - a device: one for its networks from the second on;
 * - an entity: one for travels, one for its contexts once it logs in or pays, and one each for devices over 5 and networks over 8 in 30
 *   days;
 * - a session: one for regions over 5;
 * - any of them: one for over 12 events in a window, and one from its first outcome on.
 *
 * Records per customer: up to 55 once its outcomes are reported (`population-record.ts`), up to 67 for common agents and locations
 * (`context-population.ts`), up to 99 for crowds (`crowd-surges.ts`), one for each currency of its payments and of its checkouts
 * (`amount-record.ts`), and one for every 15 subjects seen once (`first-touch.ts`). One more each for an account, an address or a network
 * from its second login of a kind on (`login-crowds.ts`), for a session of over 15 events (`page-records.ts`), for a person with a card
 * (`value-records.ts`), for a mail domain, for a mailbox whose address is not spelled like it (`mail-records.ts`), and for each
 * subject of a counter that the customer declares (`own-counters.ts`).
 *
 *   head    1,088 bytes: 0 magic   1 version   2 groups   3 records in use   4 records made   5 live records evicted
 *           6 events lost   7 records in use of public keys   8 records refused   9-15 unused
 *           16-271 records in use of each owner (`shares.ts`)
 *   groups  960 bytes each: a line of 64 bytes, then 7 records of 128 bytes
 *           line    way w at words 2w and 2w + 1: tag, state; byte 56 + w: its owner; bit w of byte 63: it is kept
 *                   longer (`shares.ts`)
 *           tag     28 bits of the key's hash << 4 | kind of record; 0: not in use
 *           state   0: empty   1 to 65,536: being made since (Unix seconds & 0xffff) + 1   else: last seen, Unix seconds
 *           record  word 0: the other 32 bits of the key's hash; the kind defines the rest
 *
 * A key has two candidate groups, one from each part of its hash, so a look-up reads two lines and the record. The key's whole hash is in
 * the table, so a record can be placed again in a table of another size.
 *
 * There are no locks. Every word that two workers may write is changed by compare-and-swap and is meaningful by itself. No two words have
 * to be consistent with each other, except those of a location (`places.ts`). `Table` states the bounds of what this loses.
 */
export const MAGIC = 0x31544856; // "VHT1"
/** Raise it in the table of formats; a snapshot of another layout cannot be read. */
export const LAYOUT_VERSION = FILE_FORMATS.velocity.version;

export const HEAD_WORDS = 272;
export const HEAD_MAGIC = 0;
export const HEAD_VERSION = 1;
export const HEAD_GROUPS = 2;
export const HEAD_USED = 3;
export const HEAD_MADE = 4;
export const HEAD_EVICTED = 5;
export const HEAD_LOST = 6;
export const HEAD_PUBLIC = 7;
export const HEAD_REFUSED = 8;
export const HEAD_OWNERS = 16;
export const OWNERS = 256;

export const WAYS = 7;
export const LINE_WORDS = 16;
/** Index of the owner bytes in a line, in words. */
export const AT_OWNERS = 14;
export const RECORD_WORDS = 32;
export const GROUP_WORDS = LINE_WORDS + WAYS * RECORD_WORDS;

/** States from here on are times. */
export const SEEN_MIN = 65_537;

/** Kinds of records. */
export const KIND_SESSION = 1;
export const KIND_ADDRESS = 2;
export const KIND_SIGNUPS = 3;
export const KIND_ENTITY = 4;
export const KIND_TRAVELS = 5;
/** Members of a set, of the last 24 h at most. */
export const KIND_SET = 6;
/** Members of a set that is kept for up to 30 days. */
export const KIND_LONG_SET = 7;
export const KIND_BUSY = 8;
export const KIND_SKETCH = 9;
/** Members of a set of the last hour. */
export const KIND_HOUR_SET = 10;
export const KIND_DEVICE = 11;
export const KIND_OUTCOMES = 12;
/**
 * Outcomes of an entity, which are kept longer where its logins succeeded, and the contexts of an account. Contexts are kept as long and
 * use the account's own key, which no outcome record uses.
 */
export const KIND_ENTITY_OUTCOMES = 14;
/** A customer's record: what fails at the moment, and what usually does. */
export const KIND_POPULATION = 13;
export const KIND_MASK = 15;

const HOUR = 3_600;
const DAY = 24 * HOUR;

/**
 * Seconds after which a record of a kind is evicted before others that have been unused for longer: nothing that it counts is inside a
 * window any more.
 */
const IDLE_SECONDS = new Uint32Array(KIND_MASK + 1);
for (const kind of [KIND_SESSION, KIND_ADDRESS, KIND_SIGNUPS, KIND_SET, KIND_SKETCH, KIND_DEVICE, KIND_OUTCOMES])
  IDLE_SECONDS[kind] = DAY;
for (const kind of [KIND_ENTITY, KIND_TRAVELS, KIND_LONG_SET, KIND_ENTITY_OUTCOMES]) IDLE_SECONDS[kind] = 30 * DAY;
for (const kind of [KIND_BUSY, KIND_HOUR_SET]) IDLE_SECONDS[kind] = HOUR;
IDLE_SECONDS[KIND_POPULATION] = 9 * DAY;

export function idleSecondsOf(tag: number): number {
  return IDLE_SECONDS[tag & KIND_MASK] ?? 0;
}
